// Every way to run a program that this system has, one line of output each.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static char *arguments[] = {"true", "one", "two", NULL};

static int memory_file(void) {
    char block[65536];
    ssize_t count;
    int copy = memfd_create("copy", 0), original = open("/bin/true", O_RDONLY);
    while ((count = read(original, block, sizeof block)) > 0)
        if (write(copy, block, count) != count) _exit(99);
    return copy;
}

static void by_descriptor(void) { fexecve(open("/bin/true", O_RDONLY | O_CLOEXEC), arguments, environ); }
static void script_by_descriptor(void) {
    syscall(SYS_execveat, open("script", O_RDONLY), "", arguments, environ, AT_EMPTY_PATH);
}
static void from_memory(void) { fexecve(memory_file(), arguments, environ); }
static void from_memory_by_path(void) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory_file());
    execve(path, arguments, environ);
}
static void itself(void) {
    char *again[] = {"starts", "again", NULL};
    execve("/proc/self/exe", again, environ);
}
static void without_arguments(void) { execve("/bin/true", NULL, NULL); }
static void *in_thread(void *nothing) {
    execve("/bin/true", arguments, environ);
    return nothing;
}
static void by_thread(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
    _exit(98);
}
static void *idle(void *nothing) {
    for (;;) pause();
    return nothing;
}
static void beside_threads(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, idle, NULL);
    execve("/bin/true", arguments, environ);
}
static void missing(void) { execve("/no/such/file", arguments, environ); }
static void directory(void) { execve("/usr", arguments, environ); }
static void not_executable(void) { execve("plain", arguments, environ); }
static void bad_pointer(void) { execve((char *)1, arguments, environ); }
static void script(void) { execve("./script", arguments, environ); }
static void no_first_line(void) { execve("./bare", arguments, environ); }
static void by_loader(void) {
    char *loaded[] = {"loader", "/bin/true", "one", NULL};
    execve("/lib64/ld-linux-x86-64.so.2", loaded, environ);
}
static void removed(void) {
    if (system("cp /bin/true gone")) _exit(97);
    int file = open("gone", O_RDONLY);
    unlink("gone");
    fexecve(file, arguments, environ);
}
static void from_directory(void) {
    if (chdir("/usr/bin")) _exit(97);
    execve("true", arguments, environ);
}
static void at_directory(void) { syscall(SYS_execveat, open("/usr/bin", O_PATH), "true", arguments, environ, 0); }
static void spawned(void) {
    pid_t child;
    int status;
    if (posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ)) _exit(96);
    waitpid(child, &status, 0);
    _exit(WEXITSTATUS(status));
}

static void run(const char *name, void (*start)(void)) {
    int status;
    pid_t child = fork();
    if (!child) {
        start();
        _exit(errno);
    }
    waitpid(child, &status, 0);
    printf("%s: %s %d\n", name, WIFEXITED(status) ? "exit" : "signal",
           WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    fflush(stdout);
}

int main(int count, char **given) {
    if (count > 1) return given[1][0] == 'a' ? 42 : 1;
    run("by descriptor", by_descriptor);
    run("script by descriptor", script_by_descriptor);
    run("itself", itself);
    run("without arguments", without_arguments);
    run("by thread", by_thread);
    run("beside threads", beside_threads);
    run("missing", missing);
    run("directory", directory);
    run("not executable", not_executable);
    run("bad pointer", bad_pointer);
    run("script", script);
    run("no first line", no_first_line);
    run("by loader", by_loader);
    run("from directory", from_directory);
    run("at directory", at_directory);
    run("spawned", spawned);
    run("from memory", from_memory);
    run("from memory by path", from_memory_by_path);
    run("removed", removed);
    return 0;
}

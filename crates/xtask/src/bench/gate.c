/* What the syscall gate is asked for, often: `gate exec|write|read TIMES PATH`.
   Prints the microseconds of each; without arguments it only ends. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static int run(char *path) {
    char *args[] = {path, NULL};
    pid_t child;
    int status;
    return posix_spawn(&child, path, NULL, NULL, args, environ) == 0
        && waitpid(child, &status, 0) == child && status == 0;
}

static int open_with(const char *path, int flags) {
    int file = open(path, flags | O_CLOEXEC);
    return file >= 0 && close(file) == 0;
}

static int once(const char *what, char *path) {
    if (strcmp(what, "exec") == 0) return run(path);
    return open_with(path, strcmp(what, "write") == 0 ? O_WRONLY : O_RDONLY);
}

int main(int count, char **args) {
    if (count != 4) return 0;
    long times = strtol(args[2], NULL, 10);
    struct timespec began, ended;
    clock_gettime(CLOCK_MONOTONIC, &began);
    for (long turn = 0; turn < times; turn++)
        if (!once(args[1], args[3])) {
            perror(args[1]);
            return 1;
        }
    clock_gettime(CLOCK_MONOTONIC, &ended);
    double took = (ended.tv_sec - began.tv_sec) * 1e6 + (ended.tv_nsec - began.tv_nsec) / 1e3;
    printf("%.4f\n", took / times);
    return 0;
}

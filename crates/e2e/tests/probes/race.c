// Tries for some seconds to run what a rule denies, by changing what was looked at before the kernel
// looks again. `race WAY SECONDS`; prints how often it came through, was stopped, was refused.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Keeps the compiler from leaving a store out because another follows.
#define SEEN __asm__ volatile("" ::: "memory")

extern char **environ;
static char *shared, *path, *word;
static volatile int flips;

static void *flip_word(void *nothing) {
    for (;;) {
        memcpy(word, "push", 5);
        SEEN;
        memcpy(word, "okay", 5);
        SEEN;
        flips++;
    }
    return nothing;
}
static void *flip_path(void *nothing) {
    for (;;) {
        memcpy(path, "./denied", 9);
        SEEN;
        memcpy(path, "./probe\0", 9);
        SEEN;
        flips++;
    }
    return nothing;
}
static void flip_link(void) {
    for (;;) {
        symlink("denied", "new");
        rename("new", "link");
        symlink("probe", "new");
        rename("new", "link");
    }
}
int main(int count, char **given) {
    if (count < 3) return 2;
    const char *way = given[1];
    time_t end = time(NULL) + atoi(given[2]);
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    path = shared, word = shared + 100;
    strcpy(path, "./probe"), strcpy(word, "okay");
    char *arguments[] = {"probe", word, NULL};
    pid_t flipper = 0;
    if (!strcmp(way, "link") || !strcmp(way, "memory")) {
        flipper = fork();
        if (!flipper) {
            if (!strcmp(way, "link")) flip_link();
            flip_word(NULL);
        }
        if (!strcmp(way, "link")) strcpy(path, "./link");
    }
    int passed = 0, stopped = 0, refused = 0, through = 0;
    while (time(NULL) < end) {
        int status;
        pid_t child = fork();
        if (!child) {
            pthread_t thread;
            if (!strcmp(way, "word")) pthread_create(&thread, NULL, flip_word, NULL);
            if (!strcmp(way, "path")) pthread_create(&thread, NULL, flip_path, NULL);
            if (!flipper)
                while (!flips) {}
            execve(path, arguments, environ);
            _exit(77);
        }
        waitpid(child, &status, 0);
        if (WIFSIGNALED(status)) stopped++;
        else if (WEXITSTATUS(status) == 77) refused++;
        else if (WEXITSTATUS(status) == 55) through++;
        else passed++;
    }
    if (flipper) kill(flipper, 9);
    printf("%s: passed %d stopped %d refused %d through %d\n", way, passed, stopped, refused, through);
    return 0;
}

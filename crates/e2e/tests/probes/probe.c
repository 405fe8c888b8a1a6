// Ends with 55 where it should not have run: with the word `push`, or under the name `denied`.
#include <string.h>
#include <unistd.h>

int main(int count, char **given) {
    char own[256] = "";
    if (readlink("/proc/self/exe", own, sizeof own - 1) < 0) return 3;
    return (count > 1 && !strcmp(given[1], "push")) || strstr(own, "/denied") ? 55 : 0;
}

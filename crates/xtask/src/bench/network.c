/* Both ends of a tunnel, for the rows about the network gate.

   network origin                                  listens on loopback, writes its port
   network load PROXY-PORT ADDRESS TARGET N MIB    MIB by N tunnels at once; writes bytes a second
   network fresh PROXY-PORT ADDRESS TARGET N WHICH CLIENTS
                                                   N tunnels, as many at once as there are clients;
                                                   writes that percentile in microseconds

   A tunnel is asked for with CONNECT TARGET. What is said first is "bytes N\n"; that many come. */
#include <arpa/inet.h>
#include <err.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char block[1 << 18];
static const char *address, *target;
static int port;
static long share;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void send_all(int to, const char *data, long length) {
    for (long sent; length > 0; data += sent, length -= sent)
        if ((sent = send(to, data, length, MSG_NOSIGNAL)) <= 0) err(1, "send");
}

/* Up to a byte sequence, one byte at a time, so that nothing behind it is taken. */
static void read_until(int from, char *text, size_t room, const char *end) {
    size_t length = 0;
    while (length < room - 1 && recv(from, text + length, 1, 0) == 1) {
        text[++length] = 0;
        if (length >= strlen(end) && !strcmp(text + length - strlen(end), end)) return;
    }
    errx(1, "closed after %s", text);
}

static void *serve(void *argument) {
    int peer = (int)(long)argument;
    char said[64] = "";
    size_t length = 0;
    while (length < sizeof said - 1 && recv(peer, said + length, 1, 0) == 1 && said[length] != '\n') length++;
    for (long left = atol(said + 6), sent; left > 0; left -= sent)
        if ((sent = send(peer, block, left < (long)sizeof block ? left : (long)sizeof block, MSG_NOSIGNAL)) <= 0) break;
    shutdown(peer, SHUT_WR);
    while (recv(peer, said, sizeof said, 0) > 0) {}
    close(peer);
    return NULL;
}

static int origin(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (void *)&at, size) || listen(listener, 1024) || getsockname(listener, (void *)&at, &size)) err(1, "listen");
    printf("%d\n", ntohs(at.sin_port));
    fflush(stdout);
    for (;;) {
        pthread_t thread;
        long peer = accept(listener, NULL, NULL);
        if (peer < 0 || pthread_create(&thread, NULL, serve, (void *)peer)) err(1, "accept");
        pthread_detach(thread);
    }
}

static int tunnel(void) {
    char text[512] = "";
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, address, &to.sin_addr);
    int peer = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(peer, (void *)&to, sizeof to)) err(1, "connect");
    send_all(peer, text, snprintf(text, sizeof text, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target));
    text[0] = 0;
    read_until(peer, text, sizeof text, "\r\n\r\n");
    if (!strstr(text, " 200")) errx(1, "%s", text);
    return peer;
}

/* Asks for so many bytes, and takes them. */
static void take(int peer, long bytes, char *into, size_t room) {
    send_all(peer, into, snprintf(into, room, "bytes %ld\n", bytes));
    for (long came; bytes > 0; bytes -= came)
        if ((came = recv(peer, into, room, 0)) <= 0) errx(1, "%ld bytes are missing", bytes);
    close(peer);
}

static void *load(void *argument) {
    char *into = malloc(sizeof block);
    take((int)(long)argument, share, into, sizeof block);
    free(into);
    return NULL;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double *times;
static int each;

/* One client's new tunnels, one after the other. */
static void *fresh(void *argument) {
    double *mine = argument;
    char few[64];
    for (int i = 0; i < each; i++) {
        double began = now();
        take(tunnel(), 1, few, sizeof few);
        mine[i] = (now() - began) * 1e6;
    }
    return NULL;
}

int main(int count, char **words) {
    if (count == 2 && !strcmp(words[1], "origin")) return origin();
    if (count != 7 && count != 8) errx(2, "see the source");
    port = atoi(words[2]), address = words[3], target = words[4];
    int number = atoi(words[5]);
    if (!strcmp(words[1], "load") && count == 7) {
        pthread_t threads[number];
        long tunnels[number];
        share = atol(words[6]) * (1 << 20) / number;
        for (int i = 0; i < number; i++) tunnels[i] = tunnel();
        double began = now();
        for (int i = 0; i < number; i++) pthread_create(&threads[i], NULL, load, (void *)tunnels[i]);
        for (int i = 0; i < number; i++) pthread_join(threads[i], NULL);
        printf("%.0f\n", share * number / (now() - began));
        return 0;
    }
    if (count != 8) errx(2, "see the source");
    int clients = atoi(words[7]);
    each = (number + clients - 1) / clients, number = each * clients;
    times = malloc(number * sizeof *times);
    pthread_t threads[clients];
    for (int i = 0; i < clients; i++) pthread_create(&threads[i], NULL, fresh, times + (long)i * each);
    for (int i = 0; i < clients; i++) pthread_join(threads[i], NULL);
    qsort(times, number, sizeof *times, compare);
    printf("%.1f\n", times[(int)((number - 1L) * atoi(words[6]) / 100)]);
    return 0;
}

// A closed loop of requests to memcached: over so many connections, each in a thread of its own,
// nine reads for each write, keys at random, values of 1 KiB.
//
//     load fill PORT KEYS                        writes every key once
//     load ask PORT KEYS CONNECTIONS REQUESTS    so many requests over each connection; prints
//                                                how long every one took
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { VALUE = 1024, LINE = 64, ANSWER = VALUE + 4 * LINE };

static int port;
static long keys, requests;
static char value[VALUE];

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static int connection(void) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int at = socket(AF_INET, SOCK_STREAM, 0), now = 1;
    if (at < 0 || connect(at, (struct sockaddr *)&to, sizeof to) < 0) fail("connect");
    setsockopt(at, IPPROTO_TCP, TCP_NODELAY, &now, sizeof now);
    return at;
}

static void send_all(int at, const char *from, size_t length) {
    while (length > 0) {
        ssize_t sent = write(at, from, length);
        if (sent <= 0) fail("write");
        from += sent;
        length -= sent;
    }
}

// Reads up to these last words.
static void read_until(int at, const char *last) {
    char answer[ANSWER];
    size_t held = 0, want = strlen(last);
    while (held < want || memcmp(answer + held - want, last, want) != 0) {
        ssize_t got = read(at, answer + held, sizeof answer - held);
        if (got <= 0) fail("read");
        held += got;
    }
}

static void send_set(int at, long key, const char *how) {
    char text[LINE + VALUE + 2];
    int head = snprintf(text, LINE, "set key-%ld 0 0 %d%s\r\n", key, VALUE, how);
    memcpy(text + head, value, VALUE);
    memcpy(text + head + VALUE, "\r\n", 2);
    send_all(at, text, head + VALUE + 2);
}

static void set(int at, long key) {
    send_set(at, key, "");
    read_until(at, "STORED\r\n");
}

// The last one is answered, when all before it have been written.
static void fill(int at) {
    for (long key = 1; key < keys; key++) send_set(at, key, " noreply");
    set(at, 0);
}

static void get(int at, long key) {
    char text[LINE];
    send_all(at, text, snprintf(text, LINE, "get key-%ld\r\n", key));
    read_until(at, "END\r\n");
}

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static void *ask(void *argument) {
    uint64_t state = 0x9e3779b97f4a7c15ULL * (1 + (uintptr_t)argument);
    uint64_t *took = malloc(requests * sizeof *took);
    int at = connection();
    for (long nth = 0; nth < requests; nth++) {
        uint64_t drawn = next_random(&state), since = now_ns();
        long key = drawn / 16 % keys;
        if (drawn % 10 == 0) set(at, key);
        else get(at, key);
        took[nth] = now_ns() - since;
    }
    close(at);
    return took;
}

int main(int count, char **words) {
    int fills = count == 4 && strcmp(words[1], "fill") == 0;
    if (!fills && (count != 6 || strcmp(words[1], "ask") != 0)) {
        fputs("usage: load fill PORT KEYS | load ask PORT KEYS CONNECTIONS REQUESTS\n", stderr);
        return 2;
    }
    port = atoi(words[2]);
    keys = atol(words[3]);
    memset(value, 'v', VALUE);
    if (fills) {
        fill(connection());
        return 0;
    }
    long threads = atol(words[4]);
    requests = atol(words[5]);
    pthread_t *all = malloc(threads * sizeof *all);
    for (long nth = 0; nth < threads; nth++)
        if (pthread_create(&all[nth], NULL, ask, (void *)nth) != 0) fail("pthread_create");
    puts("latency_ns");
    for (long nth = 0; nth < threads; nth++) {
        uint64_t *took;
        pthread_join(all[nth], (void **)&took);
        for (long each = 0; each < requests; each++) printf("%llu\n", (unsigned long long)took[each]);
    }
    return 0;
}

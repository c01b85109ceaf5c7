// Maps, writes and unmaps memory beside a heap of 256 MiB, and prints how long its calls of mmap take: half of them, and one of a thousand. With
// READ set a second process reads smaps_rollup of the first all the time.
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

enum { HEAP = 256 << 20, PIECE = 64 << 10, CALLS = 5000 };

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static int order(const void *one, const void *other) {
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

static void read_forever(pid_t pid) {
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", pid);
    for (;;) {
        int file = open(path, O_RDONLY);
        if (file < 0) _exit(1);
        while (read(file, text, sizeof text) > 0) continue;
        close(file);
    }
}

int main(void) {
    static uint64_t spans[CALLS];
    pid_t own = getpid(), reader = getenv("READ") ? fork() : -1;
    if (reader == 0) read_forever(own);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    char *heap = mmap(NULL, HEAP, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (heap == MAP_FAILED) abort();
    memset(heap, 1, HEAP);
    for (size_t nth = 0; nth < CALLS; nth++) {
        uint64_t begin = now();
        char *piece = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, flags, -1, 0);
        if (piece == MAP_FAILED) abort();
        spans[nth] = now() - begin;
        memset(piece, 1, PIECE);
        munmap(piece, PIECE);
    }
    if (reader > 0) {
        kill(reader, SIGKILL);
        waitpid(reader, NULL, 0);
    }
    qsort(spans, CALLS, sizeof spans[0], order);
    printf("half within %llu ns, 999 of 1000 within %llu ns\n", (unsigned long long)spans[CALLS / 2],
           (unsigned long long)spans[CALLS - CALLS / 1000]);
    return 0;
}

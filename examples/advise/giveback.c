// A program that gives memory back and takes it again: it fills some 300 MiB with small blocks, frees most of them, reads what is left for a
// second or so, and begins anew.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 600000, ROUNDS = 6, KEPT_OF = 640, READS = 20000000 };

static uint64_t state = 0x9e3779b97f4a7c15ULL;

static uint64_t next_random(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

int main(void) {
    static char *live[BLOCKS];
    uint64_t sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t nth = 0; nth < BLOCKS; nth++) {
            if (live[nth] != NULL) continue;
            size_t size = 16 + next_random() % 1024;
            live[nth] = malloc(size);
            if (live[nth] == NULL) abort();
            memset(live[nth], 1, size);
        }
        for (size_t nth = 0; nth < BLOCKS; nth++) {
            if ((nth + (size_t)round) % KEPT_OF == 0) continue;
            free(live[nth]);
            live[nth] = NULL;
        }
        for (size_t nth = 0; nth < READS; nth++) {
            size_t kept = next_random() % (BLOCKS / KEPT_OF - 1) * KEPT_OF + (KEPT_OF - (size_t)round % KEPT_OF) % KEPT_OF;
            sum += (unsigned char)*live[kept];
            if (nth % 1000 == 0) free(malloc(64));
        }
    }
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}

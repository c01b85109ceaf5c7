// A program that allocates as servers do: a table of live blocks of mixed sizes, of which one at
// random is freed and made anew, again and again; then it reads through all of them; every other
// block is freed at the end, and what is left stays scattered over the heap.
//
// Arguments: how many live blocks, and how many replacements.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 0x9e3779b97f4a7c15ULL;

static uint64_t next_random(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

// Mostly small: 16 bytes to 1 KiB, and one in sixteen up to 16 KiB.
static size_t next_size(void) {
    uint64_t drawn = next_random();
    return 16 + (drawn % 16 == 0 ? drawn / 16 % 16384 : drawn / 16 % 1024);
}

static char *filled(size_t size) {
    char *block = malloc(size);
    if (block == NULL) abort();
    memset(block, 1, size);
    return block;
}

int main(int count, char **words) {
    if (count != 3) {
        fputs("usage: churn BLOCKS REPLACEMENTS\n", stderr);
        return 2;
    }
    size_t blocks = strtoul(words[1], NULL, 10), replacements = strtoul(words[2], NULL, 10);
    char **live = malloc(blocks * sizeof *live);
    for (size_t nth = 0; nth < blocks; nth++) live[nth] = filled(next_size());
    for (size_t nth = 0; nth < replacements; nth++) {
        char **one = &live[next_random() % blocks];
        free(*one);
        *one = filled(next_size());
    }
    uint64_t sum = 0;
    for (size_t nth = 0; nth < replacements; nth++) sum += (unsigned char)*live[next_random() % blocks];
    for (size_t nth = 0; nth < blocks; nth += 2) free(live[nth]);
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}

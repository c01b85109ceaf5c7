// Reads 256 MiB of its own memory in scattered order; with COLLAPSE set it first asks for huge pages by MADV_COLLAPSE.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum { READS = 60000000, HUGE = 2 << 20, BYTES = 256 << 20 };

int main(void) {
    char *mapped = mmap(NULL, BYTES + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) abort();
    uint64_t *memory = (uint64_t *)(((uintptr_t)mapped + HUGE - 1) & ~(uintptr_t)(HUGE - 1));
    size_t words = BYTES / sizeof *memory;
    for (size_t nth = 0; nth < words; nth++) memory[nth] = nth;
    if (getenv("COLLAPSE") && madvise(memory, BYTES, MADV_COLLAPSE) != 0) perror("MADV_COLLAPSE");
    uint64_t at = 1, sum = 0;
    for (size_t nth = 0; nth < READS; nth++) {
        at = at * 6364136223846793005ULL + 1442695040888963407ULL;
        sum += memory[(at >> 33) % words];
    }
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}

// Reads 192 MiB of new memory in scattered order that was never written, as a careless benchmark does.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { READS = 300000000 };

int main(void) {
    size_t words = (192u << 20) / sizeof(uint64_t);
    uint64_t *memory = mmap(NULL, words * sizeof *memory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) abort();
    uint64_t at = 1, sum = 0;
    for (size_t nth = 0; nth < READS; nth++) {
        at = at * 6364136223846793005ULL + 1442695040888963407ULL;
        sum += memory[(at >> 33) % words];
    }
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}

// Grows a heap of malloc to 256 MiB in small pieces, and prints how much of it is huge.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 4096, PIECES = 65536 };

int main(void) {
    for (size_t nth = 0; nth < PIECES; nth++) {
        char *piece = malloc(PIECE);
        if (!piece) abort();
        memset(piece, 1, PIECE);
    }
    FILE *rollup = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    while (rollup && fgets(line, sizeof line, rollup)) {
        unsigned long kib;
        if (sscanf(line, "AnonHugePages: %lu kB", &kib) == 1) printf("%lu B huge\n", kib << 10);
    }
    return 0;
}

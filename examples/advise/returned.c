// A heap that grows to 500 MiB, of which the allocator may give most back: every hundredth block of 8 KiB stays in use. How much memory is
// resident three seconds later?
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 64000, BYTES = 8192, KEPT_OF = 100 };

static long resident(void) {
    long size = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &size, &pages) != 2) abort();
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

int main(void) {
    static char *live[BLOCKS];
    for (size_t nth = 0; nth < BLOCKS; nth++) {
        live[nth] = malloc(BYTES);
        if (live[nth] == NULL) abort();
        memset(live[nth], 1, BYTES);
    }
    for (size_t nth = 0; nth < BLOCKS; nth++) {
        if (nth % KEPT_OF != 0) free(live[nth]);
    }
    printf("given back: %ld\n", resident());
    sleep(3);
    printf("kept: %ld\n", resident());
    return 0;
}

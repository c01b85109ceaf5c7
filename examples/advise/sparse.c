// Takes 256 MiB of which it uses one page in sixteen, then reads a large file, so that its cgroup must reclaim memory. How much is resident then?
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HUGE_PAGE = 2 << 20, BYTES = 256 << 20, STEP = 64 << 10 };

int main(int count, char **words) {
    if (count != 2) {
        fputs("usage: sparse FILE\n", stderr);
        return 2;
    }
    static char part[1 << 20];
    char *memory = mmap(NULL, BYTES + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) abort();
    for (size_t at = 0; at < BYTES; at += STEP) memory[at] = 1;
    for (int turn = 0; turn < 4; turn++) {
        FILE *file = fopen(words[1], "r");
        if (file == NULL) abort();
        while (fread(part, 1, sizeof part, file) > 0) continue;
        fclose(file);
    }
    long size = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &size, &pages) != 2) abort();
    printf("kept: %ld\n", pages * sysconf(_SC_PAGESIZE));
    return 0;
}

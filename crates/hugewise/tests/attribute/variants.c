/* Three sites, each a function that is called from one place: two map memory, one allocates it. */
#include <stdlib.h>
#include <sys/mman.h>

#define MIB (1UL << 20)
#define APART __attribute__((noinline))

static void touch(char *memory, unsigned long bytes) {
    for (unsigned long at = 0; at < bytes; at += 4096)
        ((volatile char *)memory)[at] = 1;
}

static APART char *reserve(unsigned long bytes) {
    char *memory = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    touch(memory, bytes);
    return memory;
}

static APART char *map_large(void) {
    char *memory = reserve(64 * MIB);
    touch(memory, 1);
    return memory;
}

static APART char *map_small(void) {
    char *memory = reserve(16 * MIB);
    touch(memory, 1);
    return memory;
}

static APART char *allocate(void) {
    char *memory = malloc(33 * MIB);
    touch(memory, 33 * MIB);
    return memory;
}

int main(void) {
    char *large = map_large();
    char *small = map_small();
    char *allocated = allocate();
    return large[0] + small[0] + allocated[0] - 3;
}

/* With LIBRARY a library that maps memory and allocates some, else a program that allocates its own. */
#include <stdlib.h>
#include <sys/mman.h>

#define MIB (1UL << 20)

static inline char *touched(char *memory, unsigned long bytes) {
    for (unsigned long at = 0; at < bytes; at += 4096)
        ((volatile char *)memory)[at] = 1;
    return memory;
}

char *store(void);

#ifdef LIBRARY
char *store(void) {
    char *memory = mmap(0, 16 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    touched(memory, 16 * MIB);
    return touched(malloc(9 * MIB), 9 * MIB);
}
#else
int main(void) {
    return touched(malloc(33 * MIB), 33 * MIB)[0] + store()[0] - 2;
}
#endif

// A program with a static probe, `shop:sold`, in the format of SystemTap (version 3). It passes the probe only if the
// counter of the probe is not 0, as programs with sys/sdt.h do. It ends when stdin closes.

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MIB (1 << 20)

__attribute__((section(".probes"), used, visibility("hidden"))) volatile unsigned short shop_sold_semaphore;

static inline void sold(void) {
    __asm__ volatile("990: nop\n"
                     ".pushsection .note.stapsdt,\"\",\"note\"\n"
                     ".balign 4\n"
                     ".4byte 992f-991f, 994f-993f, 3\n"
                     "991: .asciz \"stapsdt\"\n"
                     "992: .balign 4\n"
                     "993: .8byte 990b\n"
                     ".8byte _.stapsdt.base\n"
                     ".8byte shop_sold_semaphore\n"
                     ".asciz \"shop\"\n"
                     ".asciz \"sold\"\n"
                     ".asciz \"\"\n"
                     "994: .balign 4\n"
                     ".popsection\n"
                     ".ifndef _.stapsdt.base\n"
                     ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"
                     ".weak _.stapsdt.base\n"
                     ".hidden _.stapsdt.base\n"
                     "_.stapsdt.base: .space 1\n"
                     ".size _.stapsdt.base, 1\n"
                     ".popsection\n"
                     ".endif\n");
}

int main(void) {
    size_t size = 64 * MIB;
    volatile unsigned char *memory = aligned_alloc(2 * MIB, size);
    if (!memory) return 1;
    for (size_t at = 0; at < size; at++) memory[at] = (unsigned char)(at | 1);
    puts("ready");
    fflush(stdout);
    struct pollfd closed = {.fd = STDIN_FILENO, .events = POLLIN};
    for (size_t at = 0; poll(&closed, 1, 0) == 0; at = (at + 4097) % size) {
        for (int turn = 0; turn < 1000; turn++) (void)memory[(at + 64 * turn) % size];
        if (shop_sold_semaphore) sold();
    }
    return 0;
}

/* 2,000 functions of a page each, which two threads call in turn while signals come. The result is the same
   each time, and so are the bytes of the code. `patch` writes to one page of it first; `fork` does the same
   in a child at once. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__aarch64__)
#define OVER "b 1f\n.skip 3600\n1:"
#else
#define OVER "jmp 1f\n.skip 3600\n1:"
#endif
#define T(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7) F(n##8) F(n##9)
#define H(n) T(n##0) T(n##1) T(n##2) T(n##3) T(n##4) T(n##5) T(n##6) T(n##7) T(n##8) T(n##9)
#define K(n) H(n##0) H(n##1) H(n##2) H(n##3) H(n##4) H(n##5) H(n##6) H(n##7) H(n##8) H(n##9)
#define F(n) __attribute__((noinline, noclone, aligned(4096))) static unsigned f##n(unsigned x) { \
    __asm__ volatile(OVER); return x * 31u + n##u; }
K(1) K(2)
#undef F
#define F(n) f##n,
static unsigned (*const all[])(unsigned) = {K(1) K(2)};
enum { COUNT = sizeof all / sizeof *all };

static volatile sig_atomic_t rang;
static volatile unsigned kept;
static void ring(int number) { kept = all[rang++ % COUNT](number); }

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static unsigned call_all(void) {
    unsigned x = 1;
    for (int i = 0; i < COUNT; i++) x = all[i](x);
    return x;
}

static unsigned long bytes(void) {
    unsigned long sum = 0;
    const unsigned char *first = (const unsigned char *)all[0], *last = first;
    for (int i = 0; i < COUNT; i++) {
        const unsigned char *one = (const unsigned char *)all[i];
        first = one < first ? one : first;
        last = one > last ? one : last;
    }
    for (; first < last; first++) sum = sum * 31 + *first;
    return sum;
}

static void *work(void *seconds) {
    unsigned first = call_all();
    for (double end = now() + *(double *)seconds; now() < end;)
        if (call_all() != first) return (void *)1;
    return 0;
}

int main(int count, char **words) {
    const char *how = count > 1 ? words[1] : "";
    double seconds = count > 2 ? atof(words[2]) : 1.5;
    if (!strcmp(how, "patch")) {
        unsigned char *code = (unsigned char *)((unsigned long)f2000 & ~4095ul);
        if (mprotect(code, 4096, 7)) return 4;
        *(volatile unsigned char *)code = *(volatile unsigned char *)code;
        if (mprotect(code, 4096, 5)) return 4;
    }
    unsigned long before = bytes();
    int child = strcmp(how, "fork") ? -1 : fork();
    struct itimerval each = {{0, 1000}, {0, 1000}};
    signal(SIGALRM, ring);
    setitimer(ITIMER_REAL, &each, 0);
    pthread_t other;
    void *failed = 0, *other_failed = 0;
    pthread_create(&other, 0, work, &seconds);
    failed = work(&seconds);
    pthread_join(other, &other_failed);
    int status = 0;
    if (child > 0 && (waitpid(child, &status, 0) != child || status)) return 5;
    if (failed || other_failed) return 2;
    if (bytes() != before) return 3;
    if (child) puts("the same");
    return 0;
}

// Four threads, each with a heap of its own: many small blocks, read in scattered order.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, BLOCKS = 400000, READS = 4000000 };

static void *work(void *sum)
{
	uint64_t **blocks = malloc(BLOCKS * sizeof(*blocks)), at = 1;

	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(160);
		*blocks[i] = i;
	}
	for (int i = 0; i < READS; i++) {
		at = (at * 6364136223846793005ULL + 1442695040888963407ULL);
		*(uint64_t *)sum += *blocks[(at >> 33) % BLOCKS];
	}
	return sum;
}

int main(void)
{
	pthread_t threads[THREADS];
	uint64_t sums[THREADS] = { 0 };

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, &sums[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%llu\n", (unsigned long long)sums[0]);
	return 0;
}

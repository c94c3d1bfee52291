/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_load.c - a guest that does nothing but allocate: the load of tests/bench/heap.py
 *
 * usage: alloc_load EVENTS THREADS DEPTH
 *
 * Each thread keeps 1,024 blocks of 16 to 4096 bytes (as many in each power of two) and replaces
 * one of them at a time, from eight places in the code, DEPTH calls deep. An event is a malloc
 * or a free. Prints nanoseconds an event: CPU time of the threads that allocate, of all threads
 * of the process, and of the wall's clock.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BLOCKS = 1024, SIZES = 4096, PLACES = 8, THREADS_MAX = 64 };

struct work {
	uint64_t random;
	long n_events;
	double cpu_ns;
};

static uint16_t sizes[SIZES];

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	return *state ^= *state << 17;
}

static double read_ns(clockid_t clock)
{
	struct timespec at;

	clock_gettime(clock, &at);
	return (double)at.tv_sec * 1e9 + (double)at.tv_nsec;
}

/* Functions of their own, so that there is more than one stack; the empty statement keeps the
 * call from becoming a jump. */
#define PLACE(n)                                                                           \
	static __attribute__((noinline)) void *get_##n(size_t bytes)                       \
	{                                                                                  \
		void *block = malloc(bytes);                                               \
                                                                                           \
		__asm__ volatile("" : "+r"(block));                                        \
		return block;                                                              \
	}
PLACE(0)
PLACE(1)
PLACE(2)
PLACE(3)
PLACE(4)
PLACE(5)
PLACE(6)
PLACE(7)
static void *(*const places[PLACES])(size_t) = {get_0, get_1, get_2, get_3,
						get_4, get_5, get_6, get_7};

static void allocate(struct work *work)
{
	void *block[BLOCKS] = {NULL};

	for (long i = 0; i < work->n_events / 2; i++) {
		uint64_t random = next_random(&work->random);
		void **at = &block[random % BLOCKS];

		free(*at);
		*at = places[random >> 40 & (PLACES - 1)](sizes[random >> 20 & (SIZES - 1)]);
		*(volatile char *)*at = 1;
	}
	for (int i = 0; i < BLOCKS; i++)
		free(block[i]);
}

static __attribute__((noinline)) void go_deep(int depth, struct work *work)
{
	if (depth > 0)
		go_deep(depth - 1, work);
	else
		allocate(work);
	__asm__ volatile("" ::: "memory");
}

static int depth;

static void *run(void *opaque)
{
	struct work *work = opaque;
	double begin = read_ns(CLOCK_THREAD_CPUTIME_ID);

	go_deep(depth, work);
	work->cpu_ns = read_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	return NULL;
}

int main(int argc, char **argv)
{
	long n_events = argc > 1 ? atol(argv[1]) : 1000000;
	int n_threads = argc > 2 ? atoi(argv[2]) : 1;
	static struct work work[THREADS_MAX];
	pthread_t thread[THREADS_MAX];
	uint64_t random = 42;
	double wall, cpu, own = 0;

	depth = argc > 3 ? atoi(argv[3]) : 12;
	if (n_threads < 1 || n_threads > THREADS_MAX || n_events < 2)
		return 2;
	for (int i = 0; i < SIZES; i++) {
		size_t power = (size_t)16 << next_random(&random) % 8;

		sizes[i] = (uint16_t)(power + next_random(&random) % power);
	}
	wall = read_ns(CLOCK_MONOTONIC);
	cpu = read_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (int i = 0; i < n_threads; i++) {
		work[i].random = 88172645463325252ull + (uint64_t)i * 7919;
		work[i].n_events = n_events / n_threads;
		pthread_create(&thread[i], NULL, run, &work[i]);
	}
	for (int i = 0; i < n_threads; i++) {
		pthread_join(thread[i], NULL);
		own += work[i].cpu_ns;
	}
	cpu = read_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	wall = read_ns(CLOCK_MONOTONIC) - wall;
	printf("own %.2f cpu %.2f wall %.2f\n", own / (double)n_events, cpu / (double)n_events,
	       wall / (double)n_events);
	return 0;
}

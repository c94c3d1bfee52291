/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap.c - counters of the malloc family and the table of chosen blocks, used by many threads
 *
 * usage: heap [SECONDS]
 *
 * More threads than there are counters come and go; each counts blocks that it makes up, has
 * some chosen, and puts them on a shelf from which others take and give them back. Meanwhile
 * somebody reads all counters and peaks. In the end calls and bytes are exact, and each block
 * was known to be chosen exactly when it was.
 * Exit status 0: all was right.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/probe/heap/heap_count.h"
#include "runtime/probe/heap/heap_sample.h"

enum { N_THREADS = 300, SHELF = 64, ROUNDS = 400, MEAN = 3000 };

/* A block's number and bytes, and whether it was chosen, in one word. */
struct block {
	uint32_t number;
	uint16_t bytes;
	uint16_t is_chosen;
};

static struct block shelf[SHELF];	/* atomic; number 0: nothing */
static uint32_t last_number;		/* atomic */
static uint64_t n_made, n_given_back, n_wrong;	/* atomic */
static bool is_over;			/* atomic */
static pthread_barrier_t all_there;

static void *address_of(const struct block *block)
{
	return (void *)((uintptr_t)block->number << 4);
}

static void *use(void *seed)
{
	unsigned dice = (unsigned)(uintptr_t)seed * 2654435761u;

	tp_heap_slot();
	pthread_barrier_wait(&all_there);
	for (int i = 0; i < ROUNDS; i++) {
		struct block block = { 0 };

		if (rand_r(&dice) % 2) {
			block.number = __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED);
			block.bytes = (uint16_t)rand_r(&dice);
			tp_heap_add_live(tp_heap_count_alloc(block.bytes), block.bytes);
			block.is_chosen = tp_heap_sample_choose(address_of(&block), block.bytes);
			__atomic_fetch_add(&n_made, 1, __ATOMIC_RELAXED);
		}
		__atomic_exchange(&shelf[rand_r(&dice) % SHELF], &block, &block, __ATOMIC_ACQ_REL);
		if (!block.number)
			continue;
		if (tp_heap_sample_drop(address_of(&block)) != block.is_chosen)
			__atomic_fetch_add(&n_wrong, 1, __ATOMIC_RELAXED);
		tp_heap_add_live(tp_heap_count_free(address_of(&block)), -(int64_t)block.bytes);
		__atomic_fetch_add(&n_given_back, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void *read_all(void *unused)
{
	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
		struct tp_heap_thread thread[16];
		struct tp_heap_totals totals;

		tp_heap_totals(&totals);
		if (tp_heap_threads(thread, 16) > 16 || tp_heap_take_recent_peak() > tp_heap_peak())
			__atomic_fetch_add(&n_wrong, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 3);
	struct tp_heap_totals totals;
	pthread_t reader, thread[N_THREADS];
	int64_t left = 0;

	pthread_barrier_init(&all_there, NULL, N_THREADS);
	if (!tp_heap_sample_open(MEAN) || pthread_create(&reader, NULL, read_all, NULL))
		return 2;
	while (time(NULL) < end) {
		for (uintptr_t i = 0; i < N_THREADS; i++)
			if (pthread_create(&thread[i], NULL, use, (void *)(i + 1)))
				return 2;
		for (int i = 0; i < N_THREADS; i++)
			pthread_join(thread[i], NULL);
	}
	__atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
	pthread_join(reader, NULL);

	for (int i = 0; i < SHELF; i++)
		left += shelf[i].number ? shelf[i].bytes : 0;
	tp_heap_totals(&totals);
	printf("%lu blocks, %lu given back, %ld bytes left of %ld, %u shared a counter, %lu found no "
	       "room, %lu wrong\n", (unsigned long)n_made, (unsigned long)n_given_back,
	       (long)totals.live, (long)left, totals.n_sharing,
	       (unsigned long)tp_heap_sample_no_room(), (unsigned long)n_wrong);
	return n_wrong || totals.live != left || totals.allocs != n_made ||
	       totals.frees != n_given_back || !totals.n_sharing;
}

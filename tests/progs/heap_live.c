/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_live.c - blocks of known sizes: some stay, some are given back by another thread, and for a
 * moment there are many
 *
 * usage: heap_live KEEP SPIKE
 *
 * Prints what malloc_usable_size says of the KEEP blocks that stay at the end, then of those
 * and the SPIKE blocks of 100,000 bytes that are there at once. Without blocks it does all else
 * the same.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "first_trace.h"

enum { MOST = 100000, PASSED = 5000 };
static void *kept[MOST], *spike[MOST], *passed[PASSED];
static int n_kept, n_spike;

static void *give_back(void *unused)
{
	for (int i = 0; i < PASSED; i++)
		free(passed[i]);
	return NULL;
}

static void *make_kept(void *unused)
{
	for (int i = 0; i < n_kept; i++)
		kept[i] = malloc((size_t)i % 1000);
	for (int i = 0; i < n_kept; i++)
		kept[i] = realloc(kept[i], (size_t)(i * 7) % 2000 + 1);
	return NULL;
}

int main(int argc, char **argv)
{
	size_t bytes = 0, most;
	pthread_t thread;

	/* Curves are sampled by the thread that records. */
	await_first_trace();
	n_kept = argc > 2 ? atoi(argv[1]) : 0;
	n_spike = argc > 2 ? atoi(argv[2]) : 0;
	for (int i = 0; i < PASSED; i++)
		passed[i] = calloc(3, (size_t)i % 500);
	if (pthread_create(&thread, NULL, give_back, NULL) || pthread_join(thread, NULL))
		return 2;
	if (pthread_create(&thread, NULL, make_kept, NULL) || pthread_join(thread, NULL))
		return 2;
	for (int i = 0; i < n_kept; i++)
		bytes += malloc_usable_size(kept[i]);
	most = bytes;
	for (int i = 0; i < n_spike; i++) {
		spike[i] = malloc(100000);
		most += malloc_usable_size(spike[i]);
	}
	usleep(50000);
	for (int i = 0; i < n_spike; i++)
		free(spike[i]);
	printf("%12zu %12zu\n", bytes, most);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_signal.c - a signal handler that uses malloc, on top of a thread that does, and makes marks
 *
 * Right only over a malloc that may be used so: tests/progs/bump_malloc.c.
 *
 * usage: heap_signal ROUNDS
 *
 * Prints how many blocks of MAIN_BYTES the program had, of HANDLER_BYTES its handler, and how
 * many marks were made.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#include "preload/trainprof.h"

enum { MAIN_BYTES = 1001, HANDLER_BYTES = 2002 };

static uint64_t n_handled;	/* atomic */
static uint32_t n_changed;

static void handle(int number)
{
	void *block = malloc(HANDLER_BYTES);

	__asm__ volatile("" : : "r"(block) : "memory");
	free(block);
	n_handled++;
}

int main(int argc, char **argv)
{
	const struct itimerval often = { { 0, 150 }, { 0, 150 } }, never = { { 0, 0 }, { 0, 0 } };
	int n_rounds = argc > 1 ? atoi(argv[1]) : 1;

	signal(SIGALRM, handle);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < n_rounds; i++) {
		void *block;

		errno = 77;
		block = malloc(MAIN_BYTES);
		__asm__ volatile("" : : "r"(block) : "memory");
		trainprof_instant("here", NULL);
		free(block);
		n_changed += errno != 77;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%d %lu %d, errno changed %u times\n", n_rounds, (unsigned long)n_handled, n_rounds,
	       n_changed);
	return 0;
}

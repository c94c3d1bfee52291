/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_threads.h - the interpreter's threads, found and told apart from outside
 *
 * States of threads are a list in both directions; from one that is known to be there it is followed
 * both ways. Offsets are measured on the thread that asks, and compared with the public API.
 */
#ifndef TP_PROBE_PYSAMPLE_THREADS_H
#define TP_PROBE_PYSAMPLE_THREADS_H

#include <stdbool.h>
#include <stdint.h>

enum { TP_PYSAMPLE_THREADS = 256 };

struct tp_pysample_thread {
	const char *state;
	uint32_t tid;
};

/* With the interpreter's lock held, once. NULL, or why threads cannot be found. */
const char *tp_pysample_threads_init(void);

/* On a thread of the program: the list is followed from its state on. */
void tp_pysample_threads_from_here(void);

/* Returns how many there are, at most TP_PYSAMPLE_THREADS; *is_whole: no link of the list was broken. */
uint32_t tp_pysample_threads(struct tp_pysample_thread thread[TP_PYSAMPLE_THREADS], bool *is_whole);

/* What thread `tid` waits for: number of the system call plus one; 0: it runs; -1: not known. Within
 * one call of own_table.h for all. */
struct tp_pysample_state {
	uint32_t tid;
	int32_t waits_in;
};
void tp_pysample_states(struct tp_pysample_state *state, uint32_t n);

#endif

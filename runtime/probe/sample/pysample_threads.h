/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_threads.h - the interpreter's threads, found and told apart from outside
 *
 * States of threads are a list in both directions; from one that is known to be there it is followed
 * both ways. As long as all links are what they were, one call of the kernel says so. Offsets are
 * measured on the thread that asks, and compared with the public API.
 */
#ifndef TP_PROBE_PYSAMPLE_THREADS_H
#define TP_PROBE_PYSAMPLE_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/probe/sample/pysample_frames.h"
#include "runtime/probe/sample/pysample_state.h"

enum { TP_PYSAMPLE_THREADS = 256 };

struct tp_pysample_thread {
	const char *state;
	const char *self;	/* its pthread_t */
	/* What was found at the last rounds; all zero of one that is new. */
	struct tp_pysample_state kernel;
	struct tp_pysample_hint hint;
	uint64_t looked_ns;	/* processor time when its stack was taken */
	uint32_t stack, generation;	/* that stack; 0: none */
	uint64_t digest;		/* of its frames */
	bool is_idle;		/* it ran no Python then */
};

/* With the interpreter's lock held, once. NULL, or why threads cannot be found. */
const char *tp_pysample_threads_init(void);

/* PyInterpreterState of these threads; once that was said to be found. */
const char *tp_pysample_threads_interpreter(void);

/* On a thread of the program: the list is followed from its state on. */
void tp_pysample_threads_from_here(void);

/* The threads that there are now, *n of them, at most TP_PYSAMPLE_THREADS; *is_whole: no link of the
 * list was broken. Valid until the next call. Drain thread. */
struct tp_pysample_thread *tp_pysample_threads(uint32_t *n, bool *is_whole);
/* There were more: those that began last and the one of tp_pysample_threads_from_here are told. */
bool tp_pysample_threads_is_cut(void);

/* The one whose number for the kernel is `tid`, likewise; NULL: there is none. */
struct tp_pysample_thread *tp_pysample_thread_of(uint32_t tid);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_last.h - what the malloc hooks keep per thread, and whether a block is libc's
 *
 * A framework reports a block by address alone. Whether malloc_usable_size() may be asked
 * about that address depends on where it came from: only the thread that has just got it
 * from posix_memalign knows. The hooks note that block here; the tensor probe asks.
 *
 * Threads: each its own. Initial-exec TLS: the dynamic kind calls malloc on first use.
 */
#ifndef TP_PROBE_HEAP_LAST_H
#define TP_PROBE_HEAP_LAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/sync.h"

struct tp_heap_slot;

struct tp_heap_self {
	struct tp_heap_slot *slot;	/* this thread's own counters; NULL: not taken yet, or shared */
	const void *last_block;		/* that posix_memalign returned here; NULL: none, freed, or
					 * asked about */
	int64_t until_sample;		/* bytes to be asked for until the next block is chosen */
	uint64_t dice;			/* 0: not seeded yet */
	bool is_sharing;		/* a slot with other threads */
	bool is_quiet;			/* nothing is recorded: the drain thread's, or it forks */
};
extern __thread struct tp_heap_self tp_heap_self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/*
 * Is this the block that the malloc family gave this thread last? Then it is alive and
 * malloc_usable_size() may be called on it. True once for a block: the answer must not
 * outlive it.
 */
static inline bool tp_heap_is_last_block(const void *block)
{
	if (!block || tp_heap_self.last_block != block)
		return false;
	tp_heap_self.last_block = NULL;
	return true;
}

/* It is given back. */
static inline void tp_heap_forget_block(const void *block)
{
	if (tp_unlikely(tp_heap_self.last_block == block))
		tp_heap_self.last_block = NULL;
}

#endif

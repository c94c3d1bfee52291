/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_pool.h - who may take which chunk: private to ring.c, ring_open.c and ring_drain.c
 *
 * A free chunk is a set bit in `free`; who clears the bit owns the chunk. Only the drain
 * thread sets bits.
 */
#ifndef TP_ENGINE_RING_POOL_H
#define TP_ENGINE_RING_POOL_H

#include "runtime/engine/ring/ring.h"

enum { TP_RING_LAST_SLOT = TP_RING_SLOTS - 1 };	/* shared by all threads that found no other */

/* A chunk that the pass in progress has handed out, or could. */
struct tp_ring_taken {
	uint64_t sequence;
	uint32_t chunk;
	uint32_t from;		/* first record handed out */
	bool has_picked;	/* records behind the taken ones, too */
};

struct tp_ring_pool {
	bool is_open;		/* atomic */
	bool is_half_told;	/* atomic: the drain knows that half of the pool is used */
	uint32_t n_free;	/* atomic */
	uint32_t chunk_top;	/* atomic: chunks from here on were never used */
	uint32_t slot_top;	/* atomic: slots from here on were never used */
	uint64_t *free;		/* atomic bits, private memory */
	uint32_t n_words;
	/* drain side */
	struct tp_ring_taken *taken;	/* n_chunks of them */
	uint32_t n_taken;
	void *private;		/* mapping that holds `free` and `taken` */
	size_t private_bytes;
};
extern struct tp_ring_pool tp_ring_pool __attribute__((visibility("hidden")));

#endif

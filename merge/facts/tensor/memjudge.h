/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memjudge.h - what a block of tensor memory was for, by where it was born and what came before it
 * was freed
 *
 * No state: the caller counts.
 */
#ifndef TP_MERGE_MEMJUDGE_H
#define TP_MERGE_MEMJUDGE_H

#include "merge/facts/tensor/memlife.h"

/* What a process has begun so far. */
struct tp_memcount {
	uint32_t n_steps, n_optimizers;
	uint32_t n_nodes;		/* of the backward pass */
	uint32_t n_nodes_at_step;	/* when its step began */
};

/* A block that dies, or is alive at its window's end. */
struct tp_memcase {
	const struct tp_place *born, *died;	/* died: NULL: it was not freed */
	struct tp_memcount then, now;	/* when it was born; when it died */
	int64_t end_ns;
};
enum tp_tensor_category tp_memjudge(const struct tp_memcase *of);

#endif

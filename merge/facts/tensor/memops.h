/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memops.h - tensor memory by operator: what its calls allocated and freed, themselves and in all
 */
#ifndef TP_MERGE_MEMOPS_H
#define TP_MERGE_MEMOPS_H

#include <stdbool.h>
#include <stdint.h>

struct tp_memop {
	uint32_t name;			/* row of tp_names */
	uint64_t calls;
	uint64_t allocs, self_allocs;	/* blocks: of all inside of it, while it was innermost */
	int64_t alloc_bytes, self_alloc_bytes;
	int64_t bytes, self_bytes;	/* allocated less freed */
};

/* What operators did on a device of a process. */
struct tp_memops {
	uint32_t proc, device;		/* the caller's */
	struct tp_memop *op;		/* by name */
	uint32_t n, cap;
	bool is_incomplete;
};

/* All zero: none. */
struct tp_memops_each {
	struct tp_memops *of;
	uint32_t n, cap;
	uint32_t n_lost;		/* for want of memory */
};

void tp_memops_free(struct tp_memops_each *each);
/* Valid until the next call; NULL: out of memory. */
struct tp_memops *tp_memops_of(struct tp_memops_each *each, uint32_t proc, uint32_t device);
/* A block was allocated (freed: negative) inside of spans of these names, the innermost last. */
void tp_memops_change(struct tp_memops *ops, const uint32_t *name, uint32_t n, int64_t bytes);
/* Orders by what they allocated themselves, the largest first; names that allocated and freed
 * nothing go. calls: of the first n_calls names. */
void tp_memops_end(struct tp_memops *ops, const uint64_t *calls, uint32_t n_calls);

#endif

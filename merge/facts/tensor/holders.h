/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holders.h - who held the memory at one moment: its blocks, summed up by what they were for and
 * where they were allocated
 *
 * Blocks are told as they die. Where a later moment takes the place of the one that was meant
 * before, all are forgotten at once.
 *
 * Memory: distinct holders.
 */
#ifndef TP_MERGE_HOLDERS_H
#define TP_MERGE_HOLDERS_H

#include "merge/facts/tensor/memcat.h"
#include "merge/kit/keyed.h"

struct tp_holder {
	uint32_t name;			/* row of tp_names, TP_NO_NAME: older than the window */
	struct tp_origin origin;	/* of the operator: its module, its line */
	enum tp_tensor_category category;
	int64_t bytes;
	uint64_t n_blocks;
};

/* All zero: none. */
struct tp_holders {
	struct tp_holder_row {
		struct tp_holder holder;
		uint32_t age;		/* in which it counts */
	} *row;
	uint32_t n, cap, age;
	struct tp_keyed keyed;
};

void tp_holders_free(struct tp_holders *holders);
/* False: out of memory. */
bool tp_holders_add(struct tp_holders *holders, const struct tp_life *life);
void tp_holders_forget(struct tp_holders *holders);
/* The largest first; to be freed. NULL: out of memory. */
struct tp_holder *tp_holders_sorted(const struct tp_holders *holders, uint32_t *n);

#endif

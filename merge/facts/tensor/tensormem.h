/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensormem.h - tensor memory of a run, in one pass: what for, when most, who, the largest blocks
 */
#ifndef TP_MERGE_TENSORMEM_H
#define TP_MERGE_TENSORMEM_H

#include "merge/facts/tensor/allocator.h"
#include "merge/facts/tensor/mempeak.h"

struct tp_tensormem;

/* n_largest: blocks that are kept for the table, at least; 0: very many. */
struct tp_tensormem *tp_tensormem_want(struct tp_facts *facts, uint32_t n_largest);

/* After the end. By device of a process; by_step[i] and by_time[i] are of the same. */
const struct tp_mempeak_track *tp_tensormem_by_step(const struct tp_tensormem *mem, uint32_t *n);
const struct tp_mempeak_track *tp_tensormem_by_time(const struct tp_tensormem *mem, uint32_t *n);
/* The largest first; is_all: none was left out. */
const struct tp_life *tp_tensormem_largest(const struct tp_tensormem *mem, uint32_t *n,
					  bool *is_all);
/* Pins of by_step's tracks are its failed allocations. */
const struct tp_allocator *tp_tensormem_allocator(const struct tp_tensormem *mem);
const struct tp_memcat *tp_tensormem_cat(const struct tp_tensormem *mem);
bool tp_tensormem_is_incomplete(const struct tp_tensormem *mem);

#endif

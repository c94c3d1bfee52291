/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memtake.h - when a block of the backward pass became a parameter's gradient
 *
 * What a node computes is temporary until somebody takes it: a node AccumulateGrad, or FSDP for a group
 * of parameters. Neither says which block it took. But a node AccumulateGrad runs as soon as what it
 * needs is there: of the blocks of its thread that are still there when the optimizer begins it took the
 * newest that none before it took, the one computed last. What waits longer (of a parameter that is used
 * twice) is older. FSDP takes all blocks of a group at once, and frees them in a range with that
 * group's name.
 *
 * Memory: blocks of the backward pass that are alive; nodes and groups since the last settling.
 */
#ifndef TP_MERGE_MEMTAKE_H
#define TP_MERGE_MEMTAKE_H

#include "merge/model/model.h"

struct tp_memtake;
/* It was not taken, or nobody knows when. */
#define TP_NOT_TAKEN INT64_MAX

/* NULL: out of memory. */
struct tp_memtake *tp_memtake_new(uint32_t n_procs);
void tp_memtake_free(struct tp_memtake *take);

/* False: out of memory. */
/* A block is allocated in the backward pass; tag: the caller's, small, not 0. */
bool tp_memtake_born(struct tp_memtake *take, uint32_t tag, const struct tp_event *alloc);
/* A node AccumulateGrad begins. */
bool tp_memtake_node(struct tp_memtake *take, const struct tp_event *node);
/* FSDP takes what a group of parameters has at that time; group: a name for it, valid until it is settled. */
bool tp_memtake_group(struct tp_memtake *take, uint32_t proc, int64_t ns, const char *group);

/* The node that its thread is in copies what it took: the copy is the gradient. */
void tp_memtake_copy(struct tp_memtake *take, const struct tp_event *alloc);
/* When FSDP first took that group after that time. */
int64_t tp_memtake_group_ns(const struct tp_memtake *take, uint32_t proc, const char *group,
			    int64_t after_ns);
/* What is there now stays. is_all: nothing is on its way any more, for an optimizer begins. */
void tp_memtake_settle(struct tp_memtake *take, uint32_t proc, bool is_all);
/* Any block is gone. When was it taken? */
int64_t tp_memtake_gone(struct tp_memtake *take, uint32_t tag);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unused.h - work of the backward pass for gradients that no optimizer uses
 *
 * A gradient that zero_grad() has set to None is kept as it comes; one that nobody zeroes is added to the
 * one before (aten::add_ inside AccumulateGrad). Where a pass, the first one of its step, has both, all that
 * it does after the last one of the former was for the latter only. Not so where all are zeroed in place.
 * Charged to source lines: figure UNUSED of sites.h.
 * Memory: threads; nodes of a pass.
 */
#ifndef TP_MERGE_UNUSED_H
#define TP_MERGE_UNUSED_H

#include <stdbool.h>
#include <stdint.h>

struct tp_event;
struct tp_sites;
struct tp_unused;	/* of a process */

struct tp_unused *tp_unused_make(uint32_t n_threads);
void tp_unused_free(struct tp_unused *unused);

/* In the order of a thread's operators: a node, who is charged for it (`tag`), and whether it keeps a
 * gradient; who is charged instead, as an operator inside it tells the forward line; an addition inside it;
 * an outermost operator that is no node; the begin of a step. */
void tp_unused_node(struct tp_unused *unused, uint32_t thread, const struct tp_event *event, bool is_kept,
		    bool is_outermost, uint32_t tag);
void tp_unused_line(struct tp_unused *unused, uint32_t thread, uint32_t tag);
void tp_unused_add(struct tp_unused *unused, uint32_t thread);
void tp_unused_other(struct tp_unused *unused, uint32_t thread, struct tp_sites *sites);
void tp_unused_step(struct tp_unused *unused, struct tp_sites *sites);

/* Steps whose first pass with new gradients added to others, too, and those in which it did not: the former
 * are zeroed at times, by an optimizer that steps less often. */
void tp_unused_count(const struct tp_unused *unused, uint64_t *n_with, uint64_t *n_without);

#endif

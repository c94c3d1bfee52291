/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites_inner.c - part of sites.h: Python of the program's own inside nodes of the backward pass
 *
 * The backward() of an autograd.Function, a hook, a part that is computed again: what they ask for is
 * charged to their own lines, not to the forward line that made the node. That a stack of Python was
 * recorded with such an operator does not say so: what torch.compile made has one as well, in which the
 * program's innermost line is the one that called backward(). Which it is shows when names are read, so
 * sums are kept by the two rows until then.
 *
 * Memory: TP_SITES_MAX pairs of rows at most; what is beyond stays with the node.
 */
#include "merge/facts/code/sites_in.h"

#include "merge/facts/origin/backward_call.h"
#include "merge/facts/origin/module_origin.h"
#include "merge/kit/grow.h"
#include "merge/kit/sum.h"

/* ---- events ---- */

/* The pair's number plus one; 0: no room for it. */
static uint32_t find_pair(struct tp_sites *sites, uint32_t row, uint32_t outer)
{
	uint32_t hash = tp_keyed_hash((uint64_t)row << 32 | outer), at;

	for (uint32_t i = tp_keyed_first(&sites->inner_keyed, hash, &at); i != TP_NO_KEYED;
	     i = tp_keyed_next(&sites->inner_keyed, hash, &at))
		if (sites->inner[i].row == row && sites->inner[i].outer == outer)
			return i + 1;
	if (sites->n_inner >= TP_SITES_MAX ||
	    !tp_grow(&sites->inner, &sites->cap_inner, (uint64_t)sites->n_inner + 1,
		     sizeof(*sites->inner)) ||
	    !tp_keyed_add(&sites->inner_keyed, hash, sites->n_inner))
		return 0;
	sites->inner[sites->n_inner] = (struct tp_sites_inner){.row = row, .outer = outer};
	return ++sites->n_inner;
}

bool tp_sites_take_inner(struct tp_sites *sites, struct tp_sites_outer *outer,
			 const struct tp_event *event)
{
	const int64_t ns = tp_sub(event->end_ns, event->begin_ns);
	struct tp_sites_inner *inner;
	uint32_t row;
	int64_t gap_ns;	/* 0: none, or no dispatch: it stays the node's */

	if (outer->inner && event->begin_ns < outer->inner_end_ns) {
		sites->inner[outer->inner - 1].inside++;
		return true;
	}
	row = event->flags & TP_F_BACKWARD ? 0 : tp_sites_now(sites, event);
	if (!row || row == outer->row)
		return false;
	gap_ns = tp_sub(event->begin_ns, outer->inner ? outer->inner_end_ns : outer->begin_ns);
	gap_ns = gap_ns > 0 && gap_ns < TP_SITES_DISPATCH_NS ? gap_ns : 0;
	outer->inner = find_pair(sites, row, outer->row);
	if (!outer->inner)
		return false;
	outer->inner_end_ns = event->end_ns;
	inner = &sites->inner[outer->inner - 1];
	inner->calls++;
	inner->ns = tp_add(inner->ns, ns);
	inner->gap_ns = tp_add(inner->gap_ns, gap_ns);
	if (outer->is_trainers)
		inner->trainer_ns = tp_add(inner->trainer_ns, ns);
	inner->learning_ns = tp_add(inner->learning_ns, tp_add(ns, gap_ns));
	return true;
}

/* ---- at the end ---- */

static void charge(struct tp_sites *sites, const struct tp_sites_inner *inner)
{
	tp_sites_move(sites, inner->outer, inner->row, TP_SITE_TIME, inner->ns);
	tp_sites_move(sites, inner->outer, inner->row, TP_SITE_TRAINER, inner->trainer_ns);
	tp_sites_charge(sites, inner->outer, TP_SITE_TIME, tp_sub(0, inner->gap_ns));
	tp_sites_charge(sites, inner->outer, TP_SITE_LEARNING, tp_sub(0, inner->learning_ns));
	tp_sites_charge(sites, inner->row, TP_SITE_CALLS, inner->calls);
	tp_sites_charge(sites, inner->row, TP_SITE_INSIDE, inner->inside);
	tp_sites_charge(sites, inner->row, TP_SITE_GAP, inner->gap_ns);
	tp_sites_charge(sites, inner->row, TP_SITE_LEARNING, inner->ns);
}

void tp_sites_charge_inner(struct tp_sites *sites)
{
	const struct tp_stacks *stacks = tp_origins_stacks(sites->origins);

	for (uint32_t i = 0; i < sites->n_inner; i++) {
		const struct tp_sites_inner *inner = &sites->inner[i];

		if (tp_backward_is_inside(stacks, sites->row[inner->row - 1].stack))
			charge(sites, inner);
		else
			tp_sites_charge(sites, inner->outer, TP_SITE_INSIDE,
					tp_add(inner->calls, inner->inside));
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * excerpt_in.h - the inside of an excerpt, for excerpt.c (what is kept) and excerpt_order.c (in which
 * order, and what lies in what) only
 */
#ifndef TP_MERGE_EXCERPT_IN_H
#define TP_MERGE_EXCERPT_IN_H

#include "merge/facts/program/excerpt.h"
#include "merge/facts/time/launches.h"
#include "merge/facts/time/module_times.h"

struct tp_excerpt {
	const struct tp_run *run;
	struct tp_excerpt_step step[TP_EXCERPT_STEPS];
	uint32_t n_steps;
	bool is_first;			/* there is no ledger: the first step that comes */
	struct tp_excerpt_row *row;
	uint32_t n_rows, cap_rows;
	uint32_t n_ids;
	uint64_t n_left_out;
	struct tp_facts *facts;
	struct tp_launches *launches;
	struct tp_launch_notes row_of;	/* of calls, plus one */
	struct tp_module_times *modules;
};

static inline bool tp_excerpt_is_in(const struct tp_excerpt_step *step, int64_t begin_ns, int64_t end_ns)
{
	return begin_ns < step->end_ns && (end_ns > step->begin_ns || begin_ns >= step->begin_ns);
}

/* Rows have come in any order, with ids as they came; now they get their places. */
void tp_excerpt_order(struct tp_excerpt *excerpt);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * excerpt_order.c - the rows of an excerpt by step, lane and time, and what lies in what
 */
#include "merge/facts/program/excerpt_in.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/sum.h"

enum { LANE_GONE = 0xff };

static int compare_lanes(const struct tp_excerpt_row *x, const struct tp_excerpt_row *y)
{
	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	if (x->lane == TP_LANE_QUEUE) {
		if (x->queue->device != y->queue->device)
			return x->queue->device < y->queue->device ? -1 : 1;
		return (x->queue->at > y->queue->at) - (x->queue->at < y->queue->at);
	}
	if (x->lane != TP_LANE_THREAD || x->thread == y->thread)
		return 0;
	if (x->thread->is_main != y->thread->is_main)
		return x->thread->is_main ? -1 : 1;
	return x->thread < y->thread ? -1 : 1;
}

bool tp_excerpt_is_one_lane(const struct tp_excerpt_row *a, const struct tp_excerpt_row *b)
{
	return a->step == b->step && !compare_lanes(a, b);
}

static int compare_rows(const void *a, const void *b)
{
	const struct tp_excerpt_row *x = a, *y = b;
	int lanes;

	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	lanes = compare_lanes(x, y);
	if (lanes)
		return lanes;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	if ((x->kind == TP_REC_NNMODULE) != (y->kind == TP_REC_NNMODULE))
		return x->kind == TP_REC_NNMODULE ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* Ids of calls become places of rows. */
static bool find_calls(struct tp_excerpt *excerpt)
{
	uint32_t *at = malloc(((size_t)excerpt->n_ids + 1) * sizeof(*at));

	if (!at)
		return false;
	memset(at, 0xff, ((size_t)excerpt->n_ids + 1) * sizeof(*at));
	for (uint32_t i = 0; i < excerpt->n_rows; i++)
		at[excerpt->row[i].id] = i;
	for (uint32_t i = 0; i < excerpt->n_rows; i++)
		if (excerpt->row[i].outer != TP_EXCERPT_NONE)
			excerpt->row[i].outer = at[excerpt->row[i].outer];
	free(at);
	return true;
}

/* Of the threads: a span lies in the one that began last among those that have not ended. */
static void nest(struct tp_excerpt *excerpt)
{
	uint32_t open = TP_EXCERPT_NONE;

	for (uint32_t i = 0; i < excerpt->n_rows; i++) {
		struct tp_excerpt_row *row = &excerpt->row[i];

		if (row->lane != TP_LANE_THREAD)
			continue;
		if (i && !tp_excerpt_is_one_lane(row, row - 1))
			open = TP_EXCERPT_NONE;
		while (open != TP_EXCERPT_NONE && excerpt->row[open].end_ns <= row->begin_ns)
			open = excerpt->row[open].outer;
		row->outer = open;
		row->depth = open == TP_EXCERPT_NONE ? 0 : excerpt->row[open].depth + 1;
		open = i;
	}
}

static void add_device_times(struct tp_excerpt *excerpt)
{
	/* From the innermost out: a row's outer one has a lower number, and threads lie before
	 * streams. */
	for (uint32_t i = excerpt->n_rows; i-- > 0;) {
		struct tp_excerpt_row *row = &excerpt->row[i];
		int64_t ns = row->lane != TP_LANE_QUEUE    ? row->device_ns
			     : row->kind == TP_REC_SYNC ? 0
							: tp_sub(row->end_ns, row->begin_ns);

		if (row->outer != TP_EXCERPT_NONE)
			excerpt->row[row->outer].device_ns =
				tp_add(excerpt->row[row->outer].device_ns, ns);
	}
}

/* What came before the first step did is none of it; where the rest ends when there was no step. */
static void settle(struct tp_excerpt *excerpt)
{
	struct tp_excerpt_step *first = &excerpt->step[0];
	uint32_t n = 0;

	if (excerpt->n_steps && first->end_ns == INT64_MAX) {
		first->end_ns = first->begin_ns;
		for (uint32_t i = 0; i < excerpt->n_rows; i++)
			if (excerpt->row[i].end_ns > first->end_ns)
				first->end_ns = excerpt->row[i].end_ns;
	}
	/* Rows are still in the order of their ids: a call may be asked for. */
	for (uint32_t i = 0; i < excerpt->n_rows; i++) {
		struct tp_excerpt_row *row = &excerpt->row[i];
		const struct tp_excerpt_step *step = &excerpt->step[row->step];
		const struct tp_excerpt_row *by =
			row->outer == TP_EXCERPT_NONE ? row : &excerpt->row[row->outer];

		if (!tp_excerpt_is_in(step, row->begin_ns, row->end_ns) &&
		    !tp_excerpt_is_in(step, by->begin_ns, by->end_ns))
			row->lane = LANE_GONE;
	}
	for (uint32_t i = 0; i < excerpt->n_rows; i++)
		if (excerpt->row[i].lane != LANE_GONE)
			excerpt->row[n++] = excerpt->row[i];
	excerpt->n_ids = excerpt->n_rows;
	excerpt->n_rows = n;
}

void tp_excerpt_order(struct tp_excerpt *excerpt)
{
	settle(excerpt);
	if (excerpt->n_rows)
		qsort(excerpt->row, excerpt->n_rows, sizeof(*excerpt->row), compare_rows);
	if (!find_calls(excerpt)) {
		excerpt->n_left_out += excerpt->n_rows;
		excerpt->n_rows = 0;
	}
	nest(excerpt);
	add_device_times(excerpt);
	for (uint32_t i = excerpt->n_rows; i-- > 0;) {
		struct tp_excerpt_step *step = &excerpt->step[excerpt->row[i].step];

		step->first = i;
		step->n++;
	}
}

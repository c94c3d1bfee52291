/* SPDX-License-Identifier: Apache-2.0 */
/*
 * breakdown.c - where the wall time of each step went, by categories in order of priority
 *
 * A sweep. Intervals come in begin order, so all that is needed to know what is active at
 * the present moment is, for each category, how far its intervals reach.
 */
#include "merge/breakdown.h"

#include <stdlib.h>
#include <string.h>

#include "merge/grow.h"

const char *tp_category_name(enum tp_category category)
{
	static const char *const names[TP_CAT_N] = {
	    [TP_CAT_KERNEL] = "Kernel",	  [TP_CAT_MEMCPY] = "Memcpy",
	    [TP_CAT_MEMSET] = "Memset",	  [TP_CAT_COMM] = "Communication",
	    [TP_CAT_RUNTIME] = "Runtime", [TP_CAT_DATA] = "DataLoader",
	    [TP_CAT_CPU] = "CPU Exec",	  [TP_CAT_OTHER] = "Other",
	};

	return names[category];
}

void tp_breakdown_init(struct tp_breakdown *b)
{
	memset(b, 0, sizeof(*b));
	/* Times before the run's zero are negative. */
	b->now_ns = INT64_MIN;
	for (uint32_t c = 0; c < TP_CAT_OTHER; c++)
		b->reach_ns[c] = INT64_MIN;
}

/* Moves the present to `to`, which is not behind it, giving the time to categories. */
static void advance(struct tp_breakdown *b, int64_t to)
{
	struct tp_step_time *step;

	if (!b->is_in_step || to <= b->now_ns) {
		if (to > b->now_ns)
			b->now_ns = to;
		return;
	}
	step = &b->step[b->n_steps - 1];
	while (b->now_ns < to && b->now_ns < step->end_ns) {
		int64_t until = to < step->end_ns ? to : step->end_ns;
		uint32_t category = 0;

		while (category < TP_CAT_OTHER && b->reach_ns[category] <= b->now_ns)
			category++;
		if (category < TP_CAT_OTHER && b->reach_ns[category] < until)
			until = b->reach_ns[category];
		step->ns[category] += until - b->now_ns;
		b->now_ns = until;
	}
	if (b->now_ns >= step->end_ns)
		b->is_in_step = false;
	if (b->now_ns < to)
		b->now_ns = to;
}

void tp_breakdown_step(struct tp_breakdown *b, uint64_t index, int64_t begin_ns,
		       int64_t end_ns)
{
	struct tp_step_time *step;

	advance(b, begin_ns);
	/* Steps of one process follow each other. One that begins inside another (a damaged
	 * file) ends it, so that what was counted is still all of a step's time. */
	if (b->is_in_step)
		b->step[b->n_steps - 1].end_ns = b->now_ns;
	b->is_in_step = false;
	if (begin_ns < b->now_ns)
		begin_ns = b->now_ns;
	if (end_ns < begin_ns)
		end_ns = begin_ns;
	if (!tp_grow(&b->step, &b->cap_steps, (uint64_t)b->n_steps + 1, sizeof(*b->step))) {
		b->is_incomplete = true;
		return;
	}
	step = &b->step[b->n_steps++];
	memset(step, 0, sizeof(*step));
	step->index = index;
	step->begin_ns = begin_ns;
	step->end_ns = end_ns;
	b->is_in_step = true;
}

void tp_breakdown_span(struct tp_breakdown *b, enum tp_category category, int64_t begin_ns,
		       int64_t end_ns)
{
	advance(b, begin_ns);
	if (end_ns > b->reach_ns[category])
		b->reach_ns[category] = end_ns;
}

void tp_breakdown_end(struct tp_breakdown *b)
{
	if (b->is_in_step)
		advance(b, b->step[b->n_steps - 1].end_ns);
	b->is_in_step = false;
}

void tp_breakdown_free(struct tp_breakdown *b)
{
	free(b->step);
	memset(b, 0, sizeof(*b));
}

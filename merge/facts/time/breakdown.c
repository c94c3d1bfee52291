/* SPDX-License-Identifier: Apache-2.0 */
/*
 * breakdown.c - where the wall time of each step went, by categories in order of priority
 *
 * A sweep. Intervals come in begin order, so all that is needed to know what is active at
 * the present moment is, for each category, how far its intervals reach.
 *
 * Where a step ends is known only when its last work has begun, perhaps in the middle of later
 * steps. So times are added up over all steps, and what the sums are is noted at every time that
 * may be the edge of a step: at the end, a step's times are the difference of two sums.
 */
#include "merge/facts/time/breakdown.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"

enum which { EDGE_END, EDGE_LEAD, EDGE_WORK };

/* Work that runs at a time belongs to few steps; more is a damaged file. */
enum { AHEAD_MOST = 256 };

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
		b->reach_ns[c] = b->lead_ns[c] = INT64_MIN;
}

/* ---- edges ---- */

static struct tp_breakdown_edge now_is(const struct tp_breakdown *b)
{
	struct tp_breakdown_edge edge = {.at_ns = b->now_ns};

	memcpy(edge.ns, b->sum_ns, sizeof(edge.ns));
	return edge;
}

static struct tp_breakdown_edge *edge_of(struct tp_breakdown *b, uint32_t step, enum which which)
{
	struct tp_step_edges *edges = &b->edges[step];

	return which == EDGE_END ? &edges->end : which == EDGE_LEAD ? &edges->lead : &edges->work;
}

static void expect(struct tp_breakdown *b, uint32_t step, enum which which, int64_t at_ns)
{
	if (b->n_ahead == AHEAD_MOST)
		return;
	if (!tp_grow(&b->ahead, &b->cap_ahead, (uint64_t)b->n_ahead + 1, sizeof(*b->ahead))) {
		b->is_incomplete = true;
		return;
	}
	b->ahead[b->n_ahead++] =
	    (struct tp_breakdown_ahead){.at_ns = at_ns, .step = step, .which = (uint8_t)which};
}

/* The first edge behind now, but not behind `to`. */
static int64_t next_edge(const struct tp_breakdown *b, int64_t to)
{
	for (uint32_t i = 0; i < b->n_ahead; i++)
		if (b->ahead[i].at_ns < to)
			to = b->ahead[i].at_ns;
	return to;
}

/* The sweep stands on edges: they become known. Of a kind the latest counts. */
static void take_edges(struct tp_breakdown *b)
{
	for (uint32_t i = 0; i < b->n_ahead;) {
		struct tp_breakdown_ahead ahead = b->ahead[i];

		if (ahead.at_ns > b->now_ns) {
			i++;
			continue;
		}
		*edge_of(b, ahead.step, ahead.which) = now_is(b);
		b->ahead[i] = b->ahead[--b->n_ahead];
		if (ahead.which == EDGE_END && ahead.step + 1 == b->n_steps)
			b->is_in_step = false;
	}
}

/* ---- the sweep ---- */

/* Moves the present to `to`, which is not behind it, giving the time to categories. */
static void advance(struct tp_breakdown *b, int64_t to)
{
	/* Before the first step nothing is asked about. */
	if (!b->n_steps) {
		if (to > b->now_ns)
			b->now_ns = to;
		return;
	}
	while (b->now_ns < to) {
		int64_t edge_ns = next_edge(b, to);

		while (b->now_ns < edge_ns) {
			int64_t until = edge_ns;
			uint32_t category = 0;

			while (category < TP_CAT_OTHER && b->reach_ns[category] <= b->now_ns)
				category++;
			if (category < TP_CAT_OTHER && b->reach_ns[category] < until)
				until = b->reach_ns[category];
			b->sum_ns[category] += until - b->now_ns;
			b->now_ns = until;
		}
		take_edges(b);
	}
}

/* Steps of one process follow each other. One that begins inside another (a damaged file)
 * ends it. */
static void cut_step(struct tp_breakdown *b)
{
	uint32_t last = b->n_steps - 1, n = 0;

	for (uint32_t i = 0; i < b->n_ahead; i++)
		if (b->ahead[i].step != last || b->ahead[i].which != EDGE_END)
			b->ahead[n++] = b->ahead[i];
	b->n_ahead = n;
	b->edges[last].end = now_is(b);
	b->step[last].end_ns = b->now_ns;
	b->is_in_step = false;
}

void tp_breakdown_step(struct tp_breakdown *b, uint64_t index, int64_t begin_ns,
		       int64_t end_ns)
{
	struct tp_step_edges *edges;
	uint32_t at = b->n_steps;

	advance(b, begin_ns);
	if (b->is_in_step)
		cut_step(b);
	if (begin_ns < b->now_ns)
		begin_ns = b->now_ns;
	if (end_ns < begin_ns)
		end_ns = begin_ns;
	if (!tp_grow(&b->step, &b->cap_steps, (uint64_t)at + 1, sizeof(*b->step)) ||
	    !tp_grow(&b->edges, &b->cap_edges, (uint64_t)at + 1, sizeof(*b->edges))) {
		b->is_incomplete = true;
		return;
	}
	b->step[at] = (struct tp_step_time){
	    .index = index, .begin_ns = begin_ns, .end_ns = end_ns};
	edges = &b->edges[at];
	memset(edges, 0, sizeof(*edges));
	edges->begin = edges->end = now_is(b);
	edges->lead.at_ns = edges->work.at_ns = INT64_MIN;
	b->n_steps++;
	if (!at || b->step[at - 1].index + 1 != index) {
		b->first = at;
		for (uint32_t c = 0; c < TP_CAT_OTHER; c++)
			if (b->lead_ns[c] > begin_ns)
				expect(b, at, EDGE_LEAD, b->lead_ns[c]);
	}
	b->is_in_step = end_ns > begin_ns;
	if (b->is_in_step)
		expect(b, at, EDGE_END, end_ns);
}

void tp_breakdown_span(struct tp_breakdown *b, enum tp_category category, int64_t begin_ns,
		       int64_t end_ns)
{
	advance(b, begin_ns);
	if (end_ns > b->reach_ns[category])
		b->reach_ns[category] = end_ns;
}

/* The step in which the program was then; n_steps: none. */
static uint32_t find_step(const struct tp_breakdown *b, int64_t at_ns)
{
	uint32_t low = 0, high = b->n_steps;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (b->step[middle].begin_ns <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low && at_ns < b->step[low - 1].end_ns ? low - 1 : b->n_steps;
}

/* Work that no step asked for: from before the window, if anything. */
static void take_lead(struct tp_breakdown *b, enum tp_category category, int64_t end_ns)
{
	if (end_ns > b->lead_ns[category])
		b->lead_ns[category] = end_ns;
	if (b->n_steps && !b->edges[b->first].has_work &&
	    end_ns > b->edges[b->first].begin.at_ns)
		expect(b, b->first, EDGE_LEAD, end_ns);
}

void tp_breakdown_work(struct tp_breakdown *b, enum tp_category category, int64_t begin_ns,
		       int64_t end_ns, int64_t called_ns)
{
	uint32_t step = find_step(b, called_ns), n = 0;

	tp_breakdown_span(b, category, begin_ns, end_ns);
	if (step == b->n_steps) {
		take_lead(b, category, end_ns);
		return;
	}
	if (!b->edges[step].has_work) {
		/* Work from before that has not ended yet runs beside its own. */
		b->edges[step].has_work = true;
		for (uint32_t i = 0; i < b->n_ahead; i++)
			if (b->ahead[i].which != EDGE_LEAD || b->ahead[i].step != step)
				b->ahead[n++] = b->ahead[i];
		b->n_ahead = n;
	}
	for (uint32_t i = 0; i < b->n_ahead; i++) {
		if (b->ahead[i].which != EDGE_WORK || b->ahead[i].step != step)
			continue;
		if (end_ns > b->ahead[i].at_ns)
			b->ahead[i].at_ns = end_ns;
		return;
	}
	if (end_ns > b->edges[step].work.at_ns)
		expect(b, step, EDGE_WORK, end_ns);
}

static bool has_work(const struct tp_breakdown *b)
{
	for (uint32_t i = 0; i < b->n_steps; i++)
		if (b->edges[i].has_work)
			return true;
	return false;
}

void tp_breakdown_end(struct tp_breakdown *b)
{
	const struct tp_breakdown_edge *begin, *end = NULL;
	bool is_of_device = has_work(b);
	int64_t last = b->now_ns;

	for (uint32_t i = 0; i < b->n_ahead; i++)
		if (b->ahead[i].at_ns > last)
			last = b->ahead[i].at_ns;
	advance(b, last);
	for (uint32_t i = 0; i < b->n_steps; i++) {
		const struct tp_step_edges *edges = &b->edges[i];
		struct tp_step_time *step = &b->step[i];

		begin = &edges->begin;
		if (is_of_device && end && end->at_ns > begin->at_ns)
			begin = end;
		if (is_of_device && edges->has_work && edges->lead.at_ns > begin->at_ns)
			begin = &edges->lead;
		end = edges->end.at_ns > begin->at_ns ? &edges->end : begin;
		if (edges->work.at_ns > end->at_ns)
			end = &edges->work;
		step->begin_ns = begin->at_ns;
		step->end_ns = end->at_ns;
		for (uint32_t c = 0; c < TP_CAT_N; c++)
			step->ns[c] = end->ns[c] - begin->ns[c];
	}
	b->is_in_step = false;
}

void tp_breakdown_free(struct tp_breakdown *b)
{
	free(b->step);
	free(b->edges);
	free(b->ahead);
	memset(b, 0, sizeof(*b));
}

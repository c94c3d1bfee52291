/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_late.c - the time in which others waited for one rank: see comm_late.h
 */
#include "merge/facts/comm/comm_late.h"

#include <stdlib.h>

#include "merge/kit/grow.h"
#include "merge/kit/sum.h"

void tp_comm_late_wait(struct tp_comm_late *late, uint32_t group, int64_t begin_ns, int64_t last_ns,
		       int64_t end_ns)
{
	uint32_t at = late->n_parts++ % TP_COMM_PARTS;

	late->part[at].time = (struct tp_comm_period){begin_ns, end_ns};
	late->part[at].group = group;
	/* Matched ones come in about the order of time: what lies before the last end is counted. */
	if (late->n_parts > 1 && begin_ns < late->wait_end_ns)
		begin_ns = late->wait_end_ns;
	if (begin_ns < last_ns) {
		late->wait_ns = tp_add(late->wait_ns, tp_sub(last_ns, begin_ns));
		late->wait_end_ns = last_ns;
	}
}

/* From `ns` on, where the rank is in no collective of another group; `*until` comes nearer where it then
 * is in one. */
static int64_t skip_parts(const struct tp_comm_late *late, uint32_t group, int64_t ns, int64_t *until)
{
	uint32_t n = late->n_parts < TP_COMM_PARTS ? late->n_parts : TP_COMM_PARTS;
	bool is_in = true;

	while (is_in) {
		is_in = false;
		for (uint32_t i = 0; i < n; i++) {
			struct tp_comm_period time = late->part[i].time;

			if (late->part[i].group == group || time.begin_ns > ns || time.end_ns <= ns)
				continue;
			ns = time.end_ns;
			is_in = true;
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		struct tp_comm_period time = late->part[i].time;

		if (late->part[i].group != group && time.begin_ns > ns && time.begin_ns < *until &&
		    time.end_ns > time.begin_ns)
			*until = time.begin_ns;
	}
	return ns;
}

int64_t tp_comm_late_add(struct tp_comm_late *late, uint32_t group, int64_t begin_ns, int64_t end_ns)
{
	int64_t sum = 0;

	while (begin_ns < end_ns) {
		int64_t until = end_ns;

		begin_ns = skip_parts(late, group, begin_ns, &until);
		if (begin_ns >= until)
			break;
		if (!tp_grow(&late->period, &late->cap, (uint64_t)late->n + 1, sizeof(*late->period)))
			return -1;
		late->period[late->n++] = (struct tp_comm_period){begin_ns, until};
		sum = tp_add(sum, tp_sub(until, begin_ns));
		begin_ns = until;
	}
	return sum;
}

static int compare_periods(const void *a, const void *b)
{
	const struct tp_comm_period *x = a, *y = b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* Periods into disjoint ones, in order. */
static void unite(struct tp_comm_late *late)
{
	uint32_t n = 0;

	if (!late->n)
		return;
	qsort(late->period, late->n, sizeof(*late->period), compare_periods);
	for (uint32_t i = 1; i < late->n; i++) {
		struct tp_comm_period *last = &late->period[n], next = late->period[i];

		if (next.begin_ns > last->end_ns)
			late->period[++n] = next;
		else if (next.end_ns > last->end_ns)
			last->end_ns = next.end_ns;
	}
	late->n = n + 1;
}

int64_t tp_comm_late_sum(struct tp_comm_late *late, const struct tp_step_time *step, uint32_t n_steps,
			 int64_t *step_ns)
{
	uint32_t at = 0;
	int64_t sum = 0;

	unite(late);
	for (uint32_t i = 0; i < late->n && !n_steps; i++)
		sum = tp_add(sum, tp_sub(late->period[i].end_ns, late->period[i].begin_ns));
	for (uint32_t s = 0; s < n_steps; s++) {
		step_ns[s] = 0;
		while (at < late->n && late->period[at].end_ns <= step[s].begin_ns)
			at++;
		for (uint32_t i = at; i < late->n && late->period[i].begin_ns < step[s].end_ns; i++) {
			struct tp_comm_period in = late->period[i];

			if (in.begin_ns < step[s].begin_ns)
				in.begin_ns = step[s].begin_ns;
			if (in.end_ns > step[s].end_ns)
				in.end_ns = step[s].end_ns;
			step_ns[s] = tp_add(step_ns[s], tp_sub(in.end_ns, in.begin_ns));
		}
		sum = tp_add(sum, step_ns[s]);
	}
	return sum;
}

void tp_comm_late_free(struct tp_comm_late *late)
{
	free(late->period);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch_times.c - calls that gave work to devices, by their name
 */
#include "merge/facts/time/launch_times.h"

#include "merge/kit/need.h"
#include "merge/kit/sum.h"

static void take_launched(void *state, const struct tp_event *work, struct tp_launch_call *call)
{
	struct tp_launch_times *times = state;
	int64_t ns = tp_sub(work->end_ns, work->begin_ns);
	struct tp_launch_times_row *row;
	int64_t call_ns;
	uint32_t name;

	if (!call)
		return;
	call_ns = tp_sub(call->end_ns, call->begin_ns);
	name = tp_names_row(times->names, &(struct tp_event){.name = call->name});
	if (name == TP_NO_NAME)
		tp_need_failed();
	tp_need_room(&times->row, &times->cap_rows, (uint64_t)name + 1, sizeof(*times->row));
	row = &times->row[name];
	row->name = name;
	row->n_work++;
	row->n_shorter += ns < call_ns;
	row->work_ns = tp_add(row->work_ns, ns);
	if (call->n_work > 1)
		return;
	/* Work that begins inside its call waits for nothing. */
	if (!tp_spread_add(&row->call_ns, call_ns) ||
	    !tp_spread_add(&row->wait_ns, tp_sub(work->begin_ns, call->end_ns)))
		times->is_incomplete = true;
}

static void free_times(void *state)
{
	struct tp_launch_times *times = state;

	for (uint32_t i = 0; i < times->cap_rows; i++) {
		tp_spread_free(&times->row[i].call_ns);
		tp_spread_free(&times->row[i].wait_ns);
	}
	free(times->row);
	tp_names_free(times->names);
}

static void begin_times(void *state, struct tp_facts *facts, const void *params)
{
	struct tp_launch_times *times = state;

	times->names = tp_names_new();
	tp_launches_read(tp_facts_want(facts, &tp_fact_launches_cut, NULL), take_launched, NULL, times);
}

const struct tp_fact tp_fact_launch_times = {
	.name = "launch times",
	.bytes = sizeof(struct tp_launch_times),
	.is_cut = true,
	.begin = begin_times,
	.free = free_times,
};

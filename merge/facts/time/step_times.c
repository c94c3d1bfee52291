/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_times.c - events into the times of each process's steps, by categories
 */
#include "merge/facts/time/step_times.h"

#include <stdlib.h>

#include "merge/facts/time/gpu_time.h"
#include "merge/kit/need.h"
#include "merge/model/device.h"

struct tp_step_times {
	struct tp_names *names;
	struct tp_breakdown *breakdown;	/* by tp_proc.at */
	uint32_t n_procs;
	struct tp_launches *launches;
	bool is_incomplete;		/* a breakdown is */
};

enum tp_category tp_step_times_category(struct tp_names *names, const struct tp_event *event)
{
	uint32_t row;

	switch (event->kind) {
	case TP_REC_OP:
	case TP_REC_RANGE:
		row = tp_names_row(names, event);
		if (row == TP_NO_NAME)
			tp_need_failed();
		return tp_names_category(names, row, event);
	case TP_REC_CALL:
		return TP_CAT_RUNTIME;
	case TP_REC_COLL:
		/* Where devices are recorded, its kernel says when it ran. */
		return event->proc->n_devices ? TP_CAT_OTHER : TP_CAT_COMM;
	case TP_REC_MEMCPY:
		return TP_CAT_MEMCPY;
	case TP_REC_MEMSET:
		return TP_CAT_MEMSET;
	case TP_REC_KERNEL:
	case TP_REC_GRAPH:
		return tp_gpu_is_communication(event) ? TP_CAT_COMM : TP_CAT_KERNEL;
	default:
		return TP_CAT_OTHER;
	}
}

/* When work of a device was asked for; INT64_MIN: not known, or not yet: of work that seems to begin
 * before its call. That it lasts beyond its step is then not seen. */
static int64_t time_of_call(const struct tp_step_times *times, const struct tp_event *work)
{
	const struct tp_launch_call *call = tp_launches_find(times->launches, work);

	return call ? call->begin_ns : INT64_MIN;
}

static void take_event(void *state, const struct tp_event *event)
{
	struct tp_step_times *times = state;
	struct tp_breakdown *breakdown;
	enum tp_category category;

	if (event->proc->at >= times->n_procs)
		return;
	breakdown = &times->breakdown[event->proc->at];
	if (event->kind == TP_REC_STEP)
		tp_breakdown_step(breakdown, event->link, event->begin_ns, event->end_ns);
	category = tp_step_times_category(times->names, event);
	if (tp_device_is_work(event))
		tp_breakdown_work(breakdown, category, event->begin_ns, event->end_ns,
				  time_of_call(times, event));
	else if (category != TP_CAT_OTHER)
		tp_breakdown_span(breakdown, category, event->begin_ns, event->end_ns);
}

static void begin_times(void *state, struct tp_facts *facts, const void *params)
{
	struct tp_step_times *times = state;
	const struct tp_run *run = tp_facts_run(facts);

	times->n_procs = run->n_procs;
	times->names = tp_facts_want(facts, &tp_fact_names, NULL);
	times->launches = tp_facts_want(facts, &tp_fact_launches_cut, NULL);
	times->breakdown = tp_need(run->n_procs, sizeof(*times->breakdown));
	for (uint32_t i = 0; i < run->n_procs; i++)
		tp_breakdown_init(&times->breakdown[i]);
}

static void end_times(void *state)
{
	struct tp_step_times *times = state;

	for (uint32_t i = 0; i < times->n_procs; i++) {
		tp_breakdown_end(&times->breakdown[i]);
		times->is_incomplete |= times->breakdown[i].is_incomplete;
	}
}

static void free_times(void *state)
{
	struct tp_step_times *times = state;

	for (uint32_t i = 0; i < times->n_procs; i++)
		tp_breakdown_free(&times->breakdown[i]);
	free(times->breakdown);
}

const struct tp_fact tp_fact_step_times = {
	.name = "step times",
	.bytes = sizeof(struct tp_step_times),
	.kinds = TP_FACT_ALL_KINDS,
	.is_cut = true,
	.begin = begin_times,
	.event = take_event,
	.end = end_times,
	.free = free_times,
};

const struct tp_breakdown *tp_step_times_of(const struct tp_step_times *times,
					    const struct tp_proc *proc)
{
	return &times->breakdown[proc->at];
}

bool tp_step_times_is_incomplete(const struct tp_step_times *times)
{
	return times->is_incomplete;
}

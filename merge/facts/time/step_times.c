/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_times.c - events into the times of each process's steps, by categories
 */
#include "merge/facts/time/step_times.h"

#include <stdlib.h>

#include "merge/facts/time/gpu_time.h"

struct tp_step_times {
	struct tp_names *names;
	struct tp_breakdown *breakdown;	/* by tp_proc.at */
	uint32_t n_procs;
	struct tp_clip clip;
	tp_clip_fn each;
	tp_step_times_called_fn called;
	void *ctx;
	bool is_incomplete;
};

static enum tp_category category_of(struct tp_step_times *times, const struct tp_event *event)
{
	uint32_t row;

	switch (event->kind) {
	case TP_REC_OP:
	case TP_REC_RANGE:
		row = tp_names_row(times->names, event);
		if (row != TP_NO_NAME)
			return tp_names_category(times->names, row, event);
		times->is_incomplete = true;
		return TP_CAT_OTHER;
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

static void take_event(void *ctx, const struct tp_event *event)
{
	struct tp_step_times *times = ctx;
	struct tp_breakdown *breakdown;
	enum tp_category category;

	if (event->proc->at >= times->n_procs)
		return;
	breakdown = &times->breakdown[event->proc->at];
	if (event->kind == TP_REC_STEP)
		tp_breakdown_step(breakdown, event->link, event->begin_ns, event->end_ns);
	category = category_of(times, event);
	if (tp_gpu_is_work(event))
		tp_breakdown_work(breakdown, category, event->begin_ns, event->end_ns,
				  times->called(times->ctx, event));
	else if (category != TP_CAT_OTHER)
		tp_breakdown_span(breakdown, category, event->begin_ns, event->end_ns);
	times->each(times->ctx, event);
}

struct tp_step_times *tp_step_times_new(const struct tp_run *run, tp_clip_fn each,
					tp_step_times_called_fn called, void *ctx)
{
	struct tp_step_times *times = calloc(1, sizeof(*times));

	if (!times)
		return NULL;
	times->each = each;
	times->called = called;
	times->ctx = ctx;
	times->n_procs = run->n_procs;
	times->names = tp_names_new();
	times->breakdown = calloc(run->n_procs + 1, sizeof(*times->breakdown));
	tp_clip_init(&times->clip, run, take_event, times);
	if (!times->names || !times->breakdown) {
		tp_step_times_free(times);
		return NULL;
	}
	for (uint32_t i = 0; i < run->n_procs; i++)
		tp_breakdown_init(&times->breakdown[i]);
	return times;
}

void tp_step_times_free(struct tp_step_times *times)
{
	if (!times)
		return;
	for (uint32_t i = 0; times->breakdown && i < times->n_procs; i++)
		tp_breakdown_free(&times->breakdown[i]);
	tp_names_free(times->names);
	free(times->breakdown);
	free(times);
}

void tp_step_times_event(struct tp_step_times *times, const struct tp_event *event)
{
	tp_clip_event(&times->clip, event);
}

bool tp_step_times_end(struct tp_step_times *times)
{
	tp_clip_end(&times->clip);
	for (uint32_t i = 0; i < times->n_procs; i++) {
		tp_breakdown_end(&times->breakdown[i]);
		times->is_incomplete |= times->breakdown[i].is_incomplete;
	}
	return !times->is_incomplete;
}

const struct tp_breakdown *tp_step_times_of(const struct tp_step_times *times,
					    const struct tp_proc *proc)
{
	return &times->breakdown[proc->at];
}

struct tp_names *tp_step_times_names(struct tp_step_times *times)
{
	return times->names;
}

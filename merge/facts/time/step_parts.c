/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_parts.c - the parts of a step as a training has them
 */
#include "merge/facts/time/step_parts.h"

#include <stdlib.h>

#include "merge/facts/time/gpu_time.h"
#include "merge/facts/time/launches.h"
#include "merge/facts/time/memplace.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"

struct tp_step_parts {
	struct tp_memplace *places;
	struct tp_launches *launches;
	struct tp_launch_notes part_of;	/* of calls, plus one; 0: outside steps */
	struct tp_breakdown *breakdown;	/* by tp_proc.at; its categories are parts */
	uint32_t n_procs;
	int64_t host_ns[TP_PARTS], device_ns[TP_PARTS];
	bool is_incomplete;
};

const char *tp_part_name(enum tp_part part)
{
	static const char *const names[TP_PARTS] = {
	    [TP_PART_DATA] = "data",	       [TP_PART_OPTIMIZER] = "optimizer",
	    [TP_PART_BACKWARD] = "backward",   [TP_PART_FORWARD] = "forward",
	    [TP_PART_OPERATORS] = "other operators", [TP_PART_NONE] = "between operators",
	};

	return names[part];
}

/* What the event's thread does at its time. */
static enum tp_part find_part(struct tp_step_parts *parts, const struct tp_event *event)
{
	struct tp_place place = tp_memplace_find(parts->places, event);

	switch (place.born) {
	case TP_BORN_LOADER:
		return TP_PART_DATA;
	case TP_BORN_OPTIMIZER:
	case TP_BORN_ZERO_GRAD:
		return TP_PART_OPTIMIZER;
	case TP_BORN_BACKWARD:
		return TP_PART_BACKWARD;
	case TP_BORN_FORWARD:
		return TP_PART_FORWARD;
	default:
		return place.name != TP_NO_NAME ? TP_PART_OPERATORS : TP_PART_NONE;
	}
}

static void take_span(struct tp_step_parts *parts, const struct tp_event *event)
{
	struct tp_memplace_span span = tp_memplace_begin(parts->places, event);
	enum tp_part part;

	if (span.is_lost) {
		parts->is_incomplete |= !(event->flags & TP_F_ASYNC);
		return;
	}
	part = find_part(parts, event);
	/* A range around operators is none; loaders and optimizers are ranges. */
	if (part == TP_PART_NONE || (event->kind == TP_REC_RANGE && part > TP_PART_OPTIMIZER))
		return;
	tp_breakdown_span(&parts->breakdown[event->proc->at], (enum tp_category)part,
			  event->begin_ns, event->end_ns);
}

static void take_launched(void *ctx, const struct tp_event *event, struct tp_launch_call *call)
{
	struct tp_step_parts *parts = ctx;
	uint32_t part = tp_launch_noted(&parts->part_of, call);
	int64_t *ns;

	if (!part)
		return;
	ns = &parts->device_ns[part - 1];
	*ns = tp_add(*ns, tp_sub(event->end_ns, event->begin_ns));
}

static void take_call(struct tp_step_parts *parts, const struct tp_event *event)
{
	const struct tp_breakdown *breakdown = &parts->breakdown[event->proc->at];
	const struct tp_step_time *step = breakdown->n_steps ?
		&breakdown->step[breakdown->n_steps - 1] : NULL;

	if (step && event->begin_ns < step->end_ns)
		tp_launch_note(&parts->part_of, event, find_part(parts, event) + 1);
}

static void take_event(void *state, const struct tp_event *event)
{
	struct tp_step_parts *parts = state;

	if (event->kind == TP_REC_STEP)
		tp_breakdown_step(&parts->breakdown[event->proc->at], event->link, event->begin_ns,
				  event->end_ns);
	else if (event->kind == TP_REC_CALL)
		take_call(parts, event);
	else
		take_span(parts, event);
}

static void begin_parts(void *state, struct tp_facts *facts, const void *params)
{
	struct tp_step_parts *parts = state;

	parts->n_procs = tp_facts_run(facts)->n_procs;
	parts->places = tp_memplace_new();
	parts->launches = tp_facts_want(facts, &tp_fact_launches_cut, NULL);
	parts->part_of = tp_launches_notes(parts->launches);
	parts->breakdown = tp_need(parts->n_procs, sizeof(*parts->breakdown));
	for (uint32_t i = 0; i < parts->n_procs; i++)
		tp_breakdown_init(&parts->breakdown[i]);
	tp_launches_read(parts->launches, take_launched, NULL, parts);
}

static void end_parts(void *state)
{
	struct tp_step_parts *parts = state;

	for (uint32_t p = 0; p < parts->n_procs; p++) {
		struct tp_breakdown *breakdown = &parts->breakdown[p];

		tp_breakdown_end(breakdown);
		parts->is_incomplete |= breakdown->is_incomplete;
		for (uint32_t i = 0; i < breakdown->n_steps; i++)
			for (uint32_t c = 0; c < TP_PARTS; c++)
				parts->host_ns[c] = tp_add(parts->host_ns[c], breakdown->step[i].ns[c]);
	}
}

static void free_parts(void *state)
{
	struct tp_step_parts *parts = state;

	for (uint32_t i = 0; i < parts->n_procs; i++)
		tp_breakdown_free(&parts->breakdown[i]);
	tp_memplace_free(parts->places);
	free(parts->breakdown);
}

const struct tp_fact tp_fact_step_parts = {
	.name = "step parts",
	.bytes = sizeof(struct tp_step_parts),
	.kinds = TP_FACT_KIND(TP_REC_STEP) | TP_FACT_KIND(TP_REC_OP) | TP_FACT_KIND(TP_REC_RANGE) |
		 TP_FACT_KIND(TP_REC_CALL),
	.is_cut = true,
	.begin = begin_parts,
	.event = take_event,
	.end = end_parts,
	.free = free_parts,
};

int64_t tp_step_parts_host_ns(const struct tp_step_parts *parts, enum tp_part part)
{
	return parts->host_ns[part];
}

int64_t tp_step_parts_device_ns(const struct tp_step_parts *parts, enum tp_part part)
{
	return parts->device_ns[part];
}

bool tp_step_parts_is_incomplete(const struct tp_step_parts *parts)
{
	return parts->is_incomplete;
}

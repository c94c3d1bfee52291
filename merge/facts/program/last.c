/* SPDX-License-Identifier: Apache-2.0 */
/*
 * last.c - the operator that ended last in each dead process: of nested ones the outermost ends last
 */
#include "merge/facts/program/last.h"

#include <stdlib.h>
#include <string.h>

#include "merge/facts/origin/hostmem_frames.h"
#include "merge/facts/origin/module_origin.h"
#include "merge/kit/need.h"

enum { LINE_MAX_BYTES = 400 };

struct state {
	struct tp_last *last;	/* first: what readers see */
	uint32_t *stack;	/* where each was called from */
	struct tp_origins *origins;
	uint32_t n;
};

static void begin_last(void *opaque, struct tp_facts *facts, const void *params)
{
	struct state *state = opaque;

	state->n = tp_facts_run(facts)->n_procs;
	state->last = tp_need(state->n + 1, sizeof(*state->last));
	state->stack = tp_need(state->n + 1, sizeof(*state->stack));
	state->origins = tp_facts_want(facts, &tp_fact_origins, NULL);
	for (uint32_t i = 0; i < state->n; i++)
		state->last[i].end_ns = state->last[i].seen_ns = INT64_MIN;
}

static void take_event(void *opaque, const struct tp_event *event)
{
	struct state *state = opaque;
	struct tp_last *last;

	if (!event->proc->is_dead || event->proc->at >= state->n)
		return;
	last = &state->last[event->proc->at];
	if (event->end_ns > last->seen_ns)
		last->seen_ns = event->end_ns;
	if ((event->kind != TP_REC_OP && event->kind != TP_REC_RANGE) || event->end_ns < last->end_ns)
		return;
	last->end_ns = event->end_ns;
	last->name = event->name;
	state->stack[event->proc->at] = tp_origins_of(state->origins, event).stack;
}

static void end_last(void *opaque)
{
	struct state *state = opaque;
	struct tp_stacks *stacks = tp_origins_stacks(state->origins);
	uint8_t *wanted = tp_need(tp_stacks_count(stacks) + 1, 1);
	char line[LINE_MAX_BYTES];

	for (uint32_t i = 0; i < state->n; i++)
		wanted[state->stack[i]] = 1;
	if (!tp_stacks_resolve(stacks, wanted))
		for (uint32_t i = 0; i < state->n; i++)
			if (tp_hostmem_show_line(stacks, state->stack[i], TP_HOSTMEM_LONG, line,
						 sizeof(line)))
				state->last[i].line = strdup(line);
	free(wanted);
}

static void free_state(void *opaque)
{
	struct state *state = opaque;

	for (uint32_t i = 0; i < state->n; i++)
		free(state->last[i].line);
	free(state->last);
	free(state->stack);
}

static const struct tp_fact fact = {
	.name = "last operators",
	.bytes = sizeof(struct state),
	.kinds = TP_FACT_ALL_KINDS,
	.begin = begin_last,
	.event = take_event,
	.end = end_last,
	.free = free_state,
};

const struct tp_last *tp_last_want(struct tp_facts *facts)
{
	return ((struct state *)tp_facts_want(facts, &fact, NULL))->last;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_now.c - which step of its process an event is of
 */
#include "merge/facts/program/step_now.h"

#include <stdlib.h>

#include "merge/kit/need.h"

/* The newest step of a process: what begins before its end is of it. */
struct step {
	int64_t index, end_ns;
};

struct tp_step_now {
	struct step *step;	/* by tp_proc.at */
};

static void begin_steps(void *state, struct tp_facts *facts, const void *params)
{
	struct tp_step_now *steps = state;
	uint32_t n = tp_facts_run(facts)->n_procs;

	steps->step = tp_need(n + 1, sizeof(*steps->step));
	for (uint32_t i = 0; i < n; i++)
		steps->step[i] = (struct step){-1, INT64_MIN};
}

static void take_step(void *state, const struct tp_event *event)
{
	struct tp_step_now *steps = state;

	steps->step[event->proc->at] = (struct step){event->link, event->end_ns};
}

static void free_steps(void *state)
{
	struct tp_step_now *steps = state;

	free(steps->step);
}

int64_t tp_step_now(const struct tp_step_now *steps, const struct tp_event *event)
{
	const struct step *step = &steps->step[event->proc->at];

	return event->begin_ns < step->end_ns ? step->index : -1;
}

#define STEP_NOW(is_cut_too)                                                                       \
	{                                                                                          \
		.name = "step now", .bytes = sizeof(struct tp_step_now),                           \
		.kinds = TP_FACT_KIND(TP_REC_STEP), .is_cut = is_cut_too, .begin = begin_steps,    \
		.event = take_step, .free = free_steps,                                            \
	}

const struct tp_fact tp_fact_step_now = STEP_NOW(false);
const struct tp_fact tp_fact_step_now_cut = STEP_NOW(true);

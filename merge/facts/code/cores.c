/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cores.c - the counters "core", one for each core that may be used; where there are many, only
 * "machine CPU"
 */
#include "merge/facts/code/cores.h"
#include "runtime/trace/counter_names.h"

#include <string.h>

struct state {
	struct tp_cores cores;	/* first: what readers see */
	struct tp_cores machine;
};

static void begin_cores(void *opaque, struct tp_facts *facts, const void *params)
{
}

static void add(struct tp_cores *to, const struct tp_event *event)
{
	double value = (double)event->arg;

	if (event->flags & TP_F_DOUBLE)
		memcpy(&value, &event->arg, sizeof(value));
	if (!(value >= 0 && value <= 100))
		return;
	to->percent_sum += value;
	to->n++;
}

static void take_event(void *opaque, const struct tp_event *event)
{
	struct state *state = opaque;

	/* The name ends at its first NUL; the unit is behind it. */
	if (!strcmp(event->name->bytes, TP_COUNTER_CORE))
		add(&state->cores, event);
	else if (!strcmp(event->name->bytes, TP_COUNTER_MACHINE_CPU))
		add(&state->machine, event);
}

static void end_cores(void *opaque)
{
	struct state *state = opaque;

	if (!state->cores.n)
		state->cores = state->machine;
}

static const struct tp_fact fact = {
	.name = "cores",
	.bytes = sizeof(struct state),
	.kinds = TP_FACT_KIND(TP_REC_COUNTER),
	.begin = begin_cores,
	.event = take_event,
	.end = end_cores,
};

const struct tp_cores *tp_cores_want(struct tp_facts *facts)
{
	struct state *state = tp_facts_want(facts, &fact, NULL);

	return &state->cores;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_told.c - tables of single moments: samples of Python stacks, and counters
 */
#include <string.h>

#include "merge/arrow/raw.h"
#include "merge/facts/origin/stacks.h"
#include "merge/facts/program/step_now.h"

struct state {
	struct tp_raw_rows *rows;
	struct tp_step_now *steps;
	struct tp_stacks *stacks;
};

static void begin_told(struct state *state, struct tp_facts *facts, const void *params)
{
	state->rows = ((const struct tp_raw_to *)params)->rows;
	state->steps = tp_facts_want(facts, &tp_fact_step_now, NULL);
}

static int64_t step_of(const struct state *state, const struct tp_event *event)
{
	int64_t step = tp_step_now(state->steps, event);

	return step >= 0 ? step : TP_RAW_NONE;
}

/* ---- samples ---- */

struct sample {
	int64_t process_at, rank, pid, tid, window, at_ns, period_ns, step, stack;
	const char *state;
};

static const struct tp_raw_column sample_columns[] = {
	TP_RAW(struct sample, process_at, TP_UNIT_NUMBER, "of the table processes"),
	TP_RAW(struct sample, rank, TP_UNIT_NUMBER, "rank in the job"),
	TP_RAW(struct sample, pid, TP_UNIT_NUMBER, "process id"),
	TP_RAW(struct sample, tid, TP_UNIT_NUMBER, "id of the thread that was sampled"),
	TP_RAW(struct sample, window, TP_UNIT_NUMBER, "window that recorded it"),
	TP_RAW(struct sample, at_ns, TP_UNIT_NS, "when, on the run's one clock"),
	TP_RAW(struct sample, period_ns, TP_UNIT_NS, "what it stands for: the time since the one before"),
	TP_RAW(struct sample, step, TP_UNIT_NUMBER, "step of the run; none: between steps"),
	TP_RAW_NAME(struct sample, state, "running or waiting; none: not known"),
	TP_RAW(struct sample, stack, TP_UNIT_NUMBER, "of the table stacks; none: not known"),
	{.field = NULL},
};

static void begin_samples(void *opaque, struct tp_facts *facts, const void *params)
{
	struct state *state = opaque;

	begin_told(state, facts, params);
	state->stacks = tp_facts_want(facts, &tp_fact_stacks, NULL);
}

static void take_sample(void *opaque, const struct tp_event *event)
{
	struct state *state = opaque;
	uint32_t stack = tp_stacks_of(state->stacks, event);

	tp_raw_rows_put(state->rows, &(struct sample){
		.process_at = event->proc->at, .rank = tp_raw_rank(event->proc), .pid = event->proc->pid,
		.tid = TP_SAMPLE_TID(event->arg), .window = event->window, .at_ns = event->begin_ns,
		.period_ns = (int64_t)event->len, .step = step_of(state, event),
		.state = !(event->flags & TP_SAMPLE_STATE)     ? NULL
			 : TP_SAMPLE_WAITS_IN(event->arg) ? "waiting"
							  : "running",
		.stack = stack ? stack : TP_RAW_NONE,
	});
}

static const struct tp_fact fact_samples = {
	.name = "rows of samples", .bytes = sizeof(struct state), .params_bytes = sizeof(struct tp_raw_to),
	.kinds = TP_FACT_KIND(TP_REC_SAMPLE), .begin = begin_samples, .event = take_sample,
};

const struct tp_raw tp_raw_samples = {
	.name = "samples", .help = "samples of Python stacks, where they were recorded",
	.column = sample_columns, .fact = &fact_samples,
};

/* ---- counters ---- */

struct counter {
	int64_t process_at, rank, pid, window, at_ns, step, instance;
	const char *name, *unit, *group;
	double value;
};

static const struct tp_raw_column counter_columns[] = {
	TP_RAW(struct counter, process_at, TP_UNIT_NUMBER, "of the table processes"),
	TP_RAW(struct counter, rank, TP_UNIT_NUMBER, "rank in the job"),
	TP_RAW(struct counter, pid, TP_UNIT_NUMBER, "process id"),
	TP_RAW(struct counter, window, TP_UNIT_NUMBER, "window that recorded it"),
	TP_RAW(struct counter, at_ns, TP_UNIT_NS, "when, on the run's one clock"),
	TP_RAW(struct counter, step, TP_UNIT_NUMBER, "step of the run; none: between steps"),
	TP_RAW_NAME(struct counter, name, "what is counted"),
	TP_RAW_NAME(struct counter, group, "what it belongs to"),
	TP_RAW(struct counter, instance, TP_UNIT_NUMBER, "of what there are several: the number of the device or core"),
	TP_RAW_NAME(struct counter, unit, "unit of its value"),
	TP_RAW(struct counter, value, TP_UNIT_REAL, "its value then"),
	{.field = NULL},
};

static void begin_counters(void *opaque, struct tp_facts *facts, const void *params)
{
	begin_told(opaque, facts, params);
}

/* The text behind the one at `at`; "" where there is none. */
static const char *text_behind(const struct tp_string *string, const char *at)
{
	const char *next = at + strlen(at) + 1;

	return next < string->bytes + string->n_bytes ? next : "";
}

static void take_counter(void *opaque, const struct tp_event *event)
{
	struct state *state = opaque;
	const char *name = event->name->kind == TP_STRING_COUNTER ? event->name->bytes : NULL;
	const char *unit = name ? text_behind(event->name, name) : NULL;
	double value = (double)(int64_t)event->arg;

	if (event->flags & TP_F_DOUBLE)
		memcpy(&value, &event->arg, sizeof(value));
	tp_raw_rows_put(state->rows, &(struct counter){
		.process_at = event->proc->at, .rank = tp_raw_rank(event->proc), .pid = event->proc->pid,
		.window = event->window, .at_ns = event->begin_ns, .step = step_of(state, event),
		.name = name, .unit = unit, .group = name && *unit ? text_behind(event->name, unit) : NULL,
		.instance = event->link, .value = value,
	});
}

static const struct tp_fact fact_counters = {
	.name = "rows of counters", .bytes = sizeof(struct state), .params_bytes = sizeof(struct tp_raw_to),
	.kinds = TP_FACT_KIND(TP_REC_COUNTER), .begin = begin_counters, .event = take_counter,
};

const struct tp_raw tp_raw_counters = {
	.name = "counters", .help = "counters of processes, hosts and devices, one value a row",
	.column = counter_columns, .fact = &fact_counters,
};

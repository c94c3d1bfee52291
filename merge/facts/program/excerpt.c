/* SPDX-License-Identifier: Apache-2.0 */
/*
 * excerpt.c - what happened in one step: which one, and what is kept of it
 *
 * Rows get their places at the end: a device's work and calls of modules come late.
 */
#include "merge/facts/program/excerpt_in.h"

#include <stdlib.h>
#include <string.h>

#include "merge/facts/time/habits.h"
#include "merge/facts/time/names.h"
#include "merge/kit/grow.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"
#include "merge/model/device.h"
#include "runtime/trace/kinds.h"

/* ---- which step ---- */

static void add_step(struct tp_excerpt *excerpt, const struct tp_step_row *row, uint32_t n_of)
{
	excerpt->step[excerpt->n_steps++] = (struct tp_excerpt_step){
		.proc = row->proc, .index = row->index, .is_step = true, .n_of = n_of,
		.begin_ns = row->begin_ns, .end_ns = tp_add(row->begin_ns, row->dur_ns),
	};
}

static void choose(struct tp_excerpt *excerpt, const char *steps)
{
	const struct tp_run *run = excerpt->run;
	const struct tp_step_row *slowest = NULL;
	uint32_t n = 0;

	for (uint32_t i = 0; i < run->n_steps; i++) {
		const struct tp_step_row *row = &run->step[i];

		if (!tp_step_has_timeline(run, row, steps))
			continue;
		n++;
		if (!slowest || tp_step_compare_slow(&row, &slowest) < 0)
			slowest = row;
	}
	excerpt->is_first = !slowest;
	if (!slowest)
		return;
	add_step(excerpt, slowest, n);
	for (uint32_t i = 0; run->is_selection && i < run->n_steps; i++) {
		const struct tp_step_row *row = &run->step[i];

		if (row->index == slowest->index && row->proc != slowest->proc &&
		    excerpt->n_steps < TP_EXCERPT_STEPS && tp_step_has_timeline(run, row, NULL))
			add_step(excerpt, row, 0);
	}
}

/* Until a step comes, all that its process does. */
static void take_first(struct tp_excerpt *excerpt, const struct tp_event *event)
{
	if (!excerpt->n_steps) {
		if (event->kind != TP_REC_OP && event->kind != TP_REC_RANGE &&
		    event->kind != TP_REC_STEP && event->kind != TP_REC_CALL)
			return;
		excerpt->step[excerpt->n_steps++] = (struct tp_excerpt_step){
			.proc = event->proc, .begin_ns = event->begin_ns, .end_ns = INT64_MAX,
		};
	}
	if (event->proc != excerpt->step[0].proc || event->kind != TP_REC_STEP)
		return;
	excerpt->step[0].is_step = true;
	excerpt->step[0].index = event->link;
	excerpt->step[0].begin_ns = event->begin_ns;
	excerpt->step[0].end_ns = event->end_ns > event->begin_ns ? event->end_ns : event->begin_ns;
	excerpt->is_first = false;
}

/* The step of its process that it may be part of. */
static struct tp_excerpt_step *step_of(struct tp_excerpt *excerpt, const struct tp_proc *proc)
{
	for (uint32_t i = 0; i < excerpt->n_steps; i++)
		if (excerpt->step[i].proc == proc)
			return &excerpt->step[i];
	return NULL;
}

/* ---- rows ---- */

/* NULL: too many, or out of memory. */
static struct tp_excerpt_row *add_row(struct tp_excerpt *excerpt,
				      const struct tp_excerpt_step *step,
				      const struct tp_event *event)
{
	struct tp_excerpt_row *row;

	if (excerpt->n_rows == TP_EXCERPT_MOST ||
	    !tp_grow(&excerpt->row, &excerpt->cap_rows, (uint64_t)excerpt->n_rows + 1,
		     sizeof(*row))) {
		excerpt->n_left_out++;
		return NULL;
	}
	row = &excerpt->row[excerpt->n_rows];
	*row = (struct tp_excerpt_row){
		.thread = event->thread, .name = event->name, .shapes = event->shapes,
		.begin_ns = event->begin_ns, .delay_ns = -1,
		.end_ns = event->end_ns > event->begin_ns ? event->end_ns : event->begin_ns,
		.outer = TP_EXCERPT_NONE, .id = excerpt->n_rows, .kind = event->kind,
		.flags = event->flags, .step = (uint8_t)(step - excerpt->step),
		.lane = (uint8_t)tp_step_lane_of(event),
	};
	if (row->lane == TP_LANE_QUEUE)
		row->queue = event->queue;
	excerpt->n_rows++;
	return row;
}

static void take_span(struct tp_excerpt *excerpt, const struct tp_excerpt_step *step,
		      const struct tp_event *event)
{
	struct tp_origins *origins = tp_module_times_origins(excerpt->modules);
	struct tp_excerpt_row *row = add_row(excerpt, step, event);
	struct tp_origin origin;

	if (!row || row->lane != TP_LANE_THREAD || !tp_origins_has_any(origins))
		return;
	origin = tp_origins_of(origins, event);
	row->stack = origin.stack;
	row->path = origin.path;
	row->is_backward = origin.is_backward;
}

static void take_call(struct tp_excerpt *excerpt, const struct tp_excerpt_step *step,
		      const struct tp_event *event)
{
	struct tp_excerpt_row *row = tp_excerpt_is_in(step, event->begin_ns, event->end_ns) ?
					     add_row(excerpt, step, event) : NULL;
	const uint32_t noted = row ? row->id + 1 : 0;

	if (row)
		row->correlation = event->link;
	/* Work that waited for it becomes rows: where they lie may change. */
	tp_facts_event(excerpt->facts, event);
	if (noted)
		tp_launch_note(&excerpt->row_of, event, noted);
}

/* Work belongs to the step that it runs in, and to the one that started it. */
static void take_work(void *ctx, const struct tp_event *event, struct tp_launch_call *call)
{
	struct tp_excerpt *excerpt = ctx;
	const struct tp_excerpt_step *step = step_of(excerpt, event->proc);
	uint32_t noted = tp_launch_noted(&excerpt->row_of, call);
	struct tp_excerpt_row *row;

	if (!step ||
	    (!noted && !tp_excerpt_is_in(step, event->begin_ns, event->end_ns)))
		return;
	row = add_row(excerpt, step, event);
	if (!row)
		return;
	row->correlation = event->link;
	if (!call)
		return;
	if (event->kind != TP_REC_SYNC)
		row->delay_ns = tp_sub(event->begin_ns, call->begin_ns);
	row->outer = noted ? noted - 1 : TP_EXCERPT_NONE;
}

static void take_module(void *ctx, const struct tp_module_call *call)
{
	struct tp_excerpt *excerpt = ctx;
	const struct tp_excerpt_step *step = step_of(excerpt, call->proc);
	struct tp_event event = {
		.proc = call->proc, .thread = call->thread, .kind = TP_REC_NNMODULE,
		.begin_ns = call->begin_ns, .end_ns = call->end_ns,
	};
	struct tp_excerpt_row *row;

	if (!step || !tp_excerpt_is_in(step, call->begin_ns, call->end_ns))
		return;
	row = add_row(excerpt, step, &event);
	if (row)
		row->path = call->path;
}

static void take_event(void *state, const struct tp_event *event)
{
	struct tp_excerpt *excerpt = state;
	const struct tp_excerpt_step *step;
	bool is_here;

	if (excerpt->is_first)
		take_first(excerpt, event);
	step = step_of(excerpt, event->proc);
	if (!step && excerpt->n_steps)
		return;
	/* What a thread is in was told before the step. */
	if (tp_kind_is_stack(event->kind))
		tp_facts_event(excerpt->facts, event);
	if (!step || !tp_step_draws(event))
		return;
	is_here = tp_excerpt_is_in(step, event->begin_ns, event->end_ns);
	switch (event->kind) {
	case TP_REC_OP:
	case TP_REC_RANGE:
		if (!is_here)
			break;
		if (tp_origins_has_any(tp_module_times_origins(excerpt->modules)))
			tp_facts_event(excerpt->facts, event);
		take_span(excerpt, step, event);
		break;
	case TP_REC_COLL:
	case TP_REC_XFER:
	case TP_REC_OVERHEAD:
		if (is_here)
			add_row(excerpt, step, event);
		break;
	case TP_REC_CALL:
		if (event->begin_ns < step->end_ns &&
		    tp_sub(step->begin_ns, event->end_ns) < TP_LAUNCHES_KEPT_NS)
			take_call(excerpt, step, event);
		break;
	case TP_REC_SYNC:
		if (is_here)
			take_work(excerpt, event, tp_launches_find(excerpt->launches, event));
		break;
	default:
		if (event->end_ns > step->begin_ns &&
		    tp_sub(event->begin_ns, step->end_ns) < TP_LAUNCHES_KEPT_NS)
			tp_facts_event(excerpt->facts, event);
		break;
	}
}

/* ---- begin and end ---- */

static void end_excerpt(void *state)
{
	struct tp_excerpt *excerpt = state;

	tp_facts_end(excerpt->facts);
	tp_excerpt_order(excerpt);
}

static void begin_excerpt(void *state, struct tp_facts *facts, const void *params)
{
	struct tp_excerpt *excerpt = state;

	excerpt->run = tp_facts_run(facts);
	/* Of its own: they see little of the run. */
	excerpt->facts = tp_facts_new(excerpt->run);
	excerpt->launches = tp_facts_want(excerpt->facts, &tp_fact_launches, NULL);
	excerpt->row_of = tp_launches_notes(excerpt->launches);
	excerpt->modules = tp_facts_want(excerpt->facts, &tp_fact_module_times, NULL);
	tp_launches_read(excerpt->launches, take_work, NULL, excerpt);
	tp_module_times_read(excerpt->modules, take_module, excerpt);
	choose(excerpt, *(const char *const *)params);
}

static void free_excerpt(void *state)
{
	struct tp_excerpt *excerpt = state;

	tp_facts_free(excerpt->facts);
	free(excerpt->row);
}

static const struct tp_fact fact_excerpt = {
	.name = "excerpt",
	.bytes = sizeof(struct tp_excerpt),
	.params_bytes = sizeof(const char *),
	.kinds = TP_FACT_ALL_KINDS,
	.begin = begin_excerpt,
	.event = take_event,
	.end = end_excerpt,
	.free = free_excerpt,
};

struct tp_excerpt *tp_excerpt_want(struct tp_facts *facts, const char *steps)
{
	return tp_facts_want(facts, &fact_excerpt, &steps);
}

uint32_t tp_excerpt_steps(const struct tp_excerpt *excerpt)
{
	return excerpt->n_steps;
}

const struct tp_excerpt_step *tp_excerpt_step(const struct tp_excerpt *excerpt, uint32_t i)
{
	return &excerpt->step[i];
}

const struct tp_excerpt_row *tp_excerpt_rows(const struct tp_excerpt *excerpt)
{
	return excerpt->row;
}

uint64_t tp_excerpt_left_out(const struct tp_excerpt *excerpt)
{
	return excerpt->n_left_out;
}

struct tp_origins *tp_excerpt_origins(const struct tp_excerpt *excerpt)
{
	return tp_module_times_origins(excerpt->modules);
}

/* ---- what it is ---- */

const char *tp_excerpt_category(const struct tp_excerpt_row *row)
{
	switch (row->kind) {
	case TP_REC_OP:
		return row->flags & TP_F_BACKWARD ? "backward" : "operator";
	case TP_REC_RANGE:
		return tp_name_is_loader(row->name) ? "data wait" : "range";
	case TP_REC_CALL:
		return row->flags & TP_F_DRIVER ? "driver" : "runtime";
	default:
		return tp_kind_text(row->kind);
	}
}

bool tp_excerpt_is_wait(const struct tp_excerpt_row *row)
{
	switch (row->kind) {
	case TP_REC_RANGE:
		return tp_name_is_loader(row->name);
	case TP_REC_CALL:
		return tp_habits_is_wait(row->name);
	default:
		return row->kind == TP_REC_SYNC || row->kind == TP_REC_COLL;
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operators.c - spans, memory and work on devices become rows of operators
 */
#include "merge/facts/program/operators.h"

#include <stdlib.h>

#include "merge/facts/tensor/memcurve.h"
#include "merge/facts/time/launches.h"
#include "merge/facts/time/paths.h"
#include "merge/facts/time/spans.h"
#include "merge/facts/time/tensor_cores.h"
#include "merge/kit/keyed.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"

/* Device time launched on a path of rows. */
struct launched {
	int64_t ns, tensor_ns;
};

/* What tells rows from each other beside their names. */
struct tp_operators_by {
	bool shape, stack;
};

/* Of an open span. */
struct open {
	uint32_t row;
	uint32_t path;	/* of the operators from the outermost in to it; TP_NO_PATH: not looked up yet */
};

struct tp_operators {
	struct tp_operator_rows pub;
	struct tp_spans *spans;
	struct tensors *tensors;
	struct tp_launches *launches;
	struct tp_launch_notes path_of; /* of calls: where they were made */
	struct tp_paths paths;
	struct launched *launched; /* by number of the path */
	uint32_t cap_launched;
	struct open *open;	/* by tp_nest_span.slot */
	uint32_t cap_open;
	struct tp_operator_row *row;
	uint32_t n_rows, cap_rows;
	struct tp_keyed rows; /* by name, shapes and stack */
	uint32_t *last;		/* by name: its row that was met last, plus one; most often it is met again */
	uint32_t cap_last;
	bool by_shape;
};

/* ---- tensor memory, for all of them ---- */

struct tensors {
	struct tp_spans *spans;
	struct tp_memcurve *memory;
	bool has_any;
};

static void begin_tensors(void *state, struct tp_facts *facts, const void *params)
{
	struct tensors *tensors = state;

	tensors->spans = tp_facts_want(facts, &tp_fact_spans, NULL);
	tensors->memory = tp_memcurve_new();
	if (!tensors->memory)
		tp_need_failed();
}

static void take_memory(void *state, const struct tp_event *event)
{
	struct tensors *tensors = state;
	int64_t change;

	if (!tp_memcurve_event(tensors->memory, event, &change))
		return;
	tensors->has_any = true;
	if (change)
		tp_spans_bytes(tensors->spans, event, change);
}

static void free_tensors(void *state)
{
	struct tensors *tensors = state;

	tp_memcurve_free(tensors->memory);
}

static const struct tp_fact fact_tensors = {
	.name = "tensor bytes of spans",
	.bytes = sizeof(struct tensors),
	.kinds = TP_FACT_KIND(TP_REC_ALLOC) | TP_FACT_KIND(TP_REC_FREE) |
		 TP_FACT_KIND(TP_REC_TOTALS),
	.is_cut = true,
	.begin = begin_tensors,
	.event = take_memory,
	.free = free_tensors,
};

/* ---- spans ---- */

static struct tp_operator_row *find_row(struct tp_operators *operators, uint32_t name,
					const struct tp_event *event)
{
	uint32_t shapes = 0, stack = 0, hash, at, i;
	struct tp_operator_row *row;

	if (operators->by_shape && event->shapes->kind)
		shapes = event->shapes->same;
	if (operators->pub.origins)
		stack = tp_origins_of(operators->pub.origins, event).stack;
	tp_need_room(&operators->last, &operators->cap_last, (uint64_t)name + 1,
		     sizeof(*operators->last));
	if (operators->last[name]) {
		row = &operators->row[operators->last[name] - 1];
		if (row->shapes == shapes && row->stack == stack)
			return row;
	}
	hash = tp_keyed_hash(((uint64_t)name << 32 | shapes) ^ stack * 0x9e3779b97f4a7c15ull);
	for (i = tp_keyed_first(&operators->rows, hash, &at); i != TP_NO_KEYED;
	     i = tp_keyed_next(&operators->rows, hash, &at)) {
		row = &operators->row[i];
		if (row->name == name && row->shapes == shapes && row->stack == stack) {
			operators->last[name] = i + 1;
			return row;
		}
	}
	tp_need_room(&operators->row, &operators->cap_rows, (uint64_t)operators->n_rows + 1,
		     sizeof(*row));
	if (!tp_keyed_add(&operators->rows, hash, operators->n_rows))
		tp_need_failed();
	row = &operators->row[operators->n_rows++];
	operators->last[name] = operators->n_rows;
	row->name = name;
	row->shapes = shapes;
	row->stack = stack;
	row->inputs = event->shapes;
	row->is_call = event->kind == TP_REC_CALL;
	row->is_eligible =
	    tp_tensor_cores_eligible(tp_names_at(operators->pub.names, name)->bytes,
				     tp_names_at(operators->pub.names, name)->n_bytes);
	return row;
}

/* It, and those around it. */
static void mark_enclosing(struct tp_operators *operators, const struct tp_nest_span *span)
{
	for (uint32_t i = 0; i <= span->depth; i++)
		operators->row[operators->open[(span - i)->slot].row].encloses_eligible = true;
}

/* It ends on another thread. */
static void take_asynchronous(struct tp_operators *operators, const struct tp_event *event)
{
	uint32_t name = tp_names_row(operators->pub.names, event);
	struct tp_operator_row *row;

	/* Not a span of the tables: its time is its parent's own, as in torch. */
	if (tp_names_at(operators->pub.names, name)->is_private)
		return;
	row = find_row(operators, name, event);
	operators->pub.has_shapes |= event->shapes->kind != 0;
	row->calls++;
	row->total_ns = tp_add(row->total_ns, event->end_ns - event->begin_ns);
}

/* Which operators enclose it, and it; calls do not count as such. */
static uint32_t path_of(struct tp_operators *operators, const struct tp_nest_span *span)
{
	struct open *open;
	uint32_t n = 0, path = 0;

	while (n <= span->depth && operators->open[(span - n)->slot].path == TP_NO_PATH)
		n++;
	if (n <= span->depth)
		path = operators->open[(span - n)->slot].path;
	while (n-- > 0) {
		open = &operators->open[(span - n)->slot];
		if (!operators->row[open->row].is_call)
			path = tp_paths_child(&operators->paths, path, open->row);
		if (path == TP_NO_PATH)
			tp_need_failed();
		open->path = path;
	}
	return path;
}

static void take_span(void *state, const struct tp_event *event)
{
	struct tp_operators *operators = state;
	const struct tp_nest_span *span = tp_spans_now(operators->spans);
	struct tp_operator_row *row;

	if (!span) {
		take_asynchronous(operators, event);
		return;
	}
	row = find_row(operators, span->name, event);
	operators->pub.has_shapes |= event->shapes->kind != 0;
	tp_need_room(&operators->open, &operators->cap_open, (uint64_t)span->slot + 1,
		     sizeof(*operators->open));
	operators->open[span->slot] =
	    (struct open){(uint32_t)(row - operators->row), TP_NO_PATH};
	if (row->is_eligible)
		mark_enclosing(operators, span);
	if (event->kind == TP_REC_CALL)
		tp_launch_note(&operators->path_of, operators->launches, event,
			       span->depth ? path_of(operators, span - 1) : 0);
}

static void take_launched(void *ctx, const struct tp_event *event, struct tp_launch_call *call)
{
	struct tp_operators *operators = ctx;
	int64_t ns = tp_sub(event->end_ns, event->begin_ns);
	uint32_t path = tp_launch_noted(&operators->path_of, call);
	struct launched *launched;

	operators->pub.has_device = true;
	operators->pub.device_ns = tp_add(operators->pub.device_ns, ns);
	if (!call) {
		operators->pub.lost_device_ns = tp_add(operators->pub.lost_device_ns, ns);
		return;
	}
	tp_need_room(&operators->launched, &operators->cap_launched, (uint64_t)path + 1,
		     sizeof(*launched));
	launched = &operators->launched[path];
	launched->ns = tp_add(launched->ns, ns);
	if (event->kind == TP_REC_KERNEL && tp_names_of(operators->pub.names, event)->uses_tensor_cores)
		launched->tensor_ns = tp_add(launched->tensor_ns, ns);
}

/* From paths to rows: each row of a path once. */
static void share_out(struct tp_operators *operators)
{
	for (uint32_t path = 1; path < operators->paths.n && path < operators->cap_launched; path++) {
		const struct launched *launched = &operators->launched[path];
		const struct tp_path *all = operators->paths.path;
		uint32_t own = path;
		struct tp_operator_row *row = &operators->row[all[own].row];

		/* It counts as one with the span of its name around it. */
		while (!row->calls && all[own].parent &&
		       operators->row[all[all[own].parent].row].name == row->name) {
			own = all[own].parent;
			row = &operators->row[all[own].row];
		}
		row->device_self_ns = tp_add(row->device_self_ns, launched->ns);
		row->tensor_self_ns = tp_add(row->tensor_self_ns, launched->tensor_ns);
		for (uint32_t at = path; at; at = all[at].parent) {
			uint32_t inner = path;

			while (inner != at && all[inner].row != all[at].row)
				inner = all[inner].parent;
			if (inner != at)
				continue;
			row = &operators->row[all[at].row];
			row->device_total_ns = tp_add(row->device_total_ns, launched->ns);
			row->tensor_total_ns =
			    tp_add(row->tensor_total_ns, launched->tensor_ns);
			row->encloses_eligible |= launched->tensor_ns > 0;
		}
	}
}

static void close_span(void *ctx, const struct tp_nest_span *span)
{
	struct tp_operators *operators = ctx;
	struct tp_operator_row *row = &operators->row[operators->open[span->slot].row];

	row->calls++;
	row->total_ns = tp_add(row->total_ns, span->end_ns - span->begin_ns);
	row->self_ns = tp_add(row->self_ns, tp_nest_self_ns(span));
	row->self_bytes = tp_add(row->self_bytes, span->self_bytes);
	row->total_bytes =
	    tp_add(row->total_bytes, tp_add(span->self_bytes, span->child_bytes));
}

static void begin_operators(void *state, struct tp_facts *facts, const void *params)
{
	const struct tp_operators_by *by = params;
	struct tp_operators *operators = state;

	operators->by_shape = by->shape;
	operators->spans = tp_facts_want(facts, &tp_fact_spans, NULL);
	operators->tensors = tp_facts_want(facts, &fact_tensors, NULL);
	operators->pub.names = tp_spans_names(operators->spans);
	operators->launches = tp_facts_want(facts, &tp_fact_launches_cut, NULL);
	if (by->stack)
		operators->pub.origins = tp_facts_want(facts, &tp_fact_origins_cut, NULL);
	tp_spans_read(operators->spans, close_span, operators);
	tp_launches_read(operators->launches, take_launched, NULL, operators);
}

static void end_operators(void *state)
{
	struct tp_operators *operators = state;

	share_out(operators);
	operators->pub.row = operators->row;
	operators->pub.n_rows = operators->n_rows;
	operators->pub.has_memory = operators->tensors->has_any;
	operators->pub.lost_blocks = tp_memcurve_lost(operators->tensors->memory);
	operators->pub.is_incomplete = operators->pub.origins &&
					tp_origins_is_incomplete(operators->pub.origins);
}

static void free_operators(void *state)
{
	struct tp_operators *operators = state;

	tp_launch_notes_free(&operators->path_of);
	tp_paths_free(&operators->paths);
	tp_keyed_free(&operators->rows);
	free(operators->launched);
	free(operators->open);
	free(operators->last);
	free(operators->row);
}

const struct tp_fact tp_fact_operators = {
	.name = "operators",
	.bytes = sizeof(struct tp_operators),
	.params_bytes = sizeof(struct tp_operators_by),
	.kinds = TP_FACT_KIND(TP_REC_OP) | TP_FACT_KIND(TP_REC_RANGE) | TP_FACT_KIND(TP_REC_CALL),
	.is_cut = true,
	.begin = begin_operators,
	.event = take_span,
	.end = end_operators,
	.free = free_operators,
};

const struct tp_operator_rows *tp_operators_want(struct tp_facts *facts, bool by_shape, bool by_stack)
{
	const struct tp_operators_by by = {.shape = by_shape, .stack = by_stack};
	const struct tp_operators *operators = tp_facts_want(facts, &tp_fact_operators, &by);

	return &operators->pub;
}

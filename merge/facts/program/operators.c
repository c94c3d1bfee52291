/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operators.c - spans, memory and work on devices become rows of operators
 */
#include <stdlib.h>

#include "merge/facts/program/operators_in.h"
#include "merge/facts/time/spans.h"
#include "merge/facts/time/tensor_cores.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"

/* ---- spans ---- */

struct tp_operator_row *tp_operators_row(struct tp_operators *operators, uint32_t name,
					 uint32_t shapes, uint32_t stack)
{
	uint32_t hash, at, i;
	struct tp_operator_row *row;
	struct tp_operator_last *last;

	tp_need_room(&operators->last, &operators->cap_last, (uint64_t)name + 1,
		     sizeof(*operators->last));
	last = &operators->last[name];
	if (last->row && last->shapes == shapes && last->stack == stack)
		return &operators->row[last->row - 1];
	hash = tp_keyed_hash(((uint64_t)name << 32 | shapes) ^ stack * 0x9e3779b97f4a7c15ull);
	for (i = tp_keyed_first(&operators->rows, hash, &at); i != TP_NO_KEYED;
	     i = tp_keyed_next(&operators->rows, hash, &at)) {
		row = &operators->row[i];
		if (row->name == name && row->shapes == shapes && row->stack == stack) {
			*last = (struct tp_operator_last){shapes, stack, i + 1};
			return row;
		}
	}
	tp_need_room(&operators->row, &operators->cap_rows, (uint64_t)operators->n_rows + 1,
		     sizeof(*row));
	tp_need_keyed(&operators->rows, hash, operators->n_rows);
	row = &operators->row[operators->n_rows++];
	*last = (struct tp_operator_last){shapes, stack, operators->n_rows};
	row->name = name;
	row->shapes = shapes;
	row->stack = stack;
	return row;
}

static struct tp_operator_row *find_row(struct tp_operators *operators, uint32_t name,
					const struct tp_event *event)
{
	uint32_t shapes = 0, stack = 0, n = operators->n_rows;
	struct tp_operator_row *row;

	if (operators->by.shape && event->shapes->kind)
		shapes = event->shapes->same;
	if (operators->by.stack)
		stack = tp_origins_of(operators->pub.origins, event).stack;
	row = tp_operators_row(operators, name, shapes, stack);
	if (n == operators->n_rows)
		return row;
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
	struct tp_operator_open *open;
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
	    (struct tp_operator_open){(uint32_t)(row - operators->row), TP_NO_PATH};
	if (row->is_eligible)
		mark_enclosing(operators, span);
	if (event->kind == TP_REC_CALL)
		tp_launch_note(&operators->path_of, event,
			       span->depth ? path_of(operators, span - 1) : 0);
}

static void take_launched(void *ctx, const struct tp_event *event, struct tp_launch_call *call)
{
	struct tp_operators *operators = ctx;
	int64_t ns = tp_sub(event->end_ns, event->begin_ns);
	uint32_t path = tp_launch_noted(&operators->path_of, call);
	struct tp_operator_launched *launched;

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
	row->self_device_bytes = tp_add(row->self_device_bytes, span->self_device_bytes);
	row->total_device_bytes =
	    tp_add(row->total_device_bytes,
		   tp_add(span->self_device_bytes, span->child_device_bytes));
}

static void take_flops(void *ctx, const struct tp_nest_span *span, uint32_t kind)
{
	struct tp_operators *operators = ctx;

	tp_tally_add(&operators->flop_calls, operators->open[span->slot].row, kind, 1);
}

static void begin_operators(void *state, struct tp_facts *facts, const void *params)
{
	const struct tp_operators_by *by = params;
	struct tp_operators *operators = state;

	operators->by = *by;
	operators->spans = tp_facts_want(facts, &tp_fact_spans, NULL);
	operators->tensors = tp_facts_want(facts, &tp_fact_span_bytes, NULL);
	operators->flops = tp_facts_want(facts, &tp_fact_flops, NULL);
	operators->pub.names = tp_spans_names(operators->spans);
	operators->launches = tp_facts_want(facts, &tp_fact_launches_cut, NULL);
	operators->path_of = tp_launches_notes(operators->launches);
	if (by->stack)
		operators->pub.origins = tp_facts_want(facts, &tp_fact_origins_cut, NULL);
	tp_spans_read(operators->spans, close_span, operators);
	tp_launches_read(operators->launches, take_launched, NULL, operators);
	tp_flops_read(operators->flops, NULL, take_flops, operators);
}

static void share_out_flops(struct tp_operators *operators)
{
	for (uint32_t i = 0; i < operators->flop_calls.n_rows; i++) {
		const struct tp_tally_row *calls = &operators->flop_calls.row[i];
		struct tp_operator_row *row = &operators->row[calls->a];
		uint64_t flops = tp_flops_tallied(operators->flops, calls);

		row->flops = tp_flops_add(row->flops, flops);
		row->n_unknown_flops += flops ? 0 : calls->n;
	}
	operators->pub.has_flops = operators->flop_calls.n_rows != 0;
}

static void end_operators(void *state)
{
	struct tp_operators *operators = state;
	uint32_t *row_of = tp_need((size_t)operators->n_rows + 1, sizeof(*row_of));

	for (uint32_t i = 0; i < operators->n_rows; i++)
		row_of[i] = i;
	tp_operators_share_out(operators, operators, row_of);
	free(row_of);
	share_out_flops(operators);
	operators->pub.row = operators->row;
	operators->pub.n_rows = operators->n_rows;
	operators->pub.has_memory = tp_span_bytes_has_any(operators->tensors);
	operators->pub.has_device_memory = tp_span_bytes_has_device(operators->tensors);
	operators->pub.lost_blocks = tp_span_bytes_lost(operators->tensors);
	operators->pub.is_incomplete = operators->pub.origins &&
					tp_origins_is_incomplete(operators->pub.origins);
}

void tp_operators_free(void *state)
{
	struct tp_operators *operators = state;

	tp_paths_free(&operators->paths);
	tp_tally_free(&operators->flop_calls);
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
	.free = tp_operators_free,
};

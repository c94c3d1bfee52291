/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operators_coarser.c - rows of operators, made of those that tell more apart
 */
#include <stdlib.h>

#include "merge/facts/program/operators_in.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"

void tp_operators_share_out(struct tp_operators *operators, const struct tp_operators *from,
			    const uint32_t *row_of)
{
	for (uint32_t path = 1; path < from->paths.n && path < from->cap_launched; path++) {
		const struct tp_operator_launched *launched = &from->launched[path];
		const struct tp_path *all = from->paths.path;
		uint32_t own = path;
		struct tp_operator_row *row = &operators->row[row_of[all[own].row]];

		/* It counts as one with the span of its name around it. */
		while (!row->calls && all[own].parent &&
		       from->row[all[all[own].parent].row].name == row->name) {
			own = all[own].parent;
			row = &operators->row[row_of[all[own].row]];
		}
		row->device_self_ns = tp_add(row->device_self_ns, launched->ns);
		row->tensor_self_ns = tp_add(row->tensor_self_ns, launched->tensor_ns);
		for (uint32_t at = path; at; at = all[at].parent) {
			uint32_t inner = path;

			while (inner != at && row_of[all[inner].row] != row_of[all[at].row])
				inner = all[inner].parent;
			if (inner != at)
				continue;
			row = &operators->row[row_of[all[at].row]];
			row->device_total_ns = tp_add(row->device_total_ns, launched->ns);
			row->tensor_total_ns =
			    tp_add(row->tensor_total_ns, launched->tensor_ns);
			row->encloses_eligible |= launched->tensor_ns > 0;
		}
	}
}

static const struct tp_operators_by finest = {.shape = true, .stack = true};

static void begin_coarser(void *state, struct tp_facts *facts, const void *params)
{
	struct tp_operators *operators = state;

	operators->by = *(const struct tp_operators_by *)params;
	operators->finest = tp_facts_want(facts, &tp_fact_operators, &finest);
	operators->pub.names = operators->finest->pub.names;
}

/* The number of the row that it is in. */
static uint32_t take_row(struct tp_operators *operators, const struct tp_operator_row *from)
{
	uint32_t n = operators->n_rows;
	struct tp_operator_row *row = tp_operators_row(operators, from->name,
						       operators->by.shape ? from->shapes : 0,
						       operators->by.stack ? from->stack : 0);

	if (n < operators->n_rows) {
		row->inputs = from->inputs;
		row->is_call = from->is_call;
		row->is_eligible = from->is_eligible;
	}
	row->encloses_eligible |= from->encloses_eligible;
	row->calls += from->calls;
	row->self_ns = tp_add(row->self_ns, from->self_ns);
	row->total_ns = tp_add(row->total_ns, from->total_ns);
	row->self_bytes = tp_add(row->self_bytes, from->self_bytes);
	row->total_bytes = tp_add(row->total_bytes, from->total_bytes);
	row->self_device_bytes = tp_add(row->self_device_bytes, from->self_device_bytes);
	row->total_device_bytes = tp_add(row->total_device_bytes, from->total_device_bytes);
	row->flops = tp_flops_add(row->flops, from->flops);
	row->n_unknown_flops += from->n_unknown_flops;
	return (uint32_t)(row - operators->row);
}

static void end_coarser(void *state)
{
	struct tp_operators *operators = state;
	const struct tp_operators *from = operators->finest;
	uint32_t *row_of = tp_need((size_t)from->n_rows + 1, sizeof(*row_of));

	for (uint32_t i = 0; i < from->n_rows; i++)
		row_of[i] = take_row(operators, &from->row[i]);
	tp_operators_share_out(operators, from, row_of);
	free(row_of);
	operators->pub = from->pub;
	operators->pub.row = operators->row;
	operators->pub.n_rows = operators->n_rows;
	if (operators->by.stack)
		return;
	operators->pub.origins = NULL;
	operators->pub.is_incomplete = false;
}

static const struct tp_fact fact_coarser = {
	.name = "operators, of the finest rows",
	.bytes = sizeof(struct tp_operators),
	.params_bytes = sizeof(struct tp_operators_by),
	.begin = begin_coarser,
	.end = end_coarser,
	.free = tp_operators_free,
};

const struct tp_operator_rows *tp_operators_want(struct tp_facts *facts, bool by_shape, bool by_stack)
{
	const struct tp_operators_by by = {.shape = by_shape, .stack = by_stack};
	bool is_coarser = !(by_shape && by_stack) && tp_facts_find(facts, &tp_fact_operators, &finest);
	const struct tp_operators *operators =
		tp_facts_want(facts, is_coarser ? &fact_coarser : &tp_fact_operators, &by);

	return &operators->pub;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels.c - the kernels of all devices, by name, by launch shape, by operator
 */
#include "merge/facts/program/kernels.h"

#include <stdlib.h>
#include <string.h>

#include "merge/facts/time/launches.h"
#include "merge/facts/time/occupancy.h"
#include "merge/facts/time/spans.h"
#include "merge/kit/keyed.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"
#include "merge/model/device.h"

/* What tells rows from each other beside their names. */
struct by {
	bool grid, operator;
};

struct tp_kernels {
	struct tp_kernel_rows pub;
	struct by by;
	struct tp_kernel_row *row;
	uint32_t cap_rows;
	struct tp_keyed rows; /* by key */
	struct last {		/* by name: its row that was met last, which most often is met again */
		struct tp_kernel_key key;
		uint32_t row;	/* plus one */
	} *last;
	uint32_t cap_last;
	struct tp_spans *spans;
	struct tp_launches *launches;
	struct tp_launch_notes operator_of;	/* of calls, plus one */
	bool *is_operator; /* by row of names: some span of that name is one, not a range */
	uint32_t cap_is_operator;
	struct tp_occupancies occupancies;
	const struct tp_kernels *finest;	/* what these rows are made of; NULL: of events */
};

static uint32_t hash_key(const struct tp_kernel_key *key, struct by by)
{
	uint32_t word[sizeof(*key) / sizeof(uint32_t)];
	uint64_t h = (uint64_t)key->name << 32 | key->operator;

	/* The rest is zero. */
	if (!by.grid)
		return tp_keyed_hash(h);
	memcpy(word, key, sizeof(word));
	for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++)
		h = (h ^ word[i]) * 0x9e3779b97f4a7c15ull;
	return (uint32_t)(h >> 32);
}

static struct tp_kernel_row *find_row(struct tp_kernels *kernels, const struct tp_kernel_key *key)
{
	struct tp_kernel_row *row;
	struct last *last;
	uint32_t hash, at, i;

	tp_need_room(&kernels->last, &kernels->cap_last, (uint64_t)key->name + 1,
		     sizeof(*kernels->last));
	last = &kernels->last[key->name];
	if (last->row && !memcmp(&last->key, key, sizeof(*key)))
		return &kernels->row[last->row - 1];
	hash = hash_key(key, kernels->by);
	for (i = tp_keyed_first(&kernels->rows, hash, &at); i != TP_NO_KEYED;
	     i = tp_keyed_next(&kernels->rows, hash, &at))
		if (!memcmp(&kernels->row[i].key, key, sizeof(*key))) {
			*last = (struct last){*key, i + 1};
			return &kernels->row[i];
		}
	tp_need_room(&kernels->row, &kernels->cap_rows, (uint64_t)kernels->pub.n_rows + 1,
		     sizeof(*row));
	tp_need_keyed(&kernels->rows, hash, kernels->pub.n_rows);
	kernels->pub.row = kernels->row;
	row = &kernels->row[kernels->pub.n_rows++];
	*last = (struct last){*key, kernels->pub.n_rows};
	row->key = *key;
	return row;
}

static void take_kernel(struct tp_kernels *kernels, const struct tp_event *event, uint32_t operator)
{
	const struct tp_occupancy *o;
	int64_t ns = tp_sub(event->end_ns, event->begin_ns);
	struct tp_kernel_key key = {.name = tp_names_row(kernels->pub.names, event), .operator = operator};
	struct tp_kernel_row *row;

	if (kernels->by.grid) {
		struct tp_launch launch = tp_device_launch(event);

		memcpy(key.grid, launch.grid, sizeof(key.grid));
		memcpy(key.block, launch.block, sizeof(key.block));
		key.registers = launch.registers;
		key.shared = launch.shared_static + launch.shared_dynamic;
	}
	if (key.name == TP_NO_NAME)
		tp_need_failed();
	row = find_row(kernels, &key);
	if (!row->ns.n)
		row->uses_tensor_cores =
			tp_names_at(kernels->pub.names, key.name)->uses_tensor_cores;
	if (!tp_spread_add(&row->ns, ns))
		kernels->pub.is_incomplete = true;
	o = tp_occupancy_of(&kernels->occupancies,
			    tp_device_of(event->proc, event->queue->device), event);
	if (ns <= 0)
		return;
	if (o->blocks > 0) {
		row->blocks_ns += o->blocks * (double)ns;
		row->blocks_known_ns += (double)ns;
	}
	if (o->is_known) {
		row->occupancy_ns += o->estimated * (double)ns;
		row->known_ns += (double)ns;
	}
	kernels->pub.n_reported += o->is_reported;
}

/* The name of the innermost operator, else of the innermost range, around the call given now. */
static uint32_t find_operator(const struct tp_kernels *kernels)
{
	const struct tp_nest_span *call = tp_spans_now(kernels->spans);
	uint32_t found = TP_KERNEL_NO_OPERATOR;

	for (uint32_t i = 1; call && i <= call->depth; i++) {
		const struct tp_nest_span *span = call - i;

		if (span->kind == TP_REC_CALL)
			continue;
		if (kernels->is_operator[span->name])
			return span->name;
		if (found == TP_KERNEL_NO_OPERATOR)
			found = span->name;
	}
	return found;
}

/* Only --by-operator asks what encloses a launch. */
static void take_span(struct tp_kernels *kernels, const struct tp_event *event)
{
	const struct tp_nest_span *span = tp_spans_now(kernels->spans);

	if (!span)
		return;
	tp_need_room(&kernels->is_operator, &kernels->cap_is_operator, (uint64_t)span->name + 1,
		     sizeof(*kernels->is_operator));
	kernels->is_operator[span->name] |= event->kind == TP_REC_OP;
}

/* A graph that is recorded as one stands for its kernels. */
static bool is_kernel(const struct tp_event *event)
{
	return tp_device_is_work(event) &&
	       (event->kind == TP_REC_KERNEL || event->kind == TP_REC_GRAPH);
}

static void take_launched(void *ctx, const struct tp_event *event, struct tp_launch_call *call)
{
	struct tp_kernels *kernels = ctx;
	uint32_t noted = tp_launch_noted(&kernels->operator_of, call);

	if (is_kernel(event))
		take_kernel(kernels, event, noted ? noted - 1 : TP_KERNEL_NO_OPERATOR);
}

static void take_event(void *state, const struct tp_event *event)
{
	struct tp_kernels *kernels = state;

	if (!kernels->by.operator) {
		if (is_kernel(event))
			take_kernel(kernels, event, TP_KERNEL_NO_OPERATOR);
	} else if (event->kind == TP_REC_CALL) {
		/* TP_KERNEL_NO_OPERATOR becomes 0: nothing. */
		tp_launch_note(&kernels->operator_of, event,
			       find_operator(kernels) + 1);
	} else if (event->kind == TP_REC_OP || event->kind == TP_REC_RANGE) {
		take_span(kernels, event);
	}
}

/* ---- of events ---- */

static void begin_kernels(void *state, struct tp_facts *facts, const void *params)
{
	struct tp_kernels *kernels = state;

	kernels->by = *(const struct by *)params;
	kernels->pub.names = tp_facts_want(facts, &tp_fact_names, NULL);
	if (!kernels->by.operator)
		return;
	kernels->spans = tp_facts_want(facts, &tp_fact_spans, NULL);
	kernels->launches = tp_facts_want(facts, &tp_fact_launches_cut, NULL);
	kernels->operator_of = tp_launches_notes(kernels->launches);
	tp_launches_read(kernels->launches, take_launched, NULL, kernels);
}

static void free_kernels(void *state)
{
	struct tp_kernels *kernels = state;

	for (uint32_t i = 0; i < kernels->pub.n_rows; i++)
		tp_spread_free(&kernels->row[i].ns);
	tp_keyed_free(&kernels->rows);
	free(kernels->is_operator);
	free(kernels->last);
	free(kernels->row);
}

static const struct tp_fact fact_kernels = {
	.name = "kernels",
	.bytes = sizeof(struct tp_kernels),
	.params_bytes = sizeof(struct by),
	.kinds = TP_FACT_KIND(TP_REC_OP) | TP_FACT_KIND(TP_REC_RANGE) |
		 TP_FACT_KIND(TP_REC_CALL) | TP_FACT_KIND(TP_REC_KERNEL) |
		 TP_FACT_KIND(TP_REC_GRAPH),
	.is_cut = true,
	.begin = begin_kernels,
	.event = take_event,
	.free = free_kernels,
};

/* ---- of the finest rows ---- */

static const struct by finest = {.grid = true, .operator = true};

static void begin_coarser(void *state, struct tp_facts *facts, const void *params)
{
	struct tp_kernels *kernels = state;

	kernels->by = *(const struct by *)params;
	kernels->finest = tp_facts_want(facts, &fact_kernels, &finest);
	kernels->pub.names = kernels->finest->pub.names;
}

static void take_row(struct tp_kernels *kernels, const struct tp_kernel_row *from)
{
	struct tp_kernel_key key = {.name = from->key.name, .operator = TP_KERNEL_NO_OPERATOR};
	struct tp_kernel_row *row;

	if (kernels->by.grid)
		key = from->key;
	key.operator = kernels->by.operator ? from->key.operator : TP_KERNEL_NO_OPERATOR;
	row = find_row(kernels, &key);
	row->uses_tensor_cores = from->uses_tensor_cores;
	row->blocks_ns += from->blocks_ns;
	row->blocks_known_ns += from->blocks_known_ns;
	row->occupancy_ns += from->occupancy_ns;
	row->known_ns += from->known_ns;
	if (!tp_spread_merge(&row->ns, &from->ns))
		kernels->pub.is_incomplete = true;
}

static void end_coarser(void *state)
{
	struct tp_kernels *kernels = state;
	const struct tp_kernel_rows *from = &kernels->finest->pub;

	kernels->pub.n_reported = from->n_reported;
	kernels->pub.is_incomplete = from->is_incomplete;
	for (uint32_t i = 0; i < from->n_rows; i++)
		take_row(kernels, &from->row[i]);
}

static const struct tp_fact fact_coarser = {
	.name = "kernels, of the finest rows",
	.bytes = sizeof(struct tp_kernels),
	.params_bytes = sizeof(struct by),
	.begin = begin_coarser,
	.end = end_coarser,
	.free = free_kernels,
};

const struct tp_kernel_rows *tp_kernels_want(struct tp_facts *facts, bool by_grid, bool by_operator)
{
	const struct by by = {.grid = by_grid, .operator = by_operator};
	bool is_coarser = !(by_grid && by_operator) && tp_facts_find(facts, &fact_kernels, &finest);
	const struct tp_kernels *kernels =
		tp_facts_want(facts, is_coarser ? &fact_coarser : &fact_kernels, &by);

	return &kernels->pub;
}

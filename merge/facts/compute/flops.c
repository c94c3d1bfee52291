/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flops.c - kinds of calls, and what a call of each comes to
 */
#include "merge/facts/compute/flops.h"

#include <stdlib.h>
#include <string.h>

#include "merge/facts/compute/flop_counts.h"
#include "merge/facts/tensor/span_bytes.h"
#include "merge/facts/time/spans.h"
#include "merge/kit/need.h"
#include "merge/model/label.h"

struct kind {
	const struct tp_string *inputs;
	enum tp_flop_kind op;
	bool is_second;		/* of a convolution's backward pass: both gradients were computed */
	uint64_t both_bytes;	/* what stays then; 0: not known */
	uint64_t flops;		/* when the pass is over */
};

struct tp_flops {
	struct tp_spans *spans;
	struct tp_names *names;
	const struct tp_span_bytes *bytes;	/* NULL: no shapes, nothing to tell */
	uint8_t *op_of;		/* by names' row: 0 not looked up, else enum tp_flop_kind plus one */
	uint32_t cap_op_of;
	struct kind *kind;
	uint32_t n_kinds, cap_kinds;
	struct tp_keyed kinds;		/* by inputs, op and is_second */
	struct tp_keyed backwards;	/* at the end: by shapes of input and weight */
	uint32_t *open;			/* by tp_nest_span.slot: kind plus one */
	uint32_t cap_open;
	struct reader {
		tp_flops_begin_fn begin;
		tp_flops_end_fn end;
		void *ctx;
	} *reader;
	uint32_t n_readers, cap_readers;
};

/* ---- kinds ---- */

static uint32_t kind_of(struct tp_flops *flops, const struct tp_string *inputs, enum tp_flop_kind op,
			bool is_second)
{
	uint32_t hash = tp_keyed_hash((uint64_t)inputs->same << 32 | (uint64_t)op << 1 | is_second);
	struct tp_flop_inputs shapes;
	uint32_t at, i;

	for (i = tp_keyed_first(&flops->kinds, hash, &at); i != TP_NO_KEYED;
	     i = tp_keyed_next(&flops->kinds, hash, &at))
		if (flops->kind[i].inputs->same == inputs->same && flops->kind[i].op == op &&
		    flops->kind[i].is_second == is_second)
			return i;
	i = flops->n_kinds;
	tp_need_room(&flops->kind, &flops->cap_kinds, (uint64_t)i + 1, sizeof(*flops->kind));
	tp_need_keyed(&flops->kinds, hash, i);
	flops->kind[i] = (struct kind){.inputs = inputs, .op = op, .is_second = is_second};
	if (op == TP_FLOP_CONV_BACKWARD) {
		tp_flop_inputs(&shapes, inputs->bytes, inputs->n_bytes);
		if (shapes.bytes[1] < INT64_MAX / 2 && shapes.bytes[2] < INT64_MAX / 2)
			flops->kind[i].both_bytes = shapes.bytes[1] + shapes.bytes[2];
	}
	return flops->n_kinds++;
}

static enum tp_flop_kind op_of(struct tp_flops *flops, uint32_t name)
{
	tp_need_room(&flops->op_of, &flops->cap_op_of, (uint64_t)name + 1, sizeof(*flops->op_of));
	if (!flops->op_of[name]) {
		const struct tp_name *is = tp_names_at(flops->names, name);

		flops->op_of[name] = (uint8_t)(tp_flop_kind(is->bytes, is->n_bytes) + 1);
	}
	return (enum tp_flop_kind)(flops->op_of[name] - 1);
}

/* What such an operator calls to do its work is in its own count. */
static bool is_inside_one(struct tp_flops *flops, const struct tp_nest_span *span)
{
	for (uint32_t i = 1; i <= span->depth; i++)
		if (op_of(flops, (span - i)->name) != TP_FLOP_NONE)
			return true;
	return false;
}

static void take_operator(void *state, const struct tp_event *event)
{
	struct tp_flops *flops = state;
	const struct tp_nest_span *span = flops->bytes ? tp_spans_now(flops->spans) : NULL;
	enum tp_flop_kind op = span ? op_of(flops, span->name) : TP_FLOP_NONE;

	if (op == TP_FLOP_NONE)
		return;
	tp_need_room(&flops->open, &flops->cap_open, (uint64_t)span->slot + 1, sizeof(*flops->open));
	flops->open[span->slot] = 0;
	if (!event->shapes->kind || is_inside_one(flops, span))
		return;
	flops->open[span->slot] = kind_of(flops, event->shapes, op, false) + 1;
	for (uint32_t i = 0; i < flops->n_readers; i++)
		if (flops->reader[i].begin)
			flops->reader[i].begin(flops->reader[i].ctx, span, event);
}

/* The slot is of an operator that is counted only when its name is. */
static void close_span(void *ctx, const struct tp_nest_span *span)
{
	struct tp_flops *flops = ctx;
	const struct kind *kind;
	uint32_t at;

	if (span->kind != TP_REC_OP || span->name >= flops->cap_op_of ||
	    flops->op_of[span->name] <= TP_FLOP_NONE + 1 || !flops->open[span->slot])
		return;
	at = flops->open[span->slot] - 1;
	kind = &flops->kind[at];
	if (kind->op == TP_FLOP_CONV_BACKWARD &&
	    (!tp_span_bytes_has_any(flops->bytes) ||
	     span->self_bytes + span->child_bytes >= (int64_t)kind->both_bytes))
		at = kind_of(flops, kind->inputs, kind->op, true);
	for (uint32_t i = 0; i < flops->n_readers; i++)
		flops->reader[i].end(flops->reader[i].ctx, span, at);
}

/* ---- begin and end ---- */

/* Traces of others say only by having them. */
static bool may_have_shapes(const struct tp_run *run)
{
	char what[512];

	for (uint32_t i = 0; i < run->n_windows; i++)
		if (!tp_fact(run->window[i].meta, "RECORD", what, sizeof(what)) || strstr(what, "shapes"))
			return true;
	return false;
}

static void begin_flops(void *state, struct tp_facts *facts, const void *params)
{
	struct tp_flops *flops = state;

	if (!may_have_shapes(tp_facts_run(facts)))
		return;
	flops->spans = tp_facts_want(facts, &tp_fact_spans, NULL);
	flops->names = tp_spans_names(flops->spans);
	flops->bytes = tp_facts_want(facts, &tp_fact_span_bytes, NULL);
	tp_spans_read(flops->spans, close_span, flops);
}

static uint32_t hash_of(const struct tp_flop_shape *input, const struct tp_flop_shape *weight)
{
	uint64_t hash = input->n_dims;

	for (uint32_t i = 0; i < TP_FLOP_DIMS; i++)
		hash = (hash ^ input->size[i]) * 0x9e3779b97f4a7c15ull +
		       (weight->size[i] ^ hash >> 31) * 0xff51afd7ed558ccdull;
	return tp_keyed_hash(hash);
}

/* Of the backward passes of convolutions: the shape of the result is that of its gradient. */
static bool find_result(const struct tp_flops *flops, const struct tp_flop_inputs *conv,
			struct tp_flop_inputs *backward)
{
	uint32_t hash = hash_of(&conv->of[0], &conv->of[1]), at;

	for (uint32_t i = tp_keyed_first(&flops->backwards, hash, &at); i != TP_NO_KEYED;
	     i = tp_keyed_next(&flops->backwards, hash, &at)) {
		const struct tp_string *inputs = flops->kind[i].inputs;

		tp_flop_inputs(backward, inputs->bytes, inputs->n_bytes);
		if (!memcmp(&backward->of[1], &conv->of[0], sizeof(conv->of[0])) &&
		    !memcmp(&backward->of[2], &conv->of[1], sizeof(conv->of[1])))
			return true;
	}
	return false;
}

static void count_kind(struct tp_flops *flops, struct kind *kind)
{
	struct tp_flop_inputs inputs, backward;
	struct tp_flop_call call = {.kind = kind->op, .inputs = &inputs,
				    .has_input_gradient = kind->is_second};

	tp_flop_inputs(&inputs, kind->inputs->bytes, kind->inputs->n_bytes);
	if (kind->op == TP_FLOP_CONV && find_result(flops, &inputs, &backward))
		call.out = &backward.of[0];
	kind->flops = tp_flop_count(&call);
}

static void end_flops(void *state)
{
	struct tp_flops *flops = state;
	struct tp_flop_inputs inputs;

	for (uint32_t i = 0; i < flops->n_kinds; i++) {
		const struct tp_string *of = flops->kind[i].inputs;

		if (flops->kind[i].op != TP_FLOP_CONV_BACKWARD)
			continue;
		tp_flop_inputs(&inputs, of->bytes, of->n_bytes);
		tp_need_keyed(&flops->backwards, hash_of(&inputs.of[1], &inputs.of[2]), i);
	}
	for (uint32_t i = 0; i < flops->n_kinds; i++)
		count_kind(flops, &flops->kind[i]);
}

static void free_flops(void *state)
{
	struct tp_flops *flops = state;

	tp_keyed_free(&flops->kinds);
	tp_keyed_free(&flops->backwards);
	free(flops->op_of);
	free(flops->kind);
	free(flops->open);
	free(flops->reader);
}

const struct tp_fact tp_fact_flops = {
	.name = "floating-point operations",
	.bytes = sizeof(struct tp_flops),
	.kinds = TP_FACT_KIND(TP_REC_OP),
	.is_cut = true,
	.begin = begin_flops,
	.event = take_operator,
	.end = end_flops,
	.free = free_flops,
};

void tp_flops_read(struct tp_flops *flops, tp_flops_begin_fn begin, tp_flops_end_fn end, void *ctx)
{
	tp_need_room(&flops->reader, &flops->cap_readers, (uint64_t)flops->n_readers + 1,
		     sizeof(*flops->reader));
	flops->reader[flops->n_readers++] = (struct reader){begin, end, ctx};
}

bool tp_flops_has_shapes(const struct tp_flops *flops)
{
	return flops->bytes != NULL;
}

uint64_t tp_flops_of(const struct tp_flops *flops, uint32_t kind)
{
	return flops->kind[kind].flops;
}

uint64_t tp_flops_tallied(const struct tp_flops *flops, const struct tp_tally_row *calls)
{
	uint64_t all;

	return __builtin_mul_overflow(tp_flops_of(flops, calls->b), calls->n, &all) ? UINT64_MAX : all;
}

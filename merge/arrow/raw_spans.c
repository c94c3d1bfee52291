/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_spans.c - operators, ranges and calls, each when it has ended: with what is around it, where in
 * the program it comes from, and what of its time and memory is its own
 *
 * A span that its parent took in (nest.h: an overload that calls another one) comes with the parent.
 */
#include <stdlib.h>
#include <string.h>

#include "merge/arrow/raw.h"
#include "merge/facts/origin/module_origin.h"
#include "merge/facts/program/operators.h"
#include "merge/facts/program/span_numbers.h"
#include "merge/facts/program/step_now.h"
#include "merge/facts/tensor/span_bytes.h"
#include "merge/facts/time/step_times.h"

struct row {
	struct tp_raw_head head;
	int64_t id, parent, depth, step, self_ns, self_bytes, merged;
	const char *category, *module, *file, *function;
	int64_t line, stack;
};

static const struct tp_raw_column columns[] = {
	TP_RAW_HEAD(struct row),
	TP_RAW(struct row, id, TP_UNIT_NUMBER, "number of the span, from 1 on"),
	TP_RAW(struct row, parent, TP_UNIT_NUMBER, "the span directly around it; none: outermost"),
	TP_RAW(struct row, depth, TP_UNIT_COUNT, "how many are around it"),
	TP_RAW(struct row, step, TP_UNIT_NUMBER, "step of the run in which it began; none: between steps"),
	TP_RAW(struct row, self_ns, TP_UNIT_NS,
	       "its time without that of the spans inside it; none: it ends on another thread, or is merged"),
	TP_RAW(struct row, self_bytes, TP_UNIT_BYTES,
	       "tensor memory allocated less freed while it was the innermost; none: as self_ns"),
	TP_RAW(struct row, merged, TP_UNIT_COUNT,
	       "1: counted as one with its parent, another overload of the same operator"),
	TP_RAW_NAME(struct row, category, "what its time counts as in the overview; none: as nothing"),
	TP_RAW(struct row, module, TP_UNIT_TEXT, "path of the nn.Module that called it"),
	TP_RAW_NAME(struct row, file, "source file of the innermost Python frame that called it"),
	TP_RAW(struct row, line, TP_UNIT_NUMBER, "line in that file"),
	TP_RAW_NAME(struct row, function, "function of that line"),
	TP_RAW(struct row, stack, TP_UNIT_NUMBER, "its Python stack, of the table stacks"),
	{.field = NULL},
};

/* What is known of an open span, by slot. */
struct open {
	struct row row;
	uint32_t path, child;	/* path of modules; slot of the newest span inside */
	bool is_open, has_child;
};

struct state {
	struct tp_raw_rows *rows;
	struct tp_spans *spans;
	struct tp_span_numbers *numbers;
	struct tp_step_now *steps;
	struct tp_origins *origins;
	struct open *open;
	uint32_t cap_open;
	char module[1024];
};

static void put_row(struct state *state, struct open *open)
{
	if (open->path)
		open->row.module = tp_module_title(tp_origins_paths(state->origins), open->path, false,
						   state->module, sizeof(state->module));
	tp_raw_rows_put(state->rows, &open->row);
	open->is_open = false;
}

/* The child that was taken in, and that of it. */
static void put_merged(struct state *state, struct open *parent)
{
	struct open *child = parent->has_child ? &state->open[parent->child] : NULL;

	if (!child || !child->is_open || child->row.parent != parent->row.id)
		return;
	child->row.merged = 1;
	put_merged(state, child);
	put_row(state, child);
}

static void close_span(void *ctx, const struct tp_nest_span *span)
{
	struct state *state = ctx;
	struct open *open = &state->open[span->slot];

	put_merged(state, open);
	open->row.self_ns = tp_nest_self_ns(span);
	open->row.self_bytes = span->self_bytes;
	put_row(state, open);
}

static void place_line(struct state *state, struct row *row, uint32_t stack)
{
	struct tp_frame frame;

	if (!stack)
		return;
	row->stack = stack;
	if (!tp_stacks_innermost(tp_origins_stacks(state->origins), stack, &frame, 1) || !frame.is_python)
		return;
	row->function = frame.function;
	row->file = frame.file;
	row->line = frame.line;
}

static void take_span(void *opaque, const struct tp_event *event)
{
	struct state *state = opaque;
	const struct tp_nest_span *span = tp_spans_now(state->spans);
	struct tp_names *names = tp_spans_names(state->spans);
	struct tp_origin origin = tp_origins_of(state->origins, event);
	enum tp_category category = tp_step_times_category(names, event);
	struct open alone, *open = &alone;

	if (span) {
		tp_need_room(&state->open, &state->cap_open, (uint64_t)span->slot + 1, sizeof(*open));
		open = &state->open[span->slot];
	}
	*open = (struct open){
		.path = origin.path, .is_open = true,
		.row = {.head = tp_raw_head_of(event), .id = (int64_t)tp_span_number_now(state->numbers),
			.parent = TP_RAW_NONE, .depth = span ? span->depth : 0,
			.step = tp_step_now(state->steps, event), .self_ns = TP_RAW_NONE,
			.self_bytes = TP_RAW_NONE, .line = TP_RAW_NONE, .stack = TP_RAW_NONE,
			.category = category == TP_CAT_OTHER ? NULL : tp_category_name(category)},
	};
	if (open->row.step < 0)
		open->row.step = TP_RAW_NONE;
	place_line(state, &open->row, origin.stack);
	if (!span) {
		put_row(state, open);
		return;
	}
	if (span->depth) {
		struct open *parent = &state->open[span[-1].slot];

		open->row.parent = (int64_t)tp_span_number(state->numbers, &span[-1]);
		parent->child = span->slot;
		parent->has_child = true;
	}
}

static void begin_spans(void *opaque, struct tp_facts *facts, const void *params)
{
	struct state *state = opaque;

	state->rows = ((const struct tp_raw_to *)params)->rows;
	state->spans = tp_facts_want(facts, &tp_fact_spans, NULL);
	state->numbers = tp_facts_want(facts, &tp_fact_span_numbers, NULL);
	state->steps = tp_facts_want(facts, &tp_fact_step_now_cut, NULL);
	state->origins = tp_facts_want(facts, &tp_fact_origins_cut, NULL);
	tp_facts_want(facts, &tp_fact_span_bytes, NULL);
	tp_spans_read(state->spans, close_span, state);
}

static void free_state(void *opaque)
{
	struct state *state = opaque;

	free(state->open);
}

static const struct tp_fact fact = {
	.name = "rows of spans", .bytes = sizeof(struct state), .params_bytes = sizeof(struct tp_raw_to),
	.kinds = TP_FACT_KIND(TP_REC_OP) | TP_FACT_KIND(TP_REC_RANGE) | TP_FACT_KIND(TP_REC_CALL),
	.is_cut = true, .begin = begin_spans, .event = take_span, .free = free_state,
};

const struct tp_raw tp_raw_spans = {
	.name = "spans", .help = "operators, ranges and calls, limited to their window, with their parent",
	.column = columns, .fact = &fact,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_texts.c - tables of what others name by number: strings, and frames of stacks
 */
#include <stdlib.h>

#include "merge/arrow/raw.h"
#include "merge/facts/origin/stacks.h"
#include "merge/input/fuse.h"
#include "merge/model/shapes.h"

/* ---- strings ---- */

struct string {
	int64_t string, bytes;
	const char *kind, *text;
};

static const struct tp_raw_column string_columns[] = {
	TP_RAW(struct string, string, TP_UNIT_NUMBER, "number of the string in this run, from 1 on"),
	TP_RAW_NAME(struct string, kind, "text, operator, shapes, counter, function, module; other"),
	TP_RAW(struct string, bytes, TP_UNIT_BYTES, "as it stands in the trace"),
	TP_RAW(struct string, text, TP_UNIT_TEXT, "what it says; of several texts the first; none: of kind other"),
	{.field = NULL},
};

static const char *kind_of(const struct tp_string *string)
{
	static const char *const name[] = {
		[TP_STRING_TEXT] = "text", [TP_STRING_OP] = "operator", [TP_STRING_SHAPES] = "shapes",
		[TP_STRING_COUNTER] = "counter", [TP_STRING_PYFRAME] = "function",
		[TP_STRING_NNMODULE] = "module",
	};

	if (string->kind < sizeof(name) / sizeof(name[0]) && name[string->kind])
		return name[string->kind];
	return "other";
}

static void show_strings(struct tp_run *run, struct tp_raw_rows *rows)
{
	uint32_t n;
	const struct tp_string **string = tp_run_strings(run, &n);
	char shapes[1024];

	if (!string)
		tp_need_failed();
	for (uint32_t i = 1; i < n; i++) {
		const char *text = *tp_raw_name(string[i]) ? tp_raw_name(string[i]) : NULL;

		if (string[i]->kind == TP_STRING_SHAPES)
			text = tp_show_shapes(shapes, sizeof(shapes), string[i]->bytes, string[i]->n_bytes);
		tp_raw_rows_put(rows, &(struct string){.string = i, .kind = kind_of(string[i]),
						       .bytes = string[i]->n_bytes, .text = text});
	}
	free(string);
}

const struct tp_raw tp_raw_strings = {
	.name = "strings", .help = "all distinct texts of the run: names, shapes, files",
	.column = string_columns, .show = show_strings,
};

/* ---- stacks ---- */

struct frame {
	int64_t stack, depth, line, offset, is_python, is_inlined, is_cut;
	const char *function, *file, *binary;
};

static const struct tp_raw_column frame_columns[] = {
	TP_RAW(struct frame, stack, TP_UNIT_NUMBER, "number of the stack, as other tables name it"),
	TP_RAW(struct frame, depth, TP_UNIT_COUNT, "how many frames are inside it; 0: innermost"),
	TP_RAW_NAME(struct frame, function, "function; none: not known"),
	TP_RAW_NAME(struct frame, file, "source file; none: not known"),
	TP_RAW(struct frame, line, TP_UNIT_NUMBER, "line in that file"),
	TP_RAW_NAME(struct frame, binary, "library or program that holds the code; none: Python"),
	TP_RAW(struct frame, offset, TP_UNIT_NUMBER, "address in that"),
	TP_RAW(struct frame, is_python, TP_UNIT_COUNT, "1: a frame of Python"),
	TP_RAW(struct frame, is_inlined, TP_UNIT_COUNT, "1: inlined into the next one"),
	TP_RAW(struct frame, is_cut, TP_UNIT_COUNT, "1: its callers are not known"),
	{.field = NULL},
};

enum { FRAMES_MAX = 4096 };

struct state {
	struct tp_raw_rows *rows;
	struct tp_stacks *stacks;
};

static const char *or_null(const char *text)
{
	return *text ? text : NULL;
}

static void begin_stacks(void *opaque, struct tp_facts *facts, const void *params)
{
	struct state *state = opaque;

	state->rows = ((const struct tp_raw_to *)params)->rows;
	state->stacks = tp_facts_want(facts, &tp_fact_stacks, NULL);
}

static void put_stack(struct state *state, uint32_t stack, struct tp_frame *frame)
{
	uint32_t n = tp_stacks_frames(state->stacks, stack, frame, FRAMES_MAX);

	for (uint32_t i = 0; i < n && i < FRAMES_MAX; i++)
		tp_raw_rows_put(state->rows, &(struct frame){
			.stack = stack, .depth = i, .function = or_null(frame[i].function),
			.file = or_null(frame[i].file), .line = frame[i].line ? frame[i].line : TP_RAW_NONE,
			.binary = or_null(frame[i].module),
			.offset = *frame[i].module ? (int64_t)frame[i].offset : TP_RAW_NONE,
			.is_python = frame[i].is_python, .is_inlined = frame[i].is_inlined,
			.is_cut = frame[i].is_cut,
		});
}

static void end_stacks(void *opaque)
{
	struct state *state = opaque;
	struct tp_frame *frame = tp_need(FRAMES_MAX, sizeof(*frame));

	if (tp_stacks_resolve(state->stacks, NULL))
		tp_need_failed();
	for (uint32_t i = 1; i < tp_stacks_count(state->stacks); i++)
		put_stack(state, i, frame);
	free(frame);
}

static const struct tp_fact fact = {
	.name = "rows of stacks", .bytes = sizeof(struct state), .params_bytes = sizeof(struct tp_raw_to),
	.begin = begin_stacks, .end = end_stacks,
};

const struct tp_raw tp_raw_stacks = {
	.name = "stacks", .help = "frames of all stacks, innermost first", .column = frame_columns, .fact = &fact,
};

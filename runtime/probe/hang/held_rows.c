/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held_rows.c - live blocks summed up by category, operator, module and line, in words
 */
#include "runtime/probe/hang/held.h"

#include <string.h>

#include "runtime/engine/intern.h"
#include "runtime/probe/hang/held_table.h"
#include "runtime/probe/hang/pynow.h"
#include "runtime/trace/kinds.h"
#include "runtime/trace/report.h"

enum {
	ROWS = 512,		/* holders that are told apart */
	LINES = 20,
	SAID = 2,
	DEPTH_MAX = 200,	/* of stacks */
};

enum age { BEFORE, KEPT, NOW };	/* the recorded steps; across steps; in this step */

struct row {
	uint8_t category, age;
	uint32_t operator, module;
	uint32_t string, line;		/* of the frame; string 0: not known */
	uint64_t bytes, n;
};

static struct {
	struct row row[ROWS];
	uint32_t n;
	uint64_t others, all;		/* bytes */
} sum;

/* The innermost line of the program, or of a library where there is no other; the innermost module. */
static void find_place(uint32_t stack, struct row *row)
{
	const struct tp_held_frame *frame;
	bool is_program = false;

	for (uint32_t i = 0; i < DEPTH_MAX && (frame = tp_held_frame(stack)); i++) {
		struct tp_pynow_place place;

		stack = frame->outer;
		if (frame->is_module && !row->module)
			row->module = tp_held_module(frame->line);
		if (is_program || !tp_pynow_string(frame->string, frame->line, &place))
			continue;
		is_program = !tp_pynow_is_library(&place);
		if (!is_program && row->string)
			continue;
		row->string = frame->string;
		row->line = frame->line;
	}
}

static void add(const struct tp_held_block *block, const struct tp_held_asked *asked)
{
	struct row key = {
		.category = block->category, .operator = block->operator,
		.age = !block->born ? BEFORE : block->born < asked->step_begin ? KEPT : NOW,
	};
	uint32_t i = 0;

	find_place(block->stack, &key);
	sum.all += block->bytes;
	while (i < sum.n && (sum.row[i].category != key.category || sum.row[i].age != key.age ||
			     sum.row[i].operator != key.operator || sum.row[i].module != key.module ||
			     sum.row[i].string != key.string || sum.row[i].line != key.line))
		i++;
	if (i == ROWS) {
		sum.others += block->bytes;
		return;
	}
	if (i == sum.n)
		sum.row[sum.n++] = key;
	sum.row[i].bytes += block->bytes;
	sum.row[i].n++;
}

static bool is_alive(const struct tp_held_block *block, const struct tp_held_asked *asked)
{
	return block->bytes && block->device == asked->device && block->born <= asked->time &&
	       (!block->is_dead || block->time > asked->time);
}

/* The largest that is left, which is none any more. NULL: there is none. */
static struct row *take_largest(void)
{
	struct row *largest = NULL;

	for (uint32_t i = 0; i < sum.n; i++)
		if (sum.row[i].bytes && (!largest || sum.row[i].bytes > largest->bytes))
			largest = &sum.row[i];
	return largest;
}

static void put_share(struct tp_text *out, uint64_t bytes, uint64_t of)
{
	uint64_t permille = of >> 10 ? (bytes >> 10) * 1000 / (of >> 10) : 0;

	tp_report_put_bytes(out, bytes);
	if (of)
		tp_text_fmt(out, " (%lu.%lu %%)", (unsigned long)(permille / 10),
			    (unsigned long)(permille % 10));
}

/* Up to its first NUL; of a module without a name its class. */
static void put_string(struct tp_text *out, const char *before, uint32_t string)
{
	uint32_t kind, n;
	const char *bytes;

	if (!string || !tp_intern_get(NULL, string, &kind, &bytes, &n))
		return;
	if (kind == TP_STRING_NNMODULE && n && !bytes[0]) {
		bytes++;
		n--;
	}
	tp_text_fmt(out, "%s%.*s", before, (int)strnlen(bytes, n), bytes);
}

static void put_row(struct tp_text *out, const struct row *row, uint64_t of, bool is_short)
{
	struct tp_pynow_place place;
	bool is_unknown = row->category == TP_TENSOR_UNKNOWN;

	put_share(out, row->bytes, of);
	tp_text_fmt(out, " %s", !is_unknown ? tp_tensor_category_title(row->category)
				: row->age == KEPT ? "kept across steps" : "of this step");
	if (row->age == BEFORE)
		tp_text_str(out, ", allocated before the recorded steps");
	put_string(out, ", allocated by ", row->operator);
	put_string(out, " in ", row->module);
	if (tp_pynow_string(row->string, row->line, &place)) {
		tp_text_str(out, ", ");
		tp_pynow_put(out, &place, is_short);
	}
}

static void put_rows(struct tp_text *lines, struct tp_text *said, uint64_t of)
{
	struct row *row;

	for (uint32_t i = 0; i < LINES && (row = take_largest()); i++) {
		if (i < SAID) {
			tp_text_str(said, i ? "; " : "");
			put_row(said, row, of, true);
		}
		tp_text_str(lines, "    ");
		put_row(lines, row, of, false);
		tp_text_fmt(lines, ", %lu block%s\n", (unsigned long)row->n, row->n > 1 ? "s" : "");
		sum.others -= row->bytes;
		row->bytes = 0;
	}
}

uint64_t tp_held_put(const struct tp_held_asked *asked, struct tp_text *lines, struct tp_text *said)
{
	uint64_t of;

	memset(&sum, 0, sizeof(sum));
	for (uint32_t i = 0; tp_held.window_plus_one == asked->window + 1 && i < tp_held.n_places; i++)
		if (tp_held.block[i].address && is_alive(&tp_held.block[i], asked))
			add(&tp_held.block[i], asked);
	if (!sum.all)
		return 0;
	of = asked->total > sum.all ? asked->total : sum.all;
	sum.others = of;
	put_rows(lines, said, of);
	if (sum.others) {
		tp_text_str(lines, "    ");
		put_share(lines, sum.others, of);
		tp_text_str(lines, " others, or allocated before the recorded steps\n");
	}
	if (tp_held.n_lost)
		tp_text_fmt(lines, "    blocks that found no place in the table: %lu\n",
			    (unsigned long)tp_held.n_lost);
	return sum.all;
}

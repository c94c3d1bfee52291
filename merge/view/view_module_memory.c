/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_module_memory.c - part of the view of modules: tensor memory of each by category, in the
 * forward and in the backward pass
 *
 * The table of MemTracker and of MemProfiler, module by module. In text the outer modules, at their
 * peaks; rows for programs have all of them, at entry, peak and exit.
 */
#include "merge/view/view_module.h"

#include <stdio.h>

enum { DEPTH_SHOWN = 3 };

struct shown {
	const struct tp_module_memories *memories;
	const struct tp_module_paths *paths;
	const struct tp_view_options *options;
	int64_t most[TP_MOMENT_N];	/* of each category, at a peak */
};

/* A module in a pass; for programs at each of its moments. */
struct row {
	uint32_t path;
	enum tp_module_pass pass;
	enum { PEAK, ENTRY, EXIT } moment;
	struct tp_module_memory memory;
};

static const char *const pass_word[TP_PASS_N] = {"forward", "backward"};
static const char *const moment_word[] = {[PEAK] = "peak", [ENTRY] = "entry", [EXIT] = "exit"};

static const struct tp_moment *moment_of(const struct row *row)
{
	return row->moment == PEAK    ? row->memory.peak
	       : row->moment == ENTRY ? row->memory.entry
				      : row->memory.exit;
}

static int64_t when_of(const struct row *row)
{
	return row->moment == PEAK    ? row->memory.peak_ns
	       : row->moment == ENTRY ? row->memory.entry_ns
				      : row->memory.exit_ns;
}

/* Six of them have to stand beside each other. */
static const char *short_title(uint32_t category)
{
	switch (category) {
	case TP_TENSOR_PARAMETER:
		return "params";
	case TP_TENSOR_GRADIENT:
		return "grads";
	case TP_TENSOR_OPTIMIZER:
		return "optimizer";
	case TP_TENSOR_ACTIVATION:
		return "activ.";
	default:
		return category == TP_MOMENT_INTERNAL ? "internal" : tp_tensor_category_title(category);
	}
}

static const char *field_of(uint32_t category)
{
	static char field[TP_MOMENT_N][40];

	snprintf(field[category], sizeof(field[category]), "%s_bytes",
		 category == TP_MOMENT_INTERNAL ? "internal" : tp_memcat_word(category));
	return field[category];
}

/* What takes least goes first where there is no room. */
static uint32_t less_of(const struct shown *shown, uint32_t category)
{
	uint32_t n_greater = 1;

	for (uint32_t k = 0; shown && k < TP_TENSOR_N; k++)
		n_greater += shown->most[k] > shown->most[category];
	return TP_LESS(n_greater);
}

static void put_full_name(struct tp_row *r, const struct shown *shown, uint32_t path)
{
	char title[TP_MODULE_TEXT];

	tp_row_text(r, "%s", tp_module_title(shown->paths, path, false, title, sizeof(title)));
}

/* On a terminal it stands in the first of its rows; a table that is searched has it in both. */
static void put_name(struct tp_row *r, const struct shown *shown, const struct row *row)
{
	if (tp_row_is_for_programs(r))
		put_full_name(r, shown, row->path);
	else if (row->pass == TP_PASS_FORWARD || !tp_row_is_for_terminal(r))
		tp_view_module_put(r, tp_module_paths_at(shown->paths, row->path));
}

/* Rows always have the same fields. */
static void put_columns(struct tp_row *r, const void *ctx, const void *of)
{
	const struct shown *shown = ctx;
	const struct row *row = of;

	TP_CELL(r, "module", "module", TP_UNIT_TEXT, TP_CUT | TP_TREE, "full name in the model",
		put_name(r, shown, row));
	TP_TEXT(r, "depth", NULL, 0, "depth in the tree, from 1", "%u",
		tp_module_paths_at(shown->paths, row->path)->depth);
	TP_COUNT(r, "calls", NULL, 0, "number of calls", row->memory.n_calls);
	TP_TEXT(r, "pass", "pass", 0, "forward or backward", "%s", pass_word[row->pass]);
	TP_TEXT(r, "moment", NULL, 0, "entry, peak or exit of the call with the highest peak", "%s",
		moment_word[row->moment]);
	TP_NS(r, "when_ns", NULL, 0, "time of that", when_of(row));
	TP_BYTES(r, NULL, "entry", TP_LESS(TP_TENSOR_N + 1), "", tp_moment_bytes(row->memory.entry));
	TP_BYTES(r, NULL, "exit", TP_LESS(TP_TENSOR_N + 1), "", tp_moment_bytes(row->memory.exit));
	TP_BYTES(r, "bytes", "peak", 0, "bytes of all tensors at that time", tp_moment_bytes(moment_of(row)));
	for (uint32_t i = 1; i <= TP_MOMENT_N; i++) {
		const uint32_t c = i < TP_TENSOR_N ? i : i == TP_TENSOR_N ? 0 : TP_MOMENT_INTERNAL;

		TP_WHEN(r, tp_row_is_for_programs(r) || (shown->most[c] && c != TP_MOMENT_INTERNAL))
			TP_BYTES(r, field_of(c), short_title(c), less_of(shown, c),
				 c == TP_MOMENT_INTERNAL ? "freed before their operator ended"
							 : tp_tensor_category_title(c),
				 moment_of(row)->bytes[c]);
	}
	TP_DEPTH(r, tp_module_paths_at(shown->paths, row->path)->depth - 1);
}

const struct tp_table_def tp_table_module_memory = {
	.name = "module_memory", .columns = put_columns, .row_bytes = sizeof(struct row),
	.help = "tensor memory of modules by category, at points of the forward and backward pass",
};

static void note_most(const struct tp_module_memory *memory, int64_t most[TP_MOMENT_N])
{
	for (uint32_t c = 0; memory->n_calls && c < TP_MOMENT_N; c++)
		if (memory->peak->bytes[c] > most[c])
			most[c] = memory->peak->bytes[c];
}

static void add_row(struct tp_table *table, const struct shown *shown, struct row row,
		    const struct tp_out *out)
{
	row.memory = tp_module_memories_at(shown->memories, row.path, row.pass);
	if (!row.memory.n_calls)
		return;
	if (out->rows) {
		row.moment = ENTRY;
		tp_table_add(table, &row);
	} else if (shown->options->top && !shown->options->depth &&
		   tp_module_paths_at(shown->paths, row.path)->depth > DEPTH_SHOWN) {
		return;
	}
	row.moment = PEAK;
	tp_table_add(table, &row);
	if (!out->rows)
		return;
	row.moment = EXIT;
	tp_table_add(table, &row);
}

void tp_view_module_memory(const struct tp_module_memories *memories,
			   const struct tp_module_paths *paths, const uint32_t *path, uint32_t n,
			   const struct tp_view_options *options, struct tp_out *out)
{
	struct shown shown = {.memories = memories, .paths = paths, .options = options};
	struct tp_module_memory memory;
	struct tp_table *table;

	for (uint32_t i = 0; i < n * TP_PASS_N; i++) {
		memory = tp_module_memories_at(memories, path[i / TP_PASS_N], i % TP_PASS_N);
		note_most(&memory, shown.most);
	}
	tp_out_title(out, "What fills memory at the peak of each module");
	table = tp_table_begin(&tp_table_module_memory, &shown, TP_TOP_NONE, out);
	for (uint32_t i = 0; i < n * TP_PASS_N; i++)
		add_row(table, &shown,
			(struct row){.path = path[i / TP_PASS_N], .pass = i % TP_PASS_N}, out);
	tp_table_end(table);
	tp_out_line(out, "dim",
		    "All that is alive in the process then, of the call with the highest peak%s.",
		    tp_module_memories_has_categories(memories)
			    ? "" : "; TRAINPROF_RECORD=categories says what it is for");
}

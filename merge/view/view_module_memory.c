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

enum { FIXED = 7, COLUMNS = FIXED + TP_MOMENT_N, DEPTH_SHOWN = 3 };

struct shown {
	const struct tp_module_memories *memories;
	const struct tp_module_paths *paths;
	struct tp_old_column column[COLUMNS];
	uint32_t n_columns;
	uint32_t category[TP_MOMENT_N], n_categories;
	bool is_rows;
	bool is_page;
	struct tp_old_table *table;
};

static const char *const pass_word[TP_PASS_N] = {"forward", "backward"};

static bool is_shown(const struct shown *shown, uint32_t path,
		     const struct tp_view_options *options)
{
	return shown->is_rows || !options->top ||
	       tp_module_paths_at(shown->paths, path)->depth <= DEPTH_SHOWN;
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
		return category == TP_MOMENT_INTERNAL ? "" : tp_memcat_title(category);
	}
}

/* Rows always have the same fields; in text what takes least goes first where there is no room. */
static void choose_columns(struct shown *shown, const int64_t most[TP_MOMENT_N])
{
	static const struct tp_old_column people[] = {
		{.title = "module", .may_cut = true},
		{.title = "pass"},
		{.title = "entry", .align = TP_RIGHT, .is_extra = TP_TENSOR_N + 1},
		{.title = "exit", .align = TP_RIGHT, .is_extra = TP_TENSOR_N + 1},
		{.title = "peak", .align = TP_RIGHT},
	};
	static const struct tp_old_column programs[] = {
		{.title = "module", .field = "module"},
		{.title = "depth", .field = "depth"},
		{.title = "calls", .field = "calls"},
		{.title = "pass", .field = "pass"},
		{.title = "moment", .field = "moment"},
		{.title = "when", .field = "when_ns"},
		{.title = "bytes", .field = "bytes"},
	};
	static char field[TP_MOMENT_N][40];
	const uint32_t n_fixed = shown->is_rows ? FIXED : sizeof(people) / sizeof(people[0]);

	_Static_assert(sizeof(programs) / sizeof(programs[0]) == FIXED, "columns of rows");
	for (uint32_t i = 0; i < n_fixed; i++)
		shown->column[shown->n_columns++] = shown->is_rows ? programs[i] : people[i];
	for (uint32_t i = 1; i <= TP_MOMENT_N; i++) {
		const uint32_t c = i < TP_TENSOR_N ? i : i == TP_TENSOR_N ? 0 : TP_MOMENT_INTERNAL;
		uint8_t n_greater = 1;

		if (!shown->is_rows && (!most[c] || c == TP_MOMENT_INTERNAL))
			continue;
		for (uint32_t k = 0; k < TP_TENSOR_N; k++)
			n_greater += most[k] > most[c];
		snprintf(field[c], sizeof(field[c]), "%s_bytes",
			 c == TP_MOMENT_INTERNAL ? "internal" : tp_memcat_word(c));
		shown->column[shown->n_columns++] = (struct tp_old_column){
			.title = short_title(c),
			.align = TP_RIGHT, .field = field[c], .is_extra = n_greater,
		};
		shown->category[shown->n_categories++] = c;
	}
}

static void add_categories(const struct shown *shown, const struct tp_moment *moment)
{
	for (uint32_t c = 0; c < shown->n_categories; c++)
		tp_cell_bytes(shown->table, moment->bytes[shown->category[c]]);
}

static void add_people(const struct shown *shown, uint32_t path,
		       const struct tp_module_memory *memory, enum tp_module_pass pass)
{
	/* A table that is searched and sorted has it in both. */
	if (pass == TP_PASS_FORWARD || shown->is_page)
		tp_view_module_cell(shown->table, tp_module_paths_at(shown->paths, path), false);
	else
		tp_table_cell(shown->table, "%s", "");
	tp_table_cell(shown->table, "%s", pass_word[pass]);
	tp_cell_bytes(shown->table, tp_moment_bytes(memory->entry));
	tp_cell_bytes(shown->table, tp_moment_bytes(memory->exit));
	tp_cell_bytes(shown->table, tp_moment_bytes(memory->peak));
	add_categories(shown, memory->peak);
}

static void add_programs(const struct shown *shown, uint32_t path,
			 const struct tp_module_memory *memory, enum tp_module_pass pass)
{
	static const char *const word[] = {"entry", "peak", "exit"};
	const struct tp_moment *const moment[] = {memory->entry, memory->peak, memory->exit};
	const int64_t when_ns[] = {memory->entry_ns, memory->peak_ns, memory->exit_ns};
	char title[TP_VIEW_MODULE_TEXT];

	for (uint32_t i = 0; i < sizeof(word) / sizeof(word[0]); i++) {
		tp_table_cell(shown->table, "%s",
			      tp_module_title(shown->paths, path, false, title, sizeof(title)));
		tp_table_cell(shown->table, "%u", tp_module_paths_at(shown->paths, path)->depth);
		tp_cell_count(shown->table, memory->n_calls);
		tp_table_cell(shown->table, "%s", pass_word[pass]);
		tp_table_cell(shown->table, "%s", word[i]);
		tp_cell_ns(shown->table, when_ns[i]);
		tp_cell_bytes(shown->table, tp_moment_bytes(moment[i]));
		add_categories(shown, moment[i]);
	}
}

static void note_most(const struct tp_module_memory *memory, int64_t most[TP_MOMENT_N])
{
	for (uint32_t c = 0; memory->n_calls && c < TP_MOMENT_N; c++)
		if (memory->peak->bytes[c] > most[c])
			most[c] = memory->peak->bytes[c];
}

void tp_view_module_memory(const struct tp_module_memories *memories,
			   const struct tp_module_paths *paths, const uint32_t *path, uint32_t n,
			   const struct tp_view_options *options, struct tp_out *out)
{
	struct shown shown = {.memories = memories, .paths = paths,
			      .is_rows = out->rows != TP_ROWS_NONE, .is_page = out->to};
	int64_t most[TP_MOMENT_N] = {0};
	struct tp_module_memory memory;

	for (uint32_t i = 0; i < n * TP_PASS_N; i++) {
		memory = tp_module_memories_at(memories, path[i / TP_PASS_N], i % TP_PASS_N);
		note_most(&memory, most);
	}
	tp_out_title(out, "Memory of modules, by category at the peak of each");
	choose_columns(&shown, most);
	shown.table = tp_table_new(shown.column, shown.n_columns);
	tp_table_name(shown.table, "module_memory");
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t p = 0; p < TP_PASS_N; p++) {
			memory = tp_module_memories_at(memories, path[i], p);
			if (!memory.n_calls || !is_shown(&shown, path[i], options))
				continue;
			if (shown.is_rows)
				add_programs(&shown, path[i], &memory, p);
			else
				add_people(&shown, path[i], &memory, p);
		}
	tp_table_print(shown.table, out);
	tp_out_line(out, "dim",
		    "All that is alive in the process then, of the call with the greatest peak%s.",
		    tp_module_memories_has_categories(memories)
			    ? "" : "; TRAINPROF_RECORD=categories says what it is for");
}

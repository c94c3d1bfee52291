/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_memory_blocks.c - part of the view of memory: the largest blocks of tensors, and operators
 *
 * In text blocks that are alike, step for step and layer for layer, stand in one row; rows for
 * programs have each.
 */
#include <stdio.h>
#include <stdlib.h>

#include "merge/kit/sum.h"
#include "merge/view/view_tensors.h"

/* ---- blocks ---- */

/* Blocks that are alike. */
struct kind {
	const struct tp_life *first;
	uint64_t origin;
	uint64_t n, n_lived;
	int64_t lived_ns;
	uint64_t first_step, last_step;
};

static void count_block(struct kind *kind, const struct tp_life *life)
{
	kind->n++;
	if (!life->is_alive && !life->is_older) {
		kind->n_lived++;
		kind->lived_ns = tp_add(kind->lived_ns, tp_sub(life->end_ns, life->begin_ns));
	}
	if (life->step == TP_NO_STEP)
		return;
	if (kind->first_step == TP_NO_STEP || life->step < kind->first_step)
		kind->first_step = life->step;
	if (kind->last_step == TP_NO_STEP || life->step > kind->last_step)
		kind->last_step = life->step;
}

static bool is_like(const struct kind *kind, const struct tp_life *life, uint64_t origin)
{
	const struct tp_life *of = kind->first;

	return of->bytes == life->bytes && of->category == life->category &&
	       of->name == life->name && of->device == life->device && of->proc == life->proc &&
	       kind->origin == origin &&
	       of->label == life->label;
}

/* At most n_max kinds, the largest first. NULL: out of memory. */
static struct kind *find_kinds(const struct tp_tensors_shown *shown, const struct tp_life *life,
			       uint32_t n_lives, uint32_t n_max, uint32_t *n)
{
	struct kind *kind = malloc(((size_t)n_max + 1) * sizeof(*kind));

	*n = 0;
	for (uint32_t i = 0; kind && i < n_lives; i++) {
		const uint64_t origin = tp_tensors_kind(shown, life[i].origin);
		uint32_t at = 0;

		while (at < *n && !is_like(&kind[at], &life[i], origin))
			at++;
		if (at == n_max)
			continue;
		if (at == *n)
			kind[(*n)++] = (struct kind){.first = &life[i], .origin = origin,
						     .first_step = TP_NO_STEP,
						     .last_step = TP_NO_STEP};
		count_block(&kind[at], &life[i]);
	}
	return kind;
}

static void add_kind(struct tp_old_table *table, const struct tp_tensors_shown *shown,
		     const struct kind *kind, bool is_some)
{
	const struct tp_life *life = kind->first;
	char a[32];

	tp_tensors_cell_place(table, shown, life->proc, life->device);
	tp_cell_bytes(table, life->bytes);
	tp_table_cell(table, "%s%s", tp_show_count(a, kind->n), is_some ? "+" : "");
	tp_tensors_cell_category(table, shown, life->category);
	if (kind->first_step == kind->last_step)
		tp_tensors_cell_step(table, kind->first_step);
	else
		tp_table_cell(table, "%lu-%lu", (unsigned long)kind->first_step,
			      (unsigned long)kind->last_step);
	if (kind->n_lived)
		tp_cell_ns(table, kind->lived_ns / (int64_t)kind->n_lived);
	else
		tp_table_cell(table, "%s", life->is_older ? "from before" : "to the end");
	tp_tensors_cell_operator(table, shown, life->name, "");
	tp_tensors_cell_origin(table, shown, life->origin, true);
	tp_table_cell(table, "%s", life->label ? life->label->bytes : "");
}

/* For people: what is alike in one row. */
static void print_kinds(const struct tp_tensors_shown *shown, const struct tp_life *life,
			uint32_t n_lives, bool is_all)
{
	struct tp_old_column column[] = {
		{.title = "process"},
		{.title = "device"},
		{.title = "bytes", .align = TP_RIGHT},
		{.title = "blocks", .align = TP_RIGHT},
		{.title = "category"},
		{.title = "steps", .align = TP_RIGHT},
		{.title = "lived", .align = TP_RIGHT, .is_extra = 1},
		{.title = "allocated by", .may_cut = true},
		{.title = "module", .may_cut = true},
		{.title = "line", .may_cut = true},
		{.title = "tensor", .may_cut = true},
	};
	const uint32_t skipped = shown->shows_who ? 0 : 2,
		       n_max = tp_view_memory_rows(shown->options, n_lives);
	uint32_t n_columns = sizeof(column) / sizeof(column[0]), n;
	struct kind *kind = find_kinds(shown, life, n_lives, n_max, &n);
	struct tp_old_table *table;

	if (!kind)
		return;
	if (!shown->has_lines) {
		column[n_columns - 2] = column[n_columns - 1];
		n_columns--;
	}
	if (!shown->has_modules) {
		for (uint32_t i = 8; i + 1 < n_columns; i++)
			column[i] = column[i + 1];
		n_columns--;
	}
	table = tp_table_new(column + skipped, n_columns - skipped);
	for (uint32_t i = 0; i < n; i++)
		add_kind(table, shown, &kind[i],
			 !is_all && kind[i].first->bytes == life[n_lives - 1].bytes);
	tp_table_print(table, shown->out);
	free(kind);
}

static void print_each(const struct tp_tensors_shown *shown, const struct tp_life *life, uint32_t n)
{
	struct tp_old_column column[] = {
		{.title = "process", .field = "process"},
		{.title = "device", .field = "device"},
		{.title = "bytes", .align = TP_RIGHT, .field = "bytes"},
		{.title = "category", .field = "category"},
		{.title = "step", .align = TP_RIGHT, .field = "step"},
		{.title = "allocated", .align = TP_RIGHT, .field = "allocated_ns"},
		{.title = "freed", .align = TP_RIGHT, .field = "freed_ns"},
		{.title = "lived", .align = TP_RIGHT, .field = "lifetime_ns"},
		{.title = "allocated by", .field = "operator"},
		{.title = "tensor", .field = "tensor"},
		{.title = "module", .field = "module"},
		{.title = "line", .field = "line"},
		{.field = "internal"},	/* both in rows only */
		{.field = "temporary_ns"},
	};
	const bool is_rows = shown->out->rows != TP_ROWS_NONE;
	uint32_t n_columns = sizeof(column) / sizeof(column[0]) - (is_rows ? 0 : 2);
	char module[TP_TENSORS_TEXT], line[TP_TENSORS_TEXT];
	struct tp_old_table *table;

	/* Rows always have the same fields. */
	if (!shown->has_modules)
		column[n_columns - 2] = column[n_columns - 1];
	n_columns -= !shown->has_modules + !shown->has_lines;
	table = tp_table_new(column, n_columns);

	tp_table_name(table, "tensor_blocks");
	for (uint32_t i = 0; i < n; i++, life++) {
		tp_tensors_cell_place(table, shown, life->proc, life->device);
		tp_cell_bytes(table, life->bytes);
		tp_tensors_cell_category(table, shown, life->category);
		tp_tensors_cell_step(table, life->step);
		if (life->is_older)
			tp_table_cell(table, "%s", is_rows ? "" : "before");
		else
			tp_cell_ns(table, life->begin_ns);
		if (life->is_alive)
			tp_table_cell(table, "%s", is_rows ? "" : "later");
		else
			tp_cell_ns(table, life->end_ns);
		if (life->is_alive || life->is_older)
			tp_table_cell(table, "%s", "");
		else
			tp_cell_ns(table, tp_sub(life->end_ns, life->begin_ns));
		tp_tensors_cell_operator(table, shown, life->name, "");
		tp_table_cell(table, "%s", life->label ? life->label->bytes : "");
		tp_tensors_show_origin(shown, life->origin, module, line);
		if (shown->has_modules)
			tp_table_cell(table, "%s", module);
		if (shown->has_lines)
			tp_table_cell(table, "%s", line);
		if (is_rows) {
			tp_cell_count(table, life->is_internal);
			tp_cell_ns(table, life->temporary_ns);
		}
	}
	tp_table_print(table, shown->out);
}

void tp_view_tensors_blocks(const struct tp_tensors_shown *shown)
{
	/* There is room for one of them. */
	struct tp_tensors_shown narrow = *shown;
	bool is_all;
	uint32_t n;
	const struct tp_life *life = tp_tensormem_largest(shown->mem, &n, &is_all);

	if (!n)
		return;
	narrow.has_lines &= !shown->has_modules;
	tp_out_title(shown->out, "The largest blocks of tensors");
	if (tp_out_is_full(shown->out))
		print_each(shown, life, tp_view_memory_rows(shown->options, n));
	else
		print_kinds(&narrow, life, n, is_all);
}

/* ---- operators ---- */

/* Of a device of a process (NULL: of all). */
static void print_operators(const struct tp_tensors_shown *shown, const struct tp_proc *only,
			    uint32_t only_device)
{
	static const struct tp_old_column column[] = {
		{.title = "process", .field = "process"},
		{.title = "device", .field = "device"},
		{.title = "operator", .may_cut = true, .field = "operator"},
		{.title = "calls", .align = TP_RIGHT, .field = "calls"},
		{.title = "increase", .align = TP_RIGHT, .is_extra = 2, .field = "increase_bytes"},
		{.title = "self incr.", .align = TP_RIGHT, .field = "self_increase_bytes"},
		{.title = "allocs", .align = TP_RIGHT, .is_extra = 4, .field = "allocations"},
		{.title = "self allocs", .align = TP_RIGHT, .is_extra = 1,
		 .field = "self_allocations"},
		{.title = "allocated", .align = TP_RIGHT, .is_extra = 3, .field = "allocated_bytes"},
		{.title = "self alloc.", .align = TP_RIGHT, .field = "self_allocated_bytes"},
	};
	const struct tp_memcat *cat = tp_tensormem_cat(shown->mem);
	const uint32_t skipped = shown->shows_who ? 0 : 2;
	struct tp_old_table *table = tp_table_new(column + skipped,
					      sizeof(column) / sizeof(column[0]) - skipped);
	uint32_t device, n_left = 0;
	const struct tp_memops *ops;
	const struct tp_proc *proc;
	char a[32];

	tp_table_name(table, "tensor_operators");
	for (uint32_t k = 0; (ops = tp_memcat_operators(cat, k, &proc, &device)); k++) {
		const uint32_t n = tp_view_memory_rows(shown->options, ops->n);

		if (only && (proc != only || device != only_device))
			continue;
		n_left += ops->n - n;
		for (uint32_t i = 0; i < n; i++) {
			const struct tp_memop *op = &ops->op[i];

			tp_tensors_cell_place(table, shown, proc, device);
			tp_tensors_cell_operator(table, shown, op->name, "");
			tp_cell_count(table, op->calls);
			tp_cell_bytes(table, op->bytes);
			tp_cell_bytes(table, op->self_bytes);
			tp_cell_count(table, op->allocs);
			tp_cell_count(table, op->self_allocs);
			tp_cell_bytes(table, op->alloc_bytes);
			tp_cell_bytes(table, op->self_alloc_bytes);
		}
	}
	tp_table_print(table, shown->out);
	if (n_left)
		tp_out_line(shown->out, "dim", "%s more rows: --top 0 shows all.",
			    tp_show_count(a, n_left));
}

void tp_view_tensors_operators(const struct tp_tensors_shown *shown, const struct tp_proc *proc,
			       uint32_t device)
{
	char place[128];

	if (tp_out_is_full(shown->out)) {
		tp_out_title(shown->out, "Tensor memory by operator");
		print_operators(shown, NULL, 0);
	} else {
		tp_out_title(shown->out, "Tensor memory by operator: %s",
			     tp_tensors_place(place, shown, proc, device));
		print_operators(shown, proc, device);
	}
}

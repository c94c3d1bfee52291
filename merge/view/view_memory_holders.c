/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_memory_holders.c - part of the view of memory: who held it, at the peak and when torch was
 * out of memory
 *
 * In text the layers of a model stand in one row; rows for programs have each module.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/sum.h"
#include "merge/model/label.h"
#include "merge/view/view_tensors.h"

enum { LABEL = TP_VIEW_MEMORY_LABEL };

struct row {
	struct tp_holder holder;
	uint64_t kind;
};

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->holder.bytes != y->holder.bytes)
		return x->holder.bytes < y->holder.bytes ? 1 : -1;
	return (x->kind > y->kind) - (x->kind < y->kind);
}

/* Those that are called the same become one. NULL: out of memory. */
static struct row *join(const struct tp_tensors_shown *shown, const struct tp_holder *holder,
			uint32_t n, uint32_t *n_rows)
{
	struct row *row = malloc(((size_t)n + 1) * sizeof(*row));

	*n_rows = 0;
	for (uint32_t i = 0; row && i < n; i++) {
		const uint64_t kind = tp_tensors_kind(shown, holder[i].origin);
		uint32_t at = 0;

		while (at < *n_rows && (row[at].kind != kind ||
					row[at].holder.name != holder[i].name ||
					row[at].holder.category != holder[i].category))
			at++;
		if (at == *n_rows) {
			row[(*n_rows)++] = (struct row){holder[i], kind};
			continue;
		}
		row[at].holder.bytes = tp_add(row[at].holder.bytes, holder[i].bytes);
		row[at].holder.n_blocks += holder[i].n_blocks;
	}
	if (row)
		qsort(row, *n_rows, sizeof(*row), compare_rows);
	return row;
}

void tp_view_tensors_holders(const struct tp_tensors_shown *shown, const struct tp_proc *proc,
			     uint32_t device, const char *name, const struct tp_holder *holder,
			     uint32_t n, int64_t all)
{
	struct tp_old_column column[] = {
		{.title = "process", .field = "process"},
		{.title = "device", .field = "device"},
		{.title = "bytes", .align = TP_RIGHT, .field = "peak_bytes"},
		{.title = "%", .align = TP_RIGHT, .field = "percent"},
		{.title = "blocks", .align = TP_RIGHT, .is_extra = 1, .field = "peak_blocks"},
		{.title = "category", .field = "category"},
		{.title = "allocated by", .may_cut = true, .field = "operator"},
		{.title = "module", .may_cut = true, .field = "module"},
		{.title = "line", .may_cut = true, .field = "line"},
	};
	const uint32_t skipped = shown->shows_who ? 0 : 2;
	uint32_t n_columns = sizeof(column) / sizeof(column[0]), n_rows, n_shown;
	struct row *row = join(shown, holder, n, &n_rows);
	struct tp_old_table *table;
	char a[32];

	if (!row || !n_rows) {
		free(row);
		return;
	}
	if (!shown->has_modules)
		column[n_columns - 2] = column[n_columns - 1];
	n_columns -= !shown->has_modules + !shown->has_lines;
	n_shown = tp_view_memory_rows(shown->options, n_rows);
	table = tp_table_new(column + skipped, n_columns - skipped);
	tp_table_name(table, name);
	for (uint32_t i = 0; i < n_shown; i++) {
		const struct tp_holder *of = &row[i].holder;

		tp_tensors_cell_place(table, shown, proc, device);
		tp_cell_bytes(table, of->bytes);
		tp_cell_percent(table, (double)of->bytes, (double)all);
		if (of->n_blocks || shown->out->rows)
			tp_cell_count(table, of->n_blocks);
		else
			tp_table_cell(table, "%s", "");
		tp_tensors_cell_category(table, shown, of->category);
		tp_tensors_cell_operator(table, shown, of->name, "(before the window)");
		tp_tensors_cell_origin(table, shown, of->origin, !shown->out->rows);
	}
	tp_table_print(table, shown->out);
	if (n_shown < n_rows)
		tp_out_line(shown->out, "dim", "%s more rows: --top 0 shows all.",
			    tp_show_count(a, n_rows - n_shown));
	free(row);
}

/* ---- out of memory ---- */

static const struct tp_pinned *find_pin(const struct tp_tensors_shown *shown,
					const struct tp_allocator_oom *oom)
{
	uint32_t n;
	const struct tp_mempeak_track *track = tp_tensormem_by_step(shown->mem, &n);

	for (uint32_t i = 0; i < n; i++)
		if (track[i].proc == oom->proc && track[i].device == oom->device)
			return oom->pin < track[i].n_pins ? &track[i].pin[oom->pin] : NULL;
	return NULL;
}

static void print_what_was_there(const struct tp_tensors_shown *shown,
				 const struct tp_allocator_oom *oom)
{
	char a[32], b[32], c[32], others[64] = "", total[64] = "";

	if (oom->reserved < 0)
		return;
	if (oom->others_bytes > 0)
		snprintf(others, sizeof(others), ", %s used by others",
			 tp_show_bytes(a, oom->others_bytes));
	if (oom->total_bytes > 0)
		snprintf(total, sizeof(total), " of %s", tp_show_bytes(a, oom->total_bytes));
	tp_out_item(shown->out, "", LABEL, "then", "%s in tensors, %s%s reserved: %s not in use%s",
		    tp_show_bytes(a, oom->allocated), tp_show_bytes(b, oom->reserved), total,
		    tp_show_bytes(c, tp_sub(oom->reserved, oom->allocated)), others);
	if (tp_sub(oom->reserved, oom->allocated) >= oom->asked_bytes)
		tp_out_item(shown->out, "yellow", LABEL, "fragmented",
			    "what was reserved and not in use would have been enough, but was not "
			    "in one piece: try PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
}

static void print_oom(const struct tp_tensors_shown *shown, const struct tp_allocator_oom *oom)
{
	const struct tp_pinned *pin = find_pin(shown, oom);
	char place[128], a[32], step[48] = "", module[TP_TENSORS_TEXT], line[TP_TENSORS_TEXT];
	int64_t all = 0;

	tp_out_title(shown->out, "Out of memory: %s",
		     tp_tensors_place(place, shown, oom->proc, oom->device));
	if (oom->step != TP_NO_STEP)
		snprintf(step, sizeof(step), " in step %lu", (unsigned long)oom->step);
	tp_out_item(shown->out, "red", LABEL, "asked for", "%s,%s",
		    tp_show_bytes(a, oom->asked_bytes), *step ? step : " outside of steps");
	tp_tensors_show_origin(shown, oom->origin, module, line);
	tp_out_item(shown->out, "", LABEL, "by", "%s%s%s%s%s",
		    oom->name == TP_NO_NAME ? "no operator"
					    : tp_names_at(shown->names, oom->name)->bytes,
		    *module ? " in " : "", module, *line ? " at " : "", line);
	print_what_was_there(shown, oom);
	for (uint32_t c = 0; pin && c < TP_TENSOR_N; c++)
		all = tp_add(all, pin->bytes[c]);
	if (all)
		tp_view_tensors_holders(shown, oom->proc, oom->device, "tensor_oom_holders",
					pin->holder, pin->n_holders, all);
}

static void print_oom_rows(const struct tp_tensors_shown *shown, const struct tp_allocator_oom *oom,
			   uint32_t n)
{
	static const struct tp_old_column column[] = {
		{.title = "process", .field = "process"},
		{.title = "device", .field = "device"},
		{.title = "at", .align = TP_RIGHT, .field = "time_ns"},
		{.title = "step", .align = TP_RIGHT, .field = "step"},
		{.title = "asked for", .align = TP_RIGHT, .field = "asked_bytes"},
		{.title = "allocated", .align = TP_RIGHT, .field = "allocated_bytes"},
		{.title = "reserved", .align = TP_RIGHT, .field = "reserved_bytes"},
		{.title = "by", .field = "operator"},
		{.title = "module", .field = "module"},
		{.title = "line", .field = "line"},
	};
	struct tp_old_table *table = tp_table_new(column, sizeof(column) / sizeof(column[0]));
	char module[TP_TENSORS_TEXT], line[TP_TENSORS_TEXT];

	tp_table_name(table, "tensor_oom");
	for (uint32_t i = 0; i < n; i++) {
		tp_tensors_cell_place(table, shown, oom[i].proc, oom[i].device);
		tp_cell_ns(table, oom[i].ns);
		tp_tensors_cell_step(table, oom[i].step);
		tp_cell_bytes(table, oom[i].asked_bytes);
		tp_cell_bytes(table, oom[i].allocated > 0 ? oom[i].allocated : 0);
		tp_cell_bytes(table, oom[i].reserved > 0 ? oom[i].reserved : 0);
		tp_tensors_cell_operator(table, shown, oom[i].name, "");
		tp_tensors_show_origin(shown, oom[i].origin, module, line);
		tp_table_cell(table, "%s", module);
		tp_table_cell(table, "%s", line);
	}
	tp_table_print(table, shown->out);
}

void tp_view_tensors_ooms(const struct tp_tensors_shown *shown)
{
	uint32_t n;
	uint64_t n_all;
	const struct tp_allocator_oom *oom =
		tp_allocator_ooms(tp_tensormem_allocator(shown->mem), &n, &n_all);
	char a[32];

	if (!n)
		return;
	print_oom(shown, &oom[0]);
	if (tp_out_is_full(shown->out))
		print_oom_rows(shown, oom, n);
	if (n_all > 1)
		tp_out_line(shown->out, "dim", "It was out of memory %s times; this was the first.",
			    tp_show_count(a, n_all));
}

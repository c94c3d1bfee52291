/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_memory_holders.c - part of the view of memory: who held it, at the peak and when torch was
 * out of memory
 *
 * In text the layers of a model stand in one row; rows for programs have each module.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/sum.h"
#include "merge/model/label.h"
#include "merge/view/memory/view_tensors.h"

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

struct shown {
	const struct tp_tensors_shown *tensors;
	const struct tp_proc *proc;
	uint32_t device;
	int64_t all;
};

static void put_columns(struct tp_row *r, const void *ctx, const void *row)
{
	static const struct tp_holder none;
	static const struct shown nowhere;
	const struct shown *shown = ctx ? ctx : &nowhere;
	const struct tp_holder *of = row ? &((const struct row *)row)->holder : &none;

	tp_tensors_put_place(r, shown->tensors, shown->proc, shown->device);
	TP_BYTES(r, "peak_bytes", "bytes", 0, "bytes at the peak", of->bytes);
	TP_PERCENT(r, "percent", "%", 0, "part of all then", of->bytes, shown->all);
	TP_CELL(r, "peak_blocks", "blocks", TP_UNIT_COUNT, TP_LESS(1), "number of blocks",
		of->n_blocks || tp_row_is_for_programs(r) ? tp_row_count(r, of->n_blocks) : (void)0);
	TP_CELL(r, "category", "category", TP_UNIT_TEXT, 0, "what for",
		tp_tensors_put_category(r, of->category, of->name));
	TP_CELL(r, "operator", "allocated by", TP_UNIT_TEXT, TP_CUT, "operator that allocated it",
		tp_tensors_put_operator(r, shown->tensors, of->name, "(before the window)"));
	tp_tensors_put_origin(r, shown->tensors, of->origin, !tp_row_is_for_programs(r));
}

const struct tp_table_def tp_table_tensor_holders = {
	.name = "tensor_holders", .columns = put_columns, .help = "who held tensor memory at its peak",
};
const struct tp_table_def tp_table_tensor_oom_holders = {
	.name = "tensor_oom_holders", .columns = put_columns,
	.help = "who held tensor memory when the first allocation failed",
};

void tp_view_tensors_holders(const struct tp_tensors_shown *shown, const struct tp_proc *proc,
			     uint32_t device, const struct tp_table_def *table,
			     const struct tp_holder *holder, uint32_t n, int64_t all)
{
	const struct shown of = {shown, proc, device, all};
	uint32_t n_rows, n_left;
	struct row *row = join(shown, holder, n, &n_rows);

	if (row && n_rows) {
		n_left = tp_table_show(table, &of, row, n_rows, sizeof(*row),
				       tp_view_memory_rows(shown->options, n_rows), shown->out);
		tp_out_left(shown->out, n_left, "rows");
	}
	free(row);
}

/* What stays from step to step, if any is seen to; else the largest that was seen to be allocated. */
static const struct tp_holder *find_answer(const struct row *row, uint32_t n)
{
	const struct tp_holder *largest = NULL;

	for (uint32_t i = 0; i < n; i++) {
		if (row[i].holder.name == TP_NO_NAME)
			continue;
		if (row[i].holder.category == TP_TENSOR_UNKNOWN)
			return &row[i].holder;
		if (!largest)
			largest = &row[i].holder;
	}
	return largest;
}

/* Bytes that were there before the window: nobody was seen to allocate them. */
static int64_t older_of(const struct row *row, uint32_t n)
{
	int64_t bytes = 0;

	for (uint32_t i = 0; i < n; i++)
		if (row[i].holder.name == TP_NO_NAME)
			bytes = tp_add(bytes, row[i].holder.bytes);
	return bytes;
}

void tp_view_tensors_answer(const struct tp_tensors_shown *shown, const struct tp_mempeak_track *track)
{
	const struct tp_stretch *peak = &track->stretch[track->best];
	char a[32], b[32], c[32], step[48] = "", module[TP_TENSORS_TEXT], line[TP_TENSORS_TEXT] = "";
	uint32_t n_rows;
	struct row *row = join(shown, track->holder, track->n_holders, &n_rows);
	const struct tp_holder *holder = row ? find_answer(row, n_rows) : NULL;
	int64_t older = row && holder ? older_of(row, n_rows) : 0;

	if (peak->step != TP_NO_STEP)
		snprintf(step, sizeof(step), " in step %" PRIu64, peak->step);
	if (holder)
		tp_tensors_show_origin(shown, holder->origin, module, line);
	if (!tp_stretch_bytes(peak))
		tp_out_line(shown->out, "", "No block of tensor memory is known at its peak.");
	else if (!holder)
		tp_out_line(shown->out, "bold", "Tensor memory peaks at %s%s; who allocated it is not known.",
			    tp_show_bytes(a, tp_stretch_bytes(peak)), step);
	else
		tp_out_line(shown->out, "bold", "Tensor memory peaks at %s%s; %s%s%s%s: %s, allocated by %s%s%s.",
			    tp_show_bytes(a, tp_stretch_bytes(peak)), step,
			    older > holder->bytes ? tp_show_bytes(c, older) : "",
			    older > holder->bytes ? " is older than the window; " : "",
			    holder->category == TP_TENSOR_UNKNOWN ? ""
			    : older > holder->bytes		  ? "the largest allocated in it is "
								  : "the largest holder is ",
			    holder->category == TP_TENSOR_UNKNOWN
				    ? "kept across steps" : tp_tensor_category_title(holder->category),
			    tp_show_bytes(b, holder->bytes), tp_names_at(shown->names, holder->name)->bytes,
			    *line ? " at " : "", line);
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
	tp_out_item(shown->out, "red", LABEL, "requested", "%s,%s",
		    tp_show_bytes(a, oom->asked_bytes), *step ? step : " outside steps");
	tp_tensors_show_origin(shown, oom->origin, module, line);
	tp_out_item(shown->out, "", LABEL, "by", "%s%s%s%s%s",
		    oom->name == TP_NO_NAME ? "no operator"
					    : tp_names_at(shown->names, oom->name)->bytes,
		    *module ? " in " : "", module, *line ? " at " : "", line);
	print_what_was_there(shown, oom);
	for (uint32_t c = 0; pin && c < TP_TENSOR_N; c++)
		all = tp_add(all, pin->bytes[c]);
	if (all)
		tp_view_tensors_holders(shown, oom->proc, oom->device,
					&tp_table_tensor_oom_holders, pin->holder, pin->n_holders, all);
}

static void put_oom_origin(struct tp_row *r, const struct tp_tensors_shown *shown,
			   const struct tp_allocator_oom *of, bool is_module)
{
	char module[TP_TENSORS_TEXT], line[TP_TENSORS_TEXT];

	tp_tensors_show_origin(shown, of->origin, module, line);
	tp_row_text(r, "%s", is_module ? module : line);
}

static void put_oom(struct tp_row *r, const void *ctx, const void *row)
{
	static const struct tp_allocator_oom none;
	const struct tp_allocator_oom *of = row ? row : &none;

	tp_tensors_put_place(r, ctx, of->proc, of->device);
	TP_NS(r, "time_ns", "at", 0, "when it was", of->ns);
	TP_CELL(r, "step", "step", TP_UNIT_NUMBER, 0, "in which step", tp_tensors_put_step(r, of->step));
	TP_BYTES(r, "asked_bytes", "requested", 0, "bytes requested", of->asked_bytes);
	TP_BYTES(r, "allocated_bytes", "allocated", 0, "bytes in tensors then",
		 of->allocated > 0 ? of->allocated : 0);
	TP_BYTES(r, "reserved_bytes", "reserved", 0, "bytes reserved then",
		 of->reserved > 0 ? of->reserved : 0);
	TP_CELL(r, "operator", "by", TP_UNIT_TEXT, 0, "operator that requested it",
		tp_tensors_put_operator(r, ctx, of->name, ""));
	TP_CELL(r, "module", "module", TP_UNIT_TEXT, 0, "nn.Module that it is of",
		put_oom_origin(r, ctx, of, true));
	TP_CELL(r, "line", "line", TP_UNIT_PLACE, 0, "line of the program",
		put_oom_origin(r, ctx, of, false));
}

const struct tp_table_def tp_table_tensor_oom = {
	.name = "tensor_oom", .columns = put_oom, .help = "allocations that failed",
};

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
		tp_table_show(&tp_table_tensor_oom, shown, oom, n, sizeof(*oom), TP_TOP_ASKED,
			      shown->out);
	if (n_all > 1)
		tp_out_line(shown->out, "dim", "It was out of memory %s times; this was the first.",
			    tp_show_count(a, n_all));
}

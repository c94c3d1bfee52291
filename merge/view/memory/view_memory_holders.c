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

enum {
	LABEL = TP_VIEW_MEMORY_LABEL,
	GROWTH_STEPS = 3,	/* fewer say nothing of growth */
};

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
	TP_PERCENT(r, "percent", "%", 0, "share of all at that time", of->bytes, shown->all);
	TP_CELL(r, "peak_blocks", "blocks", TP_UNIT_COUNT, TP_LESS(1), "number of blocks",
		of->n_blocks || tp_row_is_for_programs(r) ? tp_row_count(r, of->n_blocks) : (void)0);
	TP_CELL(r, "category", "category", TP_UNIT_TEXT, 0, "category",
		tp_tensors_put_category(r, of->category, of->name));
	TP_CELL(r, "operator", "allocated by", TP_UNIT_TEXT, TP_CUT, "operator that allocated it",
		tp_tensors_put_operator(r, shown->tensors, of->name, "(before the window)"));
	tp_tensors_put_origin(r, shown->tensors, of->origin, !tp_row_is_for_programs(r));
}

const struct tp_table_def tp_table_tensor_holders = {
	.name = "tensor_holders", .columns = put_columns, .help = "holders of tensor memory at its peak",
};
const struct tp_table_def tp_table_tensor_oom_holders = {
	.name = "tensor_oom_holders", .columns = put_columns,
	.help = "holders of tensor memory when the first allocation failed",
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

/* Seen to be allocated, for nothing that would be known. */
static bool is_kept(const struct tp_holder *holder)
{
	return holder->name != TP_NO_NAME && holder->category == TP_TENSOR_UNKNOWN;
}

int64_t tp_view_tensors_kept_bytes(const struct tp_mempeak_track *track)
{
	int64_t bytes = 0;

	for (uint32_t i = 0; i < track->n_holders; i++)
		if (is_kept(&track->holder[i]))
			bytes = tp_add(bytes, track->holder[i].bytes);
	return bytes;
}

/* For people: programs, and the page's picture, have them among all holders. */
static const struct tp_table_def kept_def = {.columns = put_columns};

void tp_view_tensors_kept(const struct tp_tensors_shown *shown, const struct tp_mempeak_track *track)
{
	const struct shown of = {shown, track->proc, track->device,
				 tp_stretch_bytes(&track->stretch[track->best])};
	uint32_t n_rows, n_kept = 0;
	struct row *row = join(shown, track->holder, track->n_holders, &n_rows);
	char a[32];

	for (uint32_t i = 0; row && i < n_rows; i++)
		if (is_kept(&row[i].holder))
			row[n_kept++] = row[i];
	if (n_kept) {
		tp_out_title(shown->out, "What is kept across steps, by who allocated it: %s at the peak",
			     tp_show_bytes(a, tp_view_tensors_kept_bytes(track)));
		n_rows = tp_table_show(&kept_def, &of, row, n_kept, sizeof(*row),
				       tp_view_memory_rows(shown->options, n_kept), shown->out);
		tp_out_left(shown->out, n_rows, "rows");;
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
		if (is_kept(&row[i].holder))
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

/* Bytes per step by which peaks of steps grow, where nearly each is higher than the one before; else 0. */
static int64_t find_growth(const struct tp_mempeak_track *track)
{
	int64_t first = 0, last = 0;
	uint32_t n = 0, n_higher = 0;

	for (uint32_t i = 0; i < track->n_stretches; i++) {
		const int64_t bytes = tp_stretch_bytes(&track->stretch[i]);

		if (track->stretch[i].step == TP_NO_STEP)
			continue;
		first = n ? first : bytes;
		n_higher += n && bytes > last;
		last = bytes;
		n++;
	}
	return n > GROWTH_STEPS && n_higher * 10 >= (n - 1) * 9 ? tp_sub(last, first) / (n - 1) : 0;
}

void tp_view_tensors_answer(const struct tp_tensors_shown *shown, const struct tp_mempeak_track *track)
{
	const struct tp_stretch *peak = &track->stretch[track->best];
	char a[32], b[32], c[32], step[48] = "", grows[64] = "", module[TP_TENSORS_TEXT], line[TP_TENSORS_TEXT] = "";
	const int64_t growth = find_growth(track);
	uint32_t n_rows;
	struct row *row = join(shown, track->holder, track->n_holders, &n_rows);
	const struct tp_holder *holder = row ? find_answer(row, n_rows) : NULL;
	int64_t older = row && holder ? older_of(row, n_rows) : 0;

	if (peak->step != TP_NO_STEP)
		snprintf(step, sizeof(step), " in step %" PRIu64, peak->step);
	if (growth > 0)
		snprintf(grows, sizeof(grows), " and grows by %s per step", tp_show_bytes(a, growth));
	if (holder)
		tp_tensors_show_origin(shown, holder->origin, module, line);
	if (!tp_stretch_bytes(peak))
		tp_out_line(shown->out, "", "No block of tensor memory is known at its peak.");
	else if (!holder)
		tp_out_line(shown->out, "bold", "Tensor memory peaks at %s%s%s; who allocated it is not known.",
			    tp_show_bytes(a, tp_stretch_bytes(peak)), step, grows);
	else
		tp_out_line(shown->out, "bold", "Tensor memory peaks at %s%s%s; %s%s%s%s: %s, allocated by %s%s%s.",
			    tp_show_bytes(a, tp_stretch_bytes(peak)), step, grows,
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

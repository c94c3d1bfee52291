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
#include "merge/view/memory/view_tensors.h"

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

/* For people: what is alike in one row. */
struct kinds {
	const struct tp_tensors_shown *shown;
	int64_t some_bytes;	/* of blocks of this size not all are known; -1: all are */
};

static void put_steps(struct tp_row *r, const struct kind *kind)
{
	if (kind->first_step == kind->last_step)
		tp_tensors_put_step(r, kind->first_step);
	else
		tp_row_text(r, "%lu-%lu", (unsigned long)kind->first_step,
			    (unsigned long)kind->last_step);
}

static void put_lived(struct tp_row *r, const struct kind *kind)
{
	if (kind->n_lived)
		tp_row_integer(r, kind->lived_ns / (int64_t)kind->n_lived);
	else
		tp_row_text(r, "%s", kind->first->is_older ? "older than window" : "past window");
}

static void put_kind(struct tp_row *r, const void *ctx, const void *of)
{
	static const struct tp_life none;
	const struct kinds *kinds = ctx;
	const struct kind *kind = of;
	const struct tp_life *life = of ? kind->first : &none;
	char a[32];

	tp_tensors_put_place(r, kinds->shown, life->proc, life->device);
	TP_BYTES(r, NULL, "bytes", 0, "", life->bytes);
	TP_TEXT(r, NULL, "blocks", TP_TO_RIGHT, "", "%s%s", tp_show_count(a, kind->n),
		life->bytes == kinds->some_bytes ? "+" : "");
	TP_CELL(r, NULL, "category", TP_UNIT_TEXT, 0, "", tp_tensors_put_category(r, life->category, life->name));
	TP_CELL(r, NULL, "steps", TP_UNIT_NUMBER, 0, "", put_steps(r, kind));
	TP_CELL(r, NULL, "lived", TP_UNIT_NS, TP_LESS(1), "", put_lived(r, kind));
	TP_CELL(r, NULL, "allocated by", TP_UNIT_TEXT, TP_CUT, "",
		tp_tensors_put_operator(r, kinds->shown, life->name, ""));
	tp_tensors_put_origin(r, kinds->shown, life->origin, true);
	TP_TEXT(r, NULL, "tensor", TP_CUT, "", "%s", life->label ? life->label->bytes : "");
}

static const struct tp_table_def kinds_def = {.columns = put_kind};

static void print_kinds(const struct tp_tensors_shown *shown, const struct tp_life *life,
			uint32_t n_lives, bool is_all)
{
	const struct kinds kinds = {shown, is_all ? -1 : life[n_lives - 1].bytes};
	uint32_t n;
	struct kind *kind = find_kinds(shown, life, n_lives,
				       tp_view_memory_rows(shown->options, n_lives), &n);

	if (kind)
		tp_table_show(&kinds_def, &kinds, kind, n, sizeof(*kind), TP_TOP_NONE, shown->out);
	free(kind);
}

/* Its begin or end, where it is in a window; else a word for people. */
static void put_moment(struct tp_row *r, int64_t ns, bool is_known, const char *word)
{
	if (is_known)
		tp_row_integer(r, ns);
	else if (!tp_row_is_for_programs(r))
		tp_row_text(r, "%s", word);
}

static void put_block(struct tp_row *r, const void *ctx, const void *of)
{
	static const struct tp_life none;
	const struct tp_tensors_shown *shown = ctx;
	const struct tp_life *life = of ? of : &none;

	tp_tensors_put_place(r, shown, life->proc, life->device);
	TP_BYTES(r, "bytes", "bytes", 0, "size", life->bytes);
	TP_CELL(r, "category", "category", TP_UNIT_TEXT, 0, "category",
		tp_tensors_put_category(r, life->category, life->name));
	TP_CELL(r, "step", "step", TP_UNIT_NUMBER, 0, "step in which it was allocated",
		tp_tensors_put_step(r, life->step));
	TP_CELL(r, "allocated_ns", "allocated", TP_UNIT_NS, 0, "time of that",
		put_moment(r, life->begin_ns, !life->is_older, "before window"));
	TP_CELL(r, "freed_ns", "freed", TP_UNIT_NS, 0, "time of that",
		put_moment(r, life->end_ns, !life->is_alive, "later"));
	TP_CELL(r, "lifetime_ns", "lived", TP_UNIT_NS, 0, "time from allocation to free",
		life->is_alive || life->is_older
			? (void)0 : tp_row_integer(r, tp_sub(life->end_ns, life->begin_ns)));
	TP_CELL(r, "operator", "allocated by", TP_UNIT_TEXT, 0, "operator that allocated it",
		tp_tensors_put_operator(r, shown, life->name, ""));
	TP_TEXT(r, "tensor", "tensor", 0, "name of its tensor", "%s",
		life->label ? life->label->bytes : "");
	tp_tensors_put_origin(r, shown, life->origin, false);
	TP_COUNT(r, "internal", NULL, 0, "freed before its operator ended, or internal to a collective",
		 life->is_internal);
	TP_NS(r, "temporary_ns", NULL, 0, "time as temporary memory before it became a gradient",
	      life->temporary_ns);
	TP_CELL(r, "immediate_operator", NULL, TP_UNIT_TEXT, 0, "innermost operator in which it was allocated",
		tp_tensors_put_operator(r, shown, life->inner, ""));
	TP_CELL(r, "immediate_parent", NULL, TP_UNIT_TEXT, 0, "parent of that operator",
		tp_tensors_put_operator(r, shown, life->parent, ""));
}

const struct tp_table_def tp_table_tensor_blocks = {
	.name = "tensor_blocks", .columns = put_block, .help = "the largest blocks of tensors",
};

static void print_each(const struct tp_tensors_shown *shown, const struct tp_life *life, uint32_t n)
{
	tp_table_show(&tp_table_tensor_blocks, shown, life, n, sizeof(*life), TP_TOP_NONE, shown->out);
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
	tp_out_title(shown->out, "Which blocks of tensors are the largest");
	if (tp_out_is_full(shown->out))
		print_each(shown, life, tp_view_memory_rows(shown->options, n));
	else
		print_kinds(&narrow, life, n, is_all);
}

/* ---- operators ---- */

struct operator {
	const struct tp_proc *proc;
	uint32_t device;
	const struct tp_memop *op;
};

static void put_operator(struct tp_row *r, const void *ctx, const void *of)
{
	static const struct tp_memop none;
	const struct operator *row = of;
	const struct tp_memop *op = of ? row->op : &none;

	tp_tensors_put_place(r, ctx, of ? row->proc : NULL, of ? row->device : 0);
	TP_CELL(r, "operator", "operator", TP_UNIT_TEXT, TP_CUT, "name",
		tp_tensors_put_operator(r, ctx, op->name, ""));
	TP_COUNT(r, "calls", "calls", 0, "number of calls", op->calls);
	TP_BYTES(r, "increase_bytes", "increase", TP_LESS(2), "bytes allocated minus freed, total", op->bytes);
	TP_BYTES(r, "self_increase_bytes", "self incr.", 0, "the same, self",
		 op->self_bytes);
	TP_COUNT(r, "allocations", "allocs", TP_LESS(4), "number of allocations, total", op->allocs);
	TP_COUNT(r, "self_allocations", "self allocs", TP_LESS(1), "the same, self",
		 op->self_allocs);
	TP_BYTES(r, "allocated_bytes", "allocated", TP_LESS(3), "bytes allocated, total", op->alloc_bytes);
	TP_BYTES(r, "self_allocated_bytes", "self alloc.", 0, "the same, self",
		 op->self_alloc_bytes);
}

const struct tp_table_def tp_table_tensor_operators = {
	.name = "tensor_operators", .columns = put_operator, .row_bytes = sizeof(struct operator),
	.help = "tensor memory by operator",
};

/* Of a device of a process (NULL: of all). */
static void print_operators(const struct tp_tensors_shown *shown, const struct tp_proc *only,
			    uint32_t only_device)
{
	struct tp_table *table =
		tp_table_begin(&tp_table_tensor_operators, shown, TP_TOP_NONE, shown->out);
	const struct tp_memcat *cat = tp_tensormem_cat(shown->mem);
	struct operator row;
	uint32_t n_left = 0;
	const struct tp_memops *ops;

	for (uint32_t k = 0; (ops = tp_memcat_operators(cat, k, &row.proc, &row.device)); k++) {
		const uint32_t n = tp_view_memory_rows(shown->options, ops->n);

		if (only && (row.proc != only || row.device != only_device))
			continue;
		n_left += ops->n - n;
		for (uint32_t i = 0; i < n; i++) {
			row.op = &ops->op[i];
			tp_table_add(table, &row);
		}
	}
	tp_table_end(table);
	tp_out_left(shown->out, n_left, "rows");
}

void tp_view_tensors_operators(const struct tp_tensors_shown *shown, const struct tp_proc *proc,
			       uint32_t device)
{
	char place[128];

	if (tp_out_is_full(shown->out) || !proc) {
		tp_out_title(shown->out, "Which operators allocate tensor memory");
		print_operators(shown, NULL, 0);
	} else {
		tp_out_title(shown->out, "Which operators allocate tensor memory: %s",
			     tp_tensors_place(place, shown, proc, device));
		print_operators(shown, proc, device);
	}
}

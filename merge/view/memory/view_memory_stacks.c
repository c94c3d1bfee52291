/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_memory_stacks.c - part of the view of memory: who asked for memory of the host
 *
 * By the line of code that tells most, by module and by line of Python; of those that hold most,
 * the whole stack.
 */
#include "merge/view/memory/view_memory.h"

#include <stdlib.h>
#include <string.h>

#include "merge/facts/heap/hostmem_groups.h"
#include "merge/facts/origin/hostmem_frames.h"
#include "merge/model/label.h"

enum { SHOWN_MAX = 2048 };	/* bytes of a frame */

/* ---- cells ---- */

/* Of several processes a row says of which it is; in rows for programs always. */
static void put_who(struct tp_row *r, const struct tp_host_shown *shown, const struct tp_hostmem_group *of)
{
	char who[64];

	TP_WHEN(r, shown->run->n_procs > 1 || tp_row_is_for_programs(r))
		TP_TEXT(r, "process", "process", 0, "rank", "%s",
			tp_label_proc(who, shown->run, shown->run->proc[of->sum.proc]));
}

static void put_frame(struct tp_row *r, const struct tp_frame *frame, bool is_known)
{
	char text[SHOWN_MAX];

	if (is_known)
		tp_row_text(r, "%s", tp_hostmem_show_frame(text, sizeof(text), frame,
							   tp_row_is_for_programs(r)
								   ? TP_HOSTMEM_WHOLE
								   : TP_HOSTMEM_SHORT));
	else
		tp_row_text(r, "(not recorded)");
}

static void put_native(struct tp_row *r, const struct tp_host_shown *shown, const struct tp_hostmem_group *of)
{
	struct tp_frame asking;

	if (of->frame.is_python &&
	    tp_hostmem_choose(shown->choice, of->sum.stack, TP_HOSTMEM_ASKING, &asking))
		put_frame(r, &asking, true);
}

static void put_code(struct tp_row *r, const struct tp_host_shown *shown, const struct tp_hostmem_group *of)
{
	TP_CELL(r, "code", "code", TP_UNIT_PLACE, TP_CUT, "most informative frame",
		put_frame(r, &of->frame, of->is_known));
	TP_CELL(r, "native", "requested by", TP_UNIT_PLACE, TP_CUT, "native function inside it",
		put_native(r, shown, of));
}

static void print_rest(const struct tp_host_shown *shown, uint32_t n_left)
{
	tp_out_left(shown->out, n_left, "rows");
}

/* ---- tables of groups: at the peak, what stays, what does not ---- */

/* Columns are looked for without a row, too. */
static const struct tp_hostmem_row *sum_of(const struct tp_hostmem_group *group)
{
	return group ? &group->sum : NULL;
}

static void put_peak(struct tp_row *r, const void *ctx, const void *of)
{
	const struct tp_host_shown *shown = ctx;
	const struct tp_hostmem_group *group = of;
	const struct tp_hostmem_row *sum = sum_of(group);

	put_who(r, shown, group);
	TP_BYTES(r, "peak_bytes", "at the peak", 0, "live bytes at the peak of the process", sum->peak_bytes);
	TP_PERCENT(r, "percent", "%", 0, "share of all at that time", sum->peak_bytes,
		   tp_host_peak_of(shown, sum->proc));
	TP_COUNT(r, "peak_blocks", "blocks", TP_LESS(1), "blocks at that time", sum->peak_blocks);
	TP_BYTES(r, "end_bytes", "at the end", 0, "live bytes when the last window ended", sum->end_bytes);
	TP_COUNT(r, "allocations", "allocs", TP_LESS(2), "number of allocations", sum->n_allocs);
	put_code(r, shown, group);
}

static void put_end(struct tp_row *r, const void *ctx, const void *of)
{
	const struct tp_hostmem_group *group = of;
	const struct tp_hostmem_row *sum = sum_of(group);

	put_who(r, ctx, group);
	TP_BYTES(r, "end_bytes", "at the end", 0, "live bytes when the last window ended", sum->end_bytes);
	TP_COUNT(r, "end_blocks", "blocks", 0, "blocks at that time", sum->end_blocks);
	TP_COUNT(r, "allocations", "of allocs", TP_LESS(1), "number of allocations", sum->n_allocs);
	put_code(r, ctx, group);
}

static void put_stayed(struct tp_row *r, const void *ctx, const void *of)
{
	const struct tp_hostmem_group *group = of;
	const struct tp_hostmem_row *sum = sum_of(group);

	put_who(r, ctx, group);
	TP_BYTES(r, "stayed_bytes", "stayed", 0, "bytes that stayed", sum->leaked_bytes);
	TP_COUNT(r, "stayed_blocks", "blocks", 0, "number of these blocks", sum->leaked_blocks);
	TP_COUNT(r, "steps", "of steps", 0, "steps that allocated them", sum->n_leaked_steps);
	put_code(r, ctx, group);
}

static void put_temporary(struct tp_row *r, const void *ctx, const void *of)
{
	const struct tp_hostmem_group *group = of;
	const struct tp_hostmem_row *sum = sum_of(group);

	put_who(r, ctx, group);
	TP_COUNT(r, "temporary", "temporary", 0, "temporary allocations", sum->n_temporary);
	TP_PERCENT(r, "percent", "% of its own", TP_LESS(1), "share of its allocations",
		   sum->n_temporary, sum->n_allocs);
	TP_BYTES(r, "temporary_bytes", "allocated so", 0, "sum of their bytes", sum->temporary_bytes);
	put_code(r, ctx, group);
}

static void put_by(struct tp_row *r, const struct tp_host_shown *shown, const struct tp_hostmem_group *group)
{
	const struct tp_hostmem_row *sum = sum_of(group);

	put_who(r, shown, group);
	TP_BYTES(r, "peak_bytes", "at the peak", 0, "live bytes at the peak of the process", sum->peak_bytes);
	TP_BYTES(r, "end_bytes", "at the end", 0, "live bytes when the last window ended", sum->end_bytes);
	TP_COUNT(r, "allocations", "allocs", 0, "number of allocations", sum->n_allocs);
	TP_BYTES(r, "allocated_bytes", "allocated", TP_LESS(1), "sum of their bytes", sum->alloc_bytes);
	TP_COUNT(r, "temporary", "temporary", TP_LESS(2), "allocations freed before the next one of their thread",
		 sum->n_temporary);
}

static void put_python(struct tp_row *r, const void *ctx, const void *of)
{
	const struct tp_hostmem_group *group = of;

	put_by(r, ctx, group);
	TP_CELL(r, "code", "Python", TP_UNIT_PLACE, TP_CUT, "innermost Python line",
		put_frame(r, &group->frame, group->is_known));
}

static void put_file(struct tp_row *r, const struct tp_hostmem_group *group)
{
	const char *path = group->frame.module, *slash = strrchr(path, '/');

	if (!group->is_known || !path[0])
		tp_row_text(r, "(no file of code)");
	else
		tp_row_text(r, "%s", slash && !tp_row_is_for_programs(r) ? slash + 1 : path);
}

static void put_module(struct tp_row *r, const void *ctx, const void *of)
{
	put_by(r, ctx, of);
	TP_CELL(r, "module", "module", TP_UNIT_TEXT, TP_CUT, "library or program that requested it", put_file(r, of));
}

const struct tp_table_def tp_table_host_stacks[TP_HOST_STACKS] = {
	[TP_HOST_PEAK] = {.name = "host_peak", .columns = put_peak, .order = "peak_bytes",
			  .help = "holders of host memory at its peak"},
	[TP_HOST_END] = {.name = "host_end", .columns = put_end, .order = "end_bytes",
			 .help = "holders of host memory at the end"},
	[TP_HOST_STAYED] = {.name = "host_stayed", .columns = put_stayed, .order = "stayed_bytes",
			    .help = "holders of host memory that stayed: allocated in a step, live two steps later and at the end"},
	[TP_HOST_TEMPORARY] = {.name = "host_temporary", .columns = put_temporary, .order = "temporary",
			       .help = "temporary host memory: freed before the next allocation of its thread"},
	[TP_HOST_MODULES] = {.name = "host_modules", .columns = put_module, .order = "peak_bytes",
			     .help = "host memory by the library or program that requested it"},
	[TP_HOST_PYTHON] = {.name = "host_python", .columns = put_python, .order = "peak_bytes",
			    .help = "host memory by Python line"},
};

static uint64_t cost_of(const struct tp_hostmem_row *sum, enum tp_host_stacks which)
{
	return which == TP_HOST_END	    ? sum->end_bytes
	       : which == TP_HOST_STAYED    ? sum->leaked_bytes
	       : which == TP_HOST_TEMPORARY ? sum->n_temporary
					    : sum->peak_bytes;
}

static int compare_allocated(const void *a, const void *b)
{
	const struct tp_hostmem_group *const *x = a, *const *y = b;

	if ((*x)->sum.alloc_bytes != (*y)->sum.alloc_bytes)
		return (*x)->sum.alloc_bytes < (*y)->sum.alloc_bytes ? 1 : -1;
	return (*x > *y) - (*x < *y);
}

/* Which line held most, of the process that had most. */
static void print_most(const struct tp_host_shown *shown, const struct tp_hostmem_group *const *group,
		       uint32_t n)
{
	const struct tp_hostmem_group *most = NULL;
	char text[SHOWN_MAX], who[64] = "", a[32], b[32], c[32];
	uint64_t all;

	for (uint32_t i = 0; i < n; i++)
		if (group[i]->is_known && (!most || group[i]->sum.peak_bytes > most->sum.peak_bytes))
			most = group[i];
	if (!most)
		return;
	all = tp_host_peak_of(shown, most->sum.proc);
	if (shown->run->n_procs > 1)
		tp_label_proc(who, shown->run, shown->run->proc[most->sum.proc]);
	tp_out_line(shown->out, "bold", "Most host memory at the peak%s%s is held by %s: %s of %s (%s).",
		    *who ? " of " : "", who,
		    tp_hostmem_show_frame(text, sizeof(text), &most->frame, TP_HOSTMEM_SHORT),
		    tp_show_bytes(a, (int64_t)most->sum.peak_bytes), tp_show_bytes(b, (int64_t)all),
		    tp_show_percent(c, (double)most->sum.peak_bytes, (double)all));
}

/* Those that have any of its cost. Of equal ones that which allocated most is first. */
static void print_groups(const struct tp_host_shown *shown, enum tp_host_stacks which, const char *title,
			 const struct tp_hostmem_group *group, uint32_t n_groups)
{
	const struct tp_hostmem_group **some = malloc((n_groups + 1) * sizeof(*some));
	struct tp_table *table;
	uint32_t n = 0;

	for (uint32_t i = 0; some && i < n_groups; i++)
		if (cost_of(&group[i].sum, which))
			some[n++] = &group[i];
	/* Without a frame of that sort the table has nothing to say. */
	if (!n || (which >= TP_HOST_MODULES && n == 1 && !some[0]->is_known)) {
		free(some);
		return;
	}
	qsort(some, n, sizeof(*some), compare_allocated);
	tp_out_title(shown->out, "%s", title);
	if (which == TP_HOST_PEAK)
		print_most(shown, some, n);
	table = tp_table_begin(&tp_table_host_stacks[which], shown,
			       which == TP_HOST_PEAK ? shown->options->top
						     : tp_view_memory_rows(shown->options, n),
			       shown->out);
	for (uint32_t i = 0; i < n; i++)
		tp_table_add(table, some[i]);
	print_rest(shown, tp_table_end(table));
	if (which == TP_HOST_STAYED)
		tp_out_line(shown->out, "dim", "What grows with every step is a leak; what a single "
			    "step left is more likely a cache.");
	free(some);
}

static void print_by(const struct tp_host_shown *shown, enum tp_host_stacks which, const char *title,
		     enum tp_hostmem_frame by)
{
	uint32_t n = 0;
	struct tp_hostmem_group *group = tp_hostmem_groups(shown->mem, shown->choice, by, &n);

	if (group)
		print_groups(shown, which, title, group, n);
	free(group);
}

void tp_view_memory_stacks(const struct tp_run *run, const struct tp_view_options *options,
			   const struct tp_hostmem *mem, struct tp_out *out)
{
	struct tp_hostmem_choice *choice = tp_hostmem_choice_new(tp_hostmem_stacks(mem));
	struct tp_host_shown shown = {
		.run = run, .options = options, .mem = mem, .choice = choice, .out = out,
	};
	uint32_t n;
	struct tp_hostmem_group *group =
		choice ? tp_hostmem_groups(mem, choice, TP_HOSTMEM_TELLING, &n) : NULL;

	shown.host = tp_hostmem_procs(mem, &shown.n_host);
	if (!group) {
		tp_out_line(out, "red", "out of memory: who requested it is missing here");
		tp_hostmem_choice_free(choice);
		return;
	}
	print_groups(&shown, TP_HOST_PEAK, "Who held host memory at its peak", group, n);
	/* Behind it the stacks of those that held most. */
	tp_view_memory_frames(&shown);
	print_groups(&shown, TP_HOST_END, "Who held host memory at the end", group, n);
	print_groups(&shown, TP_HOST_STAYED,
		     "What stayed: allocated in a step, there two steps later and at the end", group, n);
	print_groups(&shown, TP_HOST_TEMPORARY,
		     "What was temporary: freed before the next allocation of its thread", group, n);
	free(group);
	print_by(&shown, TP_HOST_MODULES, "Which library requested host memory", TP_HOSTMEM_NATIVE);
	print_by(&shown, TP_HOST_PYTHON, "Which line of Python requested host memory", TP_HOSTMEM_PYTHON);
	tp_hostmem_choice_free(choice);
}

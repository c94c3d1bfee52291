/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_memory_stacks.c - part of the view of memory: who asked for memory of the host
 *
 * By the line of code that tells most, by module and by line of Python; of those that hold most,
 * the whole stack.
 */
#include "merge/view/view_memory.h"

#include <stdlib.h>
#include <string.h>

#include "merge/facts/heap/hostmem_groups.h"
#include "merge/facts/origin/hostmem_frames.h"
#include "merge/model/label.h"

enum {
	STACKS_SHOWN = 3,
	INNER_FRAMES = 24, OUTER_FRAMES = 6,	/* of a deep stack that are shown */
	FRAMES_MAX = 1024,	/* of a stack that is shown */
	SHOWN_MAX = 2048,	/* bytes of a frame */
};

typedef uint64_t cost_fn(const struct tp_hostmem_row *sum);

static uint64_t peak_of(const struct tp_hostmem_row *sum)
{
	return sum->peak_bytes;
}

static uint64_t end_of(const struct tp_hostmem_row *sum)
{
	return sum->end_bytes;
}

static uint64_t leaked_of(const struct tp_hostmem_row *sum)
{
	return sum->leaked_bytes;
}

static uint64_t temporary_of(const struct tp_hostmem_row *sum)
{
	return sum->n_temporary;
}

struct ordered {
	uint64_t cost, second;
	uint32_t group;
};

static int compare_ordered(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	if (x->cost != y->cost)
		return x->cost < y->cost ? 1 : -1;
	if (x->second != y->second)
		return x->second < y->second ? 1 : -1;
	return (x->group > y->group) - (x->group < y->group);
}

/* The groups that have any of that cost, the greatest first. NULL: out of memory. */
static struct ordered *sort_groups(const struct tp_hostmem_group *group, uint32_t n, cost_fn *cost,
				   uint32_t *n_kept)
{
	struct ordered *order = malloc((n + 1) * sizeof(*order));

	*n_kept = 0;
	for (uint32_t i = 0; order && i < n; i++)
		if (cost(&group[i].sum))
			order[(*n_kept)++] = (struct ordered){
				cost(&group[i].sum), group[i].sum.alloc_bytes, i};
	if (order)
		qsort(order, *n_kept, sizeof(*order), compare_ordered);
	return order;
}

/* ---- cells ---- */

struct shown {
	const struct tp_run *run;
	const struct tp_view_options *options;
	const struct tp_hostmem *mem;
	const struct tp_hostmem_choice *choice;
	const struct tp_hostmem_proc *host;
	uint32_t n_host;
	struct tp_out *out;
};

static bool shows_who(const struct shown *shown)
{
	return shown->run->n_procs > 1 || shown->out->rows;
}

static void add_who(struct tp_old_table *table, const struct shown *shown, uint32_t proc)
{
	char who[64];

	if (shows_who(shown))
		tp_table_cell(table, "%s", tp_label_proc(who, shown->run, shown->run->proc[proc]));
}

static void add_frame(struct tp_old_table *table, const struct shown *shown,
		      const struct tp_frame *frame, bool is_known)
{
	char text[SHOWN_MAX];

	if (is_known)
		tp_table_cell(table, "%s", tp_hostmem_show_frame(text, sizeof(text), frame,
								 shown->out->rows
									 ? TP_HOSTMEM_WHOLE
									 : TP_HOSTMEM_SHORT));
	else
		tp_table_cell(table, "(not recorded)");
}

static void add_code(struct tp_old_table *table, const struct shown *shown,
		     const struct tp_hostmem_group *group)
{
	struct tp_frame asking;

	add_frame(table, shown, &group->frame, group->is_known);
	if (group->frame.is_python && tp_hostmem_choose(shown->choice, group->sum.stack,
							TP_HOSTMEM_ASKING, &asking))
		add_frame(table, shown, &asking, true);
	else
		tp_table_cell(table, "%s", "");
}

static uint64_t peak_of_proc(const struct shown *shown, uint32_t proc)
{
	for (uint32_t i = 0; i < shown->n_host; i++)
		if (shown->host[i].proc->at == proc)
			return shown->host[i].peak_bytes;
	return 0;
}

static struct tp_old_table *new_table(const struct shown *shown, const struct tp_old_column *column,
				  uint32_t n, const char *name)
{
	uint32_t skipped = !shows_who(shown);
	struct tp_old_table *table = tp_table_new(column + skipped, n - skipped);

	tp_table_name(table, name);
	return table;
}

static void print_rest(const struct shown *shown, uint32_t n, uint32_t n_all)
{
	char a[32];

	if (n < n_all)
		tp_out_line(shown->out, "dim", "%s more rows: --top 0 shows all.",
			    tp_show_count(a, n_all - n));
}

/* ---- whole stacks ---- */

/* Frames that are shown, in place: not those of the interpreter between two of Python. */
static uint32_t leave_out_glue(struct tp_frame *frame, uint32_t n)
{
	uint32_t n_kept = 0;
	bool is_in_python = false;

	for (uint32_t i = 0; i < n; i++) {
		is_in_python |= frame[i].is_python;
		if (!is_in_python || !tp_hostmem_is_glue(&frame[i]) || frame[i].is_cut)
			frame[n_kept++] = frame[i];
	}
	return n_kept;
}

static void print_frames(const struct shown *shown, struct tp_frame *frame, uint32_t n)
{
	bool is_whole = !shown->options->top;
	uint32_t n_kept = is_whole ? n : leave_out_glue(frame, n);
	char text[SHOWN_MAX];

	for (uint32_t i = 0; i < n_kept; i++) {
		if (!is_whole && i == INNER_FRAMES && n_kept > INNER_FRAMES + OUTER_FRAMES + 1) {
			i = n_kept - OUTER_FRAMES;
			tp_out_line(shown->out, "dim", "    ... %u more", i - INNER_FRAMES);
		}
		tp_out_line(shown->out, frame[i].is_python ? "bold" : "", "    %s",
			    tp_hostmem_show_frame(text, sizeof(text), &frame[i],
						  TP_HOSTMEM_LONG));
		if (frame[i].is_cut)
			tp_out_line(shown->out, "dim", "    (what is outside of it is not known)");
	}
	if (n_kept < n)
		tp_out_line(shown->out, "dim",
			    "    (%u frames of the interpreter left out: --top 0 shows all)",
			    n - n_kept);
}

static void print_stack(const struct shown *shown, const struct tp_hostmem_row *row)
{
	struct tp_frame *frame = malloc(FRAMES_MAX * sizeof(*frame));
	uint32_t n = frame ? tp_stacks_frames(tp_hostmem_stacks(shown->mem), row->stack, frame,
					      FRAMES_MAX)
			   : 0;
	char a[32], b[32], c[32], who[64] = "";

	if (n && n <= FRAMES_MAX) {
		if (shown->run->n_procs > 1)
			tp_label_proc(who, shown->run, shown->run->proc[row->proc]);
		tp_out_title(shown->out, "%s at the peak of %s%s, from one stack (%s allocations):",
			     tp_show_bytes(a, (int64_t)row->peak_bytes),
			     *who ? who : "",
			     *who ? "" : tp_show_bytes(c, (int64_t)peak_of_proc(shown, row->proc)),
			     tp_show_count(b, row->n_allocs));
		print_frames(shown, frame, n);
	}
	free(frame);
}

/* The few stacks that held most. */
static void print_stacks(const struct shown *shown)
{
	uint32_t n, n_most = 0;
	const struct tp_hostmem_row *row = tp_hostmem_rows(shown->mem, &n);
	const struct tp_hostmem_row *most[STACKS_SHOWN];

	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = n_most;

		if (!row[i].stack || !row[i].peak_bytes)
			continue;
		while (at && most[at - 1]->peak_bytes < row[i].peak_bytes)
			at--;
		if (at == STACKS_SHOWN)
			continue;
		n_most += n_most < STACKS_SHOWN;
		memmove(&most[at + 1], &most[at], (n_most - at - 1) * sizeof(most[0]));
		most[at] = &row[i];
	}
	for (uint32_t i = 0; i < n_most && !shown->out->rows; i++)
		print_stack(shown, most[i]);
}

/* ---- tables of groups: at the peak, what stays, what does not ---- */

struct group_table {
	const char *title, *name;
	const char *remark;		/* below it; NULL: none */
	const struct tp_old_column *column;
	uint32_t n_columns;
	bool is_main;			/* it may have all rows of the view */
	cost_fn *cost;
	/* The cells between the process and the code. */
	void (*add)(struct tp_old_table *table, const struct shown *shown,
		    const struct tp_hostmem_row *sum);
};

#define COLUMNS(column) (column), sizeof(column) / sizeof((column)[0])

static const struct tp_old_column peak_column[] = {
	{.title = "process", .field = "process"},
	{.title = "at the peak", .align = TP_RIGHT, .field = "peak_bytes"},
	{.title = "%", .align = TP_RIGHT, .field = "percent"},
	{.title = "blocks", .align = TP_RIGHT, .is_extra = 1, .field = "peak_blocks"},
	{.title = "at the end", .align = TP_RIGHT, .field = "end_bytes"},
	{.title = "allocs", .align = TP_RIGHT, .is_extra = 2, .field = "allocations"},
	{.title = "code", .may_cut = true, .field = "code"},
	{.title = "asked by", .may_cut = true, .field = "native"},
}, end_column[] = {
	{.title = "process", .field = "process"},
	{.title = "at the end", .align = TP_RIGHT, .field = "end_bytes"},
	{.title = "blocks", .align = TP_RIGHT, .field = "end_blocks"},
	{.title = "of allocs", .align = TP_RIGHT, .is_extra = 1, .field = "allocations"},
	{.title = "code", .may_cut = true, .field = "code"},
	{.title = "asked by", .may_cut = true, .field = "native"},
}, leaked_column[] = {
	{.title = "process", .field = "process"},
	{.title = "stayed", .align = TP_RIGHT, .field = "stayed_bytes"},
	{.title = "blocks", .align = TP_RIGHT, .field = "stayed_blocks"},
	{.title = "of steps", .align = TP_RIGHT, .field = "steps"},
	{.title = "code", .may_cut = true, .field = "code"},
	{.title = "asked by", .may_cut = true, .field = "native"},
}, temporary_column[] = {
	{.title = "process", .field = "process"},
	{.title = "temporary", .align = TP_RIGHT, .field = "temporary"},
	{.title = "% of its own", .align = TP_RIGHT, .is_extra = 1, .field = "percent"},
	{.title = "allocated so", .align = TP_RIGHT, .field = "temporary_bytes"},
	{.title = "code", .may_cut = true, .field = "code"},
	{.title = "asked by", .may_cut = true, .field = "native"},
};

static void add_peak(struct tp_old_table *table, const struct shown *shown,
		     const struct tp_hostmem_row *sum)
{
	tp_cell_bytes(table, (int64_t)sum->peak_bytes);
	tp_cell_percent(table, (double)sum->peak_bytes, (double)peak_of_proc(shown, sum->proc));
	tp_cell_count(table, sum->peak_blocks);
	tp_cell_bytes(table, (int64_t)sum->end_bytes);
	tp_cell_count(table, sum->n_allocs);
}

static void add_end(struct tp_old_table *table, const struct shown *shown,
		    const struct tp_hostmem_row *sum)
{
	tp_cell_bytes(table, (int64_t)sum->end_bytes);
	tp_cell_count(table, sum->end_blocks);
	tp_cell_count(table, sum->n_allocs);
}

static void add_leaked(struct tp_old_table *table, const struct shown *shown,
		       const struct tp_hostmem_row *sum)
{
	tp_cell_bytes(table, (int64_t)sum->leaked_bytes);
	tp_cell_count(table, sum->leaked_blocks);
	tp_cell_count(table, sum->n_leaked_steps);
}

static void add_temporary(struct tp_old_table *table, const struct shown *shown,
			  const struct tp_hostmem_row *sum)
{
	tp_cell_count(table, sum->n_temporary);
	tp_cell_percent(table, (double)sum->n_temporary, (double)sum->n_allocs);
	tp_cell_bytes(table, (int64_t)sum->temporary_bytes);
}

static const struct group_table peak_table = {
	"Who held host memory at its peak", "host_peak", NULL, COLUMNS(peak_column), true,
	peak_of, add_peak,
};
/* Behind the stacks of those that held most. */
static const struct group_table later_table[] = {
	{"Alive at the end", "host_end", NULL, COLUMNS(end_column), false, end_of, add_end},
	{"Stayed: allocated in a step, there two steps later and at the end", "host_stayed",
	 "What grows with every step is a leak; what one step left is a cache, rather.",
	 COLUMNS(leaked_column), false, leaked_of, add_leaked},
	{"Temporary: freed before the next allocation of its thread", "host_temporary", NULL,
	 COLUMNS(temporary_column), false, temporary_of, add_temporary},
};

static void print_groups(const struct shown *shown, const struct group_table *what,
			 const struct tp_hostmem_group *group, uint32_t n_groups)
{
	uint32_t n_kept, n;
	struct ordered *order = sort_groups(group, n_groups, what->cost, &n_kept);
	struct tp_old_table *table;

	if (!order || !n_kept) {
		free(order);
		return;
	}
	if (what->is_main)
		n = shown->options->top && shown->options->top < n_kept ? shown->options->top
									: n_kept;
	else
		n = tp_view_memory_rows(shown->options, n_kept);
	tp_out_title(shown->out, "%s", what->title);
	table = new_table(shown, what->column, what->n_columns, what->name);
	for (uint32_t i = 0; i < n; i++) {
		const struct tp_hostmem_group *of = &group[order[i].group];

		add_who(table, shown, of->sum.proc);
		what->add(table, shown, &of->sum);
		add_code(table, shown, of);
	}
	tp_table_print(table, shown->out);
	print_rest(shown, n, n_kept);
	if (what->remark)
		tp_out_line(shown->out, "dim", "%s", what->remark);
	free(order);
}

/* ---- by module, by line of Python ---- */

static void add_what(struct tp_old_table *table, const struct shown *shown,
		     const struct tp_hostmem_group *group, enum tp_hostmem_frame by)
{
	const char *path = group->frame.module, *slash = strrchr(path, '/');

	if (by == TP_HOSTMEM_PYTHON)
		add_frame(table, shown, &group->frame, group->is_known);
	else if (!group->is_known || !path[0])
		tp_table_cell(table, "(no file of code)");
	else
		tp_table_cell(table, "%s", slash && !shown->out->rows ? slash + 1 : path);
}

static void print_by(const struct shown *shown, enum tp_hostmem_frame by)
{
	static const struct tp_old_column by_python[] = {
		{.title = "process", .field = "process"},
		{.title = "at the peak", .align = TP_RIGHT, .field = "peak_bytes"},
		{.title = "at the end", .align = TP_RIGHT, .field = "end_bytes"},
		{.title = "allocs", .align = TP_RIGHT, .field = "allocations"},
		{.title = "allocated", .align = TP_RIGHT, .is_extra = 1,
		 .field = "allocated_bytes"},
		{.title = "temporary", .align = TP_RIGHT, .is_extra = 2, .field = "temporary"},
		{.title = "Python", .may_cut = true, .field = "code"},
	}, by_module[] = {
		{.title = "process", .field = "process"},
		{.title = "at the peak", .align = TP_RIGHT, .field = "peak_bytes"},
		{.title = "at the end", .align = TP_RIGHT, .field = "end_bytes"},
		{.title = "allocs", .align = TP_RIGHT, .field = "allocations"},
		{.title = "allocated", .align = TP_RIGHT, .is_extra = 1,
		 .field = "allocated_bytes"},
		{.title = "temporary", .align = TP_RIGHT, .is_extra = 2, .field = "temporary"},
		{.title = "module", .may_cut = true, .field = "module"},
	};
	bool is_python = by == TP_HOSTMEM_PYTHON;
	uint32_t n_groups = 0, n_kept = 0, n;
	struct tp_hostmem_group *group =
		tp_hostmem_groups(shown->mem, shown->choice, by, &n_groups);
	struct ordered *order = group ? sort_groups(group, n_groups, peak_of, &n_kept) : NULL;
	struct tp_old_table *table;

	/* Without a frame of that sort the table has nothing to say. */
	if (!order || !n_kept || (n_kept == 1 && !group[order[0].group].is_known)) {
		free(order);
		free(group);
		return;
	}
	n = tp_view_memory_rows(shown->options, n_kept);
	tp_out_title(shown->out, is_python ? "Host memory by line of Python"
					   : "Host memory by the module that asked");
	table = new_table(shown, is_python ? by_python : by_module,
			  sizeof(by_python) / sizeof(by_python[0]),
			  is_python ? "host_python" : "host_modules");
	for (uint32_t i = 0; i < n; i++) {
		const struct tp_hostmem_group *of = &group[order[i].group];

		add_who(table, shown, of->sum.proc);
		tp_cell_bytes(table, (int64_t)of->sum.peak_bytes);
		tp_cell_bytes(table, (int64_t)of->sum.end_bytes);
		tp_cell_count(table, of->sum.n_allocs);
		tp_cell_bytes(table, (int64_t)of->sum.alloc_bytes);
		tp_cell_count(table, of->sum.n_temporary);
		add_what(table, shown, of, by);
	}
	tp_table_print(table, shown->out);
	print_rest(shown, n, n_kept);
	free(order);
	free(group);
}

void tp_view_memory_stacks(const struct tp_run *run, const struct tp_view_options *options,
			   const struct tp_hostmem *mem, struct tp_out *out)
{
	struct tp_hostmem_choice *choice = tp_hostmem_choice_new(tp_hostmem_stacks(mem));
	struct shown shown = {
		.run = run, .options = options, .mem = mem, .choice = choice, .out = out,
	};
	uint32_t n;
	struct tp_hostmem_group *group =
		choice ? tp_hostmem_groups(mem, choice, TP_HOSTMEM_TELLING, &n) : NULL;

	shown.host = tp_hostmem_procs(mem, &shown.n_host);
	if (!group) {
		tp_out_line(out, "red", "out of memory: who asked for it is missing here");
		tp_hostmem_choice_free(choice);
		return;
	}
	print_groups(&shown, &peak_table, group, n);
	print_stacks(&shown);
	for (uint32_t i = 0; i < sizeof(later_table) / sizeof(later_table[0]); i++)
		print_groups(&shown, &later_table[i], group, n);
	free(group);
	print_by(&shown, TP_HOSTMEM_NATIVE);
	print_by(&shown, TP_HOSTMEM_PYTHON);
	tp_hostmem_choice_free(choice);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_steps.c - part of the overview: where a step goes, steps and ranks beside each
 * other, the operators that take most
 */
#include "merge/view/overview/overview.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/stats.h"
#include "merge/kit/sum.h"
#include "merge/model/label.h"

enum {
	TOP_OPERATORS = 5,
	STEPS_ALL = 12,	 /* so many recorded steps are all shown */
	STEPS_SHOWN = 8, /* of more: the slowest, the median and the fastest */
	RANKS_SHOWN = 16,
};

void tp_overview_sum(struct tp_overview_sums *sums, const struct tp_breakdown *breakdown)
{
	sums->n_procs += breakdown->n_steps != 0;
	sums->n_steps += breakdown->n_steps;
	for (uint32_t i = 0; i < breakdown->n_steps; i++) {
		for (uint32_t c = 0; c < TP_CAT_N; c++)
			sums->ns[c] = tp_add(sums->ns[c], breakdown->step[i].ns[c]);
		sums->all_ns =
		    tp_add(sums->all_ns, tp_overview_step_ns(&breakdown->step[i]));
	}
}

/* Rows of a GPU where none was seen, of a data loader where there is none, are left out. */
static bool is_shown(const struct tp_overview_sums *sums, uint32_t category)
{
	return sums->ns[category] || category >= TP_CAT_CPU;
}

/* The average step: a category, or (TP_CAT_N) all of it. */
static void put_part(struct tp_row *r, const void *ctx, const void *of)
{
	const struct tp_overview_sums *sums = ctx;
	const uint32_t c = of ? *(const uint32_t *)of : 0;
	const int64_t ns = c < TP_CAT_N ? sums->ns[c] : sums->all_ns;

	TP_TEXT(r, NULL, "", TP_INSET, "", "%s", c < TP_CAT_N ? tp_category_name(c) : "step");
	TP_NS(r, NULL, "", 0, "", ns / (int64_t)sums->n_steps);
	TP_PERCENT(r, NULL, "", 0, "", c < TP_CAT_N ? ns : 1, c < TP_CAT_N ? sums->all_ns : 1);
	TP_CELL(r, NULL, "", TP_UNIT_BAR, 0, "",
		c < TP_CAT_N ? tp_row_percent(r, (double)ns, (double)sums->all_ns) : (void)0);
	TP_STYLE(r, c < TP_CAT_N ? NULL : "bold");
}

static const struct tp_table_def parts_def = {.columns = put_part};

/* Neither operators nor work of devices, nor collectives: RECORD had none of them. */
static bool is_unknown(const struct tp_overview_sums *sums)
{
	for (uint32_t c = 0; c < TP_CAT_N; c++)
		if (sums->ns[c] && c != TP_CAT_DATA && c != TP_CAT_OTHER)
			return false;
	return true;
}

/* The page draws it, of each rank, too. */
static void print_breakdown(const struct tp_overview_sums *sums, struct tp_out *out)
{
	uint32_t part[TP_CAT_N + 1], n = 0;
	char a[32];

	if (!tp_out_is_terminal(out))
		return;
	tp_out_title(out, "Where a step goes: average of %s recorded step%s%s",
		     tp_show_count(a, sums->n_steps), sums->n_steps == 1 ? "" : "s",
		     sums->n_procs > 1 ? ", all ranks" : "");
	for (uint32_t c = 0; c < TP_CAT_N; c++)
		if (is_shown(sums, c))
			part[n++] = c;
	part[n++] = TP_CAT_N;
	tp_table_show(&parts_def, sums, part, n, sizeof(part[0]), TP_TOP_NONE, out);
}

/* A step, or the average one of a rank. */
struct row {
	char who[64];
	const char *note;
	uint64_t number;	/* of the step, or of steps */
	int64_t time_ns, ns[TP_CAT_N];
};

static void put_categories(struct tp_row *r, const struct tp_overview_sums *sums,
			   const struct row *row)
{
	TP_NS(r, NULL, "time", 0, "", row->time_ns);
	for (uint32_t c = 0; c < TP_CAT_N; c++)
		TP_WHEN(r, is_shown(sums, c))
			TP_NS(r, NULL, tp_category_name(c), 0, "", row->ns[c]);
}

static void put_step(struct tp_row *r, const void *ctx, const void *of)
{
	const struct row *row = of;

	TP_COUNT(r, NULL, "step", TP_INSET | TP_TO_LEFT, "", row->number);
	TP_TEXT(r, NULL, "", TP_TO_RIGHT, "", "%s", row->note);
	put_categories(r, ctx, row);
}

static void put_rank(struct tp_row *r, const void *ctx, const void *of)
{
	const struct row *row = of;

	TP_TEXT(r, NULL, "rank", TP_INSET, "", "%s", row->who);
	TP_COUNT(r, NULL, "steps", 0, "", row->number);
	put_categories(r, ctx, row);
}

static const struct tp_table_def steps_def = {.columns = put_step}, ranks_def = {.columns = put_rank};

struct ranked {
	int64_t ns;
	uint32_t at;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return (x->at > y->at) - (x->at < y->at);
}

static int compare_at(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static void print_steps_of(const struct tp_overview_proc *proc,
			   const struct tp_overview_sums *sums, struct tp_out *out)
{
	const struct tp_breakdown *breakdown = proc->breakdown;
	uint32_t n = breakdown->n_steps, n_shown = n <= STEPS_ALL ? n : STEPS_SHOWN;
	struct ranked *order = malloc((n + 1) * sizeof(*order));
	struct tp_table *table;
	char a[32];

	if (!order || n < 2) {
		free(order);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		order[i] = (struct ranked){tp_overview_step_ns(&breakdown->step[i]), i};
	if (n > n_shown) {
		qsort(order, n, sizeof(*order), compare_ranked);
		order[STEPS_SHOWN - 2] = order[n / 2];
		order[STEPS_SHOWN - 1] = order[n - 1];
		tp_out_title(out, "How long recorded steps took: the %u slowest of %s, the median and the fastest",
			     STEPS_SHOWN - 2, tp_show_count(a, n));
	} else {
		tp_out_title(out, "How long each recorded step took");
	}
	table = tp_table_begin(&steps_def, sums, TP_TOP_NONE, out);
	for (uint32_t i = 0; i < n_shown; i++) {
		const struct tp_step_time *step = &breakdown->step[order[i].at];
		struct row row = {.number = step->index, .time_ns = tp_overview_step_ns(step)};

		row.note = n == n_shown		  ? ""
			   : i == STEPS_SHOWN - 2 ? "median"
			   : i == STEPS_SHOWN - 1 ? "fastest"
						  : "";
		memcpy(row.ns, step->ns, sizeof(row.ns));
		tp_table_add(table, &row);
	}
	tp_table_end(table);
	free(order);
}

static void print_ranks(const struct tp_run *run, const struct tp_overview *overview,
			const struct tp_overview_sums *sums, struct tp_out *out)
{
	struct ranked *order = malloc((run->n_procs + 1) * sizeof(*order));
	uint32_t n = 0, n_shown;
	struct tp_table *table;

	if (!order)
		return;
	for (uint32_t i = 0; i < run->n_procs; i++) {
		struct tp_overview_sums own = {.n_steps = 0};

		tp_overview_sum(&own, overview->proc[i].breakdown);
		if (own.n_steps)
			order[n++] = (struct ranked){own.all_ns / (int64_t)own.n_steps, i};
	}
	n_shown = n < RANKS_SHOWN ? n : RANKS_SHOWN;
	qsort(order, n, sizeof(*order), compare_ranked);
	if (n > RANKS_SHOWN)
		tp_out_title(out, "How the ranks differ: average step of the %u slowest of %u", n_shown,
			     n);
	else
		tp_out_title(out, "How the ranks differ: average step of each");
	qsort(order, n_shown, sizeof(*order), compare_at);
	table = tp_table_begin(&ranks_def, sums, TP_TOP_NONE, out);
	for (uint32_t i = 0; i < n_shown; i++) {
		struct tp_overview_sums own = {.n_steps = 0};
		struct row row = {.time_ns = order[i].ns};

		tp_overview_sum(&own, overview->proc[order[i].at].breakdown);
		tp_label_proc(row.who, run, run->proc[order[i].at]);
		row.number = own.n_steps;
		for (uint32_t c = 0; c < TP_CAT_N; c++)
			row.ns[c] = own.ns[c] / (int64_t)own.n_steps;
		tp_table_add(table, &row);
	}
	tp_table_end(table);
	free(order);
}

void tp_overview_print_steps(const struct tp_run *run, const struct tp_overview *overview,
			     const struct tp_overview_sums *sums, struct tp_out *out)
{
	if (!sums->n_steps)
		return;
	if (is_unknown(sums) && tp_out_is_terminal(out)) {
		tp_out_title(out, "Where a step goes is not known");
		tp_out_line(out, "", "operators were not recorded (TRAINPROF_RECORD without ops, cuda and comm)");
		return;
	}
	print_breakdown(sums, out);
	if (sums->n_procs > 1)
		print_ranks(run, overview, sums, out);
	for (uint32_t i = 0; sums->n_procs == 1 && i < overview->n_procs; i++)
		if (overview->proc[i].breakdown->n_steps)
			print_steps_of(&overview->proc[i], sums, out);
	tp_overview_print_all(run, overview, sums, out);
}

struct operators {
	const struct tp_overview *overview;
	int64_t all_ns;
};

static void put_operator(struct tp_row *r, const void *ctx, const void *of)
{
	const struct operators *all = ctx;
	const uint32_t at = of ? *(const uint32_t *)of : 0;
	const struct tp_overview_row *row = &all->overview->row[at];

	TP_TEXT(r, NULL, "", TP_CUT | TP_INSET, "", "%s",
		tp_names_at(all->overview->names, at)->bytes);
	TP_NS(r, NULL, "self", 0, "", row->self_ns);
	TP_PERCENT(r, NULL, "self %", 0, "", row->self_ns, all->all_ns);
	TP_COUNT(r, NULL, "calls", 0, "", row->calls);
	TP_NS(r, NULL, "self per call", 0, "", row->self_ns / (int64_t)row->calls);
}

static const struct tp_table_def operators_def = {.columns = put_operator};

void tp_overview_print_operators(const struct tp_overview *overview, struct tp_out *out)
{
	uint32_t best[TOP_OPERATORS], n_rows = tp_names_count(overview->names), n = 0;
	struct operators all = {.overview = overview};

	if (n_rows > overview->cap_rows)
		n_rows = overview->cap_rows;
	for (uint32_t i = 0; i < n_rows; i++) {
		uint32_t at = n;

		all.all_ns = tp_add(all.all_ns, overview->row[i].self_ns);
		if (!overview->row[i].calls)
			continue;
		while (at > 0 &&
		       overview->row[best[at - 1]].self_ns < overview->row[i].self_ns)
			at--;
		if (at == TOP_OPERATORS)
			continue;
		if (n < TOP_OPERATORS)
			n++;
		memmove(best + at + 1, best + at, (n - at - 1) * sizeof(*best));
		best[at] = i;
	}
	if (!n)
		return;
	tp_out_title(out, "Which operators take most self time");
	tp_table_show(&operators_def, &all, best, n, sizeof(best[0]), TP_TOP_NONE, out);
}

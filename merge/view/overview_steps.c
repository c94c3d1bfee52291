/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_steps.c - part of the overview: where a step goes, steps and ranks beside each
 * other, the operators that take most
 */
#include "merge/facts/program/overview.h"

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

static void print_breakdown(const struct tp_overview_sums *sums, struct tp_out *out)
{
	static const struct tp_old_column column[] = {
	    {.title = ""},
	    {.title = "", .align = TP_RIGHT},
	    {.title = "", .align = TP_RIGHT},
	    {.title = ""},
	};
	struct tp_old_table *table = tp_table_new(column, 4);
	uint32_t columns = out->width > 70 ? 40 : 12;
	char a[32], bar[3 * 40 + 1];

	tp_out_title(out, "Where a step goes: average of %s recorded step%s%s",
		     tp_show_count(a, sums->n_steps), sums->n_steps == 1 ? "" : "s",
		     sums->n_procs > 1 ? ", all ranks" : "");
	for (uint32_t c = 0; c < TP_CAT_N; c++) {
		if (!is_shown(sums, c))
			continue;
		tp_table_cell(table, "  %s", tp_category_name(c));
		tp_cell_ns(table, sums->ns[c] / (int64_t)sums->n_steps);
		tp_cell_percent(table, (double)sums->ns[c], (double)sums->all_ns);
		tp_table_cell(
		    table, "%s",
		    tp_bar(bar, (double)sums->ns[c], (double)sums->all_ns, columns));
	}
	tp_table_cell(table, "  step");
	tp_cell_ns(table, sums->all_ns / (int64_t)sums->n_steps);
	tp_cell_percent(table, 1, 1);
	tp_table_cell(table, "%s", "");
	tp_table_style(table, "bold");
	tp_table_print(table, out);
}

/* A table with a column for each category that is shown. Returns the table, rows open. */
static struct tp_old_table *new_category_table(const struct tp_overview_sums *sums,
					   const char *first, const char *second)
{
	struct tp_old_column column[TP_CAT_N + 3] = {
	    {.title = first},
	    {.title = second, .align = TP_RIGHT},
	    {.title = "time", .align = TP_RIGHT},
	};
	uint32_t n = 3;

	for (uint32_t c = 0; c < TP_CAT_N; c++)
		if (is_shown(sums, c))
			column[n++] = (struct tp_old_column){.title = tp_category_name(c),
							 .align = TP_RIGHT};
	return tp_table_new(column, n);
}

static void add_categories(struct tp_old_table *table, const struct tp_overview_sums *sums,
			   const int64_t *ns, int64_t per)
{
	for (uint32_t c = 0; c < TP_CAT_N; c++)
		if (is_shown(sums, c))
			tp_cell_ns(table, ns[c] / per);
}

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
	struct tp_old_table *table;
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
		tp_out_title(out, "Steps: the %u slowest of %s, the median and the fastest",
			     STEPS_SHOWN - 2, tp_show_count(a, n));
	} else {
		tp_out_title(out, "Recorded steps");
	}
	table = new_category_table(sums, "  step", "");
	for (uint32_t i = 0; i < n_shown; i++) {
		const struct tp_step_time *step = &breakdown->step[order[i].at];

		tp_table_cell(table, "  %s", tp_show_count(a, step->index));
		tp_table_cell(table, "%s",
			      n == n_shown	     ? ""
			      : i == STEPS_SHOWN - 2 ? "median"
			      : i == STEPS_SHOWN - 1 ? "fastest"
						     : "");
		tp_cell_ns(table, tp_overview_step_ns(step));
		add_categories(table, sums, step->ns, 1);
	}
	tp_table_print(table, out);
	free(order);
}

static void print_ranks(const struct tp_run *run, const struct tp_overview *overview,
			const struct tp_overview_sums *sums, struct tp_out *out)
{
	struct ranked *order = malloc((run->n_procs + 1) * sizeof(*order));
	uint32_t n = 0, n_shown;
	struct tp_old_table *table;
	char a[64];

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
		tp_out_title(out, "Ranks: average step of the %u slowest of %u", n_shown,
			     n);
	else
		tp_out_title(out, "Ranks: average step");
	qsort(order, n_shown, sizeof(*order), compare_at);
	table = new_category_table(sums, "  rank", "steps");
	for (uint32_t i = 0; i < n_shown; i++) {
		struct tp_overview_sums own = {.n_steps = 0};

		tp_overview_sum(&own, overview->proc[order[i].at].breakdown);
		tp_table_cell(table, "  %s", tp_label_proc(a, run, run->proc[order[i].at]));
		tp_cell_count(table, own.n_steps);
		tp_cell_ns(table, order[i].ns);
		add_categories(table, sums, own.ns, (int64_t)own.n_steps);
	}
	tp_table_print(table, out);
	free(order);
}

void tp_overview_print_steps(const struct tp_run *run, const struct tp_overview *overview,
			     const struct tp_overview_sums *sums, struct tp_out *out)
{
	if (!sums->n_steps)
		return;
	print_breakdown(sums, out);
	if (sums->n_procs > 1)
		print_ranks(run, overview, sums, out);
	for (uint32_t i = 0; sums->n_procs == 1 && i < overview->n_procs; i++)
		if (overview->proc[i].breakdown->n_steps)
			print_steps_of(&overview->proc[i], sums, out);
	tp_overview_print_all(run, overview, sums, out);
}

void tp_overview_print_operators(const struct tp_overview *overview, struct tp_out *out)
{
	static const struct tp_old_column column[] = {
	    {.title = "", .may_cut = true},
	    {.title = "self", .align = TP_RIGHT},
	    {.title = "self %", .align = TP_RIGHT},
	    {.title = "calls", .align = TP_RIGHT},
	    {.title = "self a call", .align = TP_RIGHT},
	};
	struct tp_old_table *table;
	uint32_t best[TOP_OPERATORS], n_rows = tp_names_count(overview->names), n = 0;
	int64_t all_ns = 0;

	if (n_rows > overview->cap_rows)
		n_rows = overview->cap_rows;
	for (uint32_t i = 0; i < n_rows; i++) {
		uint32_t at = n;

		all_ns = tp_add(all_ns, overview->row[i].self_ns);
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
	tp_out_title(out, "Operators with most time of their own");
	table = tp_table_new(column, sizeof(column) / sizeof(column[0]));
	for (uint32_t i = 0; i < n; i++) {
		const struct tp_name *name = tp_names_at(overview->names, best[i]);
		const struct tp_overview_row *row = &overview->row[best[i]];

		tp_table_cell(table, "  %.*s", (int)name->n_bytes, name->bytes);
		tp_cell_ns(table, row->self_ns);
		tp_cell_percent(table, (double)row->self_ns, (double)all_ns);
		tp_cell_count(table, row->calls);
		tp_cell_ns(table, row->self_ns / (int64_t)row->calls);
	}
	tp_table_print(table, out);
}

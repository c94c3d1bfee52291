/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_overview.c - the first screen: what ran, where a step goes, what stands out, what is lost
 *
 * Each part is left out when it has nothing to say, so a healthy run fits a screen.
 */
#include "merge/view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "merge/label.h"
#include "merge/overview.h"
#include "merge/stats.h"
#include "merge/sum.h"
#include "runtime/trace/ring_layout.h"

enum {
	LABEL = 10,		/* columns of the labels on the left */
	TOP_OPERATORS = 5,
	BARS = 48,		/* of the row of step durations */
	STEPS_ALL = 12,		/* so many recorded steps are all shown */
	STEPS_SHOWN = 8,	/* of more: the slowest, the median and the fastest */
	RANKS_SHOWN = 16,
	OPEN_SHOWN = 8,
	DATA_PERCENT = 5,	/* of a step waiting for data: worth a word */
	LATE_PERCENT = 5,	/* of a step that the others wait for one rank */
};

/* All recorded steps together. */
struct sums {
	int64_t ns[TP_CAT_N], all_ns;
	uint64_t n_steps;
	uint32_t n_procs;	/* that have recorded steps */
};

static int64_t step_ns(const struct tp_step_time *step)
{
	return step->end_ns - step->begin_ns;
}

static void add_steps(struct sums *sums, const struct tp_breakdown *breakdown)
{
	sums->n_procs += breakdown->n_steps != 0;
	sums->n_steps += breakdown->n_steps;
	for (uint32_t i = 0; i < breakdown->n_steps; i++) {
		for (uint32_t c = 0; c < TP_CAT_N; c++)
			sums->ns[c] = tp_add(sums->ns[c], breakdown->step[i].ns[c]);
		sums->all_ns = tp_add(sums->all_ns, step_ns(&breakdown->step[i]));
	}
}

/* Rows of a GPU where none was seen, of a data loader where there is none, are left out. */
static bool is_shown(const struct sums *sums, uint32_t category)
{
	return sums->ns[category] || category >= TP_CAT_CPU;
}

/* ---- what ran ---- */

/* What META may say about the software, in the order of the line. */
static const struct {
	const char *key, *label;
} software[] = {
	{"torch", "torch"},
	{"python", "Python"},
	{"trainprof", "trainprof"},
};

static void print_software(const struct tp_run *run, struct tp_out *out)
{
	const char *meta = run->n_procs ? tp_label_meta(run, run->proc[0]) : "";
	char line[256] = "", value[80];
	size_t n = 0;

	for (uint32_t i = 0; i < sizeof(software) / sizeof(software[0]); i++)
		if (tp_fact(meta, software[i].key, value, sizeof(value)) && n < sizeof(line))
			n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%s %s",
					      n ? ", " : "", software[i].label, value);
	if (n)
		tp_out_item(out, "", LABEL, "software", "%s", line);
}

static void print_who(const struct tp_run *run, struct tp_out *out)
{
	uint32_t n_ranks = 0, n_hosts = 0, n_other = 0;
	int32_t world = -1;
	const struct tp_proc *first = run->n_procs ? run->proc[0] : NULL;
	char ranks[64], program[400];

	for (uint32_t i = 0; i < run->n_procs; i++) {
		const struct tp_proc *proc = run->proc[i];
		bool is_new_rank = proc->rank >= 0, is_new_host = true;

		for (uint32_t j = 0; j < i; j++) {
			is_new_rank &= run->proc[j]->rank != proc->rank;
			is_new_host &= strcmp(run->proc[j]->host, proc->host) != 0;
		}
		n_ranks += is_new_rank;
		n_hosts += is_new_host;
		n_other += !is_new_rank;
		if (proc->world_size > world)
			world = proc->world_size;
	}
	if (!first)
		return;
	tp_out_item(out, "", LABEL, "program", "%s%s%s%s", tp_label_program(program, first),
		    first->host[0] ? " on " : "", first->host,
		    n_hosts > 1 ? " and other hosts" : "");
	if (world > 1 || n_ranks > 1) {
		snprintf(ranks, sizeof(ranks), "%u of %d ranks", n_ranks,
			 world > (int32_t)n_ranks ? world : (int32_t)n_ranks);
		if (n_other)
			tp_out_item(out, "", LABEL, "ranks", "%s, %u other process%s", ranks,
				    n_other, n_other > 1 ? "es" : "");
		else
			tp_out_item(out, world > (int32_t)n_ranks ? "yellow" : "", LABEL, "ranks",
				    "%s", ranks);
	} else if (run->n_procs > 1) {
		tp_out_item(out, "", LABEL, "processes", "%u", run->n_procs);
	}
}

static void print_recorded(const struct tp_run *run, const struct tp_overview *overview,
			   const struct sums *sums, struct tp_out *out)
{
	char a[32], b[32], c[32], windows[64] = "", epochs[32] = "";
	int64_t first = INT64_MAX, last = INT64_MIN, traced = 0;
	uint32_t n_windows = 0, last_epoch = 0;

	for (uint32_t i = 0; i < run->n_windows; i++) {
		const struct tp_window *window = &run->window[i];

		n_windows += window->n_events != 0;
		traced = tp_add(traced, tp_sub(window->end_ns, window->begin_ns));
		first = window->begin_ns < first ? window->begin_ns : first;
		last = window->end_ns > last ? window->end_ns : last;
	}
	for (uint32_t i = 0; i < run->n_steps; i++) {
		const struct tp_step_row *row = &run->step[i];

		first = row->begin_ns < first ? row->begin_ns : first;
		if (tp_add(row->begin_ns, row->dur_ns) > last)
			last = tp_add(row->begin_ns, row->dur_ns);
	}
	for (uint32_t i = 0; i < run->n_steps; i++)
		if (run->step[i].epoch > last_epoch)
			last_epoch = run->step[i].epoch;
	snprintf(windows, sizeof(windows), "%s window%s", tp_show_count(a, n_windows),
		 n_windows == 1 ? "" : "s");
	if (last_epoch)
		snprintf(epochs, sizeof(epochs), " (%u epochs)", last_epoch + 1);
	tp_out_item(out, "", LABEL, "recorded", "%s of %s steps%s in %s, %s events",
		    tp_show_count(a, sums->n_steps),
		    tp_show_count(b, run->n_steps > sums->n_steps ? run->n_steps : sums->n_steps),
		    epochs, windows, tp_show_count(c, overview->n_events));
	if (last > first)
		tp_out_item(out, "", LABEL, "duration", "%s, of which %s recorded%s",
			    tp_show_ns(a, tp_sub(last, first)), tp_show_ns(b, traced),
			    run->n_procs > 1 ? " (all processes)" : "");
}

/* ---- where a step goes ---- */

static void print_breakdown(const struct sums *sums, struct tp_out *out)
{
	static const struct tp_column column[] = {
		{.title = ""},
		{.title = "", .align = TP_RIGHT},
		{.title = "", .align = TP_RIGHT},
		{.title = ""},
	};
	struct tp_table *table = tp_table_new(column, 4);
	uint32_t columns = out->width > 70 ? 40 : 12;
	char a[32], bar[3 * 40 + 1];

	tp_out_title(out, "Where a step goes: average of %s recorded step%s%s",
		     tp_show_count(a, sums->n_steps), sums->n_steps == 1 ? "" : "s",
		     sums->n_procs > 1 ? ", all ranks" : "");
	for (uint32_t c = 0; c < TP_CAT_N; c++) {
		if (!is_shown(sums, c))
			continue;
		tp_table_cell(table, "  %s", tp_category_name(c));
		tp_table_cell(table, "%s", tp_show_ns(a, sums->ns[c] / (int64_t)sums->n_steps));
		tp_table_cell(table, "%s",
			      tp_show_percent(a, (double)sums->ns[c], (double)sums->all_ns));
		tp_table_cell(table, "%s",
			      tp_bar(bar, (double)sums->ns[c], (double)sums->all_ns, columns));
	}
	tp_table_cell(table, "  step");
	tp_table_cell(table, "%s", tp_show_ns(a, sums->all_ns / (int64_t)sums->n_steps));
	tp_table_cell(table, "%s", tp_show_percent(a, 1, 1));
	tp_table_cell(table, "%s", "");
	tp_table_style(table, "bold");
	tp_table_print(table, out);
}

/* A table with a column for each category that is shown. Returns the table, rows open. */
static struct tp_table *new_category_table(const struct sums *sums, const char *first,
					   const char *second)
{
	struct tp_column column[TP_CAT_N + 3] = {
		{.title = first},
		{.title = second, .align = TP_RIGHT},
		{.title = "time", .align = TP_RIGHT},
	};
	uint32_t n = 3;

	for (uint32_t c = 0; c < TP_CAT_N; c++)
		if (is_shown(sums, c))
			column[n++] = (struct tp_column){.title = tp_category_name(c),
							 .align = TP_RIGHT};
	return tp_table_new(column, n);
}

static void add_categories(struct tp_table *table, const struct sums *sums, const int64_t *ns,
			   int64_t per)
{
	char a[32];

	for (uint32_t c = 0; c < TP_CAT_N; c++)
		if (is_shown(sums, c))
			tp_table_cell(table, "%s", tp_show_ns(a, ns[c] / per));
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

static void print_steps_of(const struct tp_overview_proc *proc, const struct sums *sums,
			   struct tp_out *out)
{
	const struct tp_breakdown *breakdown = &proc->breakdown;
	uint32_t n = breakdown->n_steps, n_shown = n <= STEPS_ALL ? n : STEPS_SHOWN;
	struct ranked *order = malloc((n + 1) * sizeof(*order));
	struct tp_table *table;
	char a[32];

	if (!order || n < 2) {
		free(order);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		order[i] = (struct ranked){step_ns(&breakdown->step[i]), i};
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
		tp_table_cell(table, "%s", n == n_shown		    ? ""
					   : i == STEPS_SHOWN - 2 ? "median"
					   : i == STEPS_SHOWN - 1 ? "fastest"
								  : "");
		tp_table_cell(table, "%s", tp_show_ns(a, step_ns(step)));
		add_categories(table, sums, step->ns, 1);
	}
	tp_table_print(table, out);
	free(order);
}

/*
 * All ranks leave a collective together, so a late rank does not show in the time of a step:
 * it shows as the one that waits least.
 */
static void print_late_rank(const struct tp_run *run, const struct tp_overview *overview,
			    const struct sums *sums, struct tp_out *out)
{
	int64_t *wait = malloc((run->n_procs + 1) * sizeof(*wait)), least = INT64_MAX, median;
	uint32_t n = 0, late = 0;
	char who[64], a[32], b[32];

	for (uint32_t i = 0; wait && i < run->n_procs; i++) {
		struct sums own = {.n_steps = 0};

		add_steps(&own, &overview->proc[i].breakdown);
		if (!own.n_steps)
			continue;
		wait[n] = own.ns[TP_CAT_COMM] / (int64_t)own.n_steps;
		if (wait[n] < least) {
			least = wait[n];
			late = i;
		}
		n++;
	}
	if (wait)
		tp_sort_i64(wait, n);
	/* Of the others: the late rank is the first of the sorted ones. */
	median = n > 1 && wait ? tp_percentile(wait + 1, n - 1, 50) : 0;
	if (n > 1 && (median - least) / LATE_PERCENT > sums->all_ns / (int64_t)sums->n_steps / 100)
		tp_out_line(out, "yellow",
			    "  %s is late: it spends %s a step in collectives, the others %s waiting "
			    "for it.",
			    tp_label_proc(who, run, run->proc[late]), tp_show_ns(a, least),
			    tp_show_ns(b, median));
	free(wait);
}

static void print_ranks(const struct tp_run *run, const struct tp_overview *overview,
			const struct sums *sums, struct tp_out *out)
{
	struct ranked *order = malloc((run->n_procs + 1) * sizeof(*order));
	uint32_t n = 0, n_shown;
	struct tp_table *table;
	char a[64];

	if (!order)
		return;
	for (uint32_t i = 0; i < run->n_procs; i++) {
		struct sums own = {.n_steps = 0};

		add_steps(&own, &overview->proc[i].breakdown);
		if (own.n_steps)
			order[n++] = (struct ranked){own.all_ns / (int64_t)own.n_steps, i};
	}
	n_shown = n < RANKS_SHOWN ? n : RANKS_SHOWN;
	qsort(order, n, sizeof(*order), compare_ranked);
	if (n > RANKS_SHOWN)
		tp_out_title(out, "Ranks: average step of the %u slowest of %u", n_shown, n);
	else
		tp_out_title(out, "Ranks: average step");
	qsort(order, n_shown, sizeof(*order), compare_at);
	table = new_category_table(sums, "  rank", "steps");
	for (uint32_t i = 0; i < n_shown; i++) {
		struct sums own = {.n_steps = 0};

		add_steps(&own, &overview->proc[order[i].at].breakdown);
		tp_table_cell(table, "  %s", tp_label_proc(a, run, run->proc[order[i].at]));
		tp_table_cell(table, "%s", tp_show_count(a, own.n_steps));
		tp_table_cell(table, "%s", tp_show_ns(a, order[i].ns));
		add_categories(table, sums, own.ns, (int64_t)own.n_steps);
	}
	tp_table_print(table, out);
	free(order);
	print_late_rank(run, overview, sums, out);
}

/* ---- operators ---- */

static void print_operators(const struct tp_overview *overview, struct tp_out *out)
{
	static const struct tp_column column[] = {
		{.title = "", .may_cut = true},
		{.title = "self", .align = TP_RIGHT},
		{.title = "self %", .align = TP_RIGHT},
		{.title = "calls", .align = TP_RIGHT},
		{.title = "self a call", .align = TP_RIGHT},
	};
	struct tp_table *table;
	uint32_t best[TOP_OPERATORS], n_rows = tp_names_count(overview->names), n = 0;
	int64_t all_ns = 0;
	char a[32];

	if (n_rows > overview->cap_rows)
		n_rows = overview->cap_rows;
	for (uint32_t i = 0; i < n_rows; i++) {
		uint32_t at = n;

		all_ns = tp_add(all_ns, overview->row[i].self_ns);
		if (!overview->row[i].calls)
			continue;
		while (at > 0 && overview->row[best[at - 1]].self_ns < overview->row[i].self_ns)
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
		tp_table_cell(table, "%s", tp_show_ns(a, row->self_ns));
		tp_table_cell(table, "%s", tp_show_percent(a, (double)row->self_ns, (double)all_ns));
		tp_table_cell(table, "%s", tp_show_count(a, row->calls));
		tp_table_cell(table, "%s", tp_show_ns(a, row->self_ns / (int64_t)row->calls));
	}
	tp_table_print(table, out);
}

/* ---- what stands out ---- */

/* "in aten::mm (Optimizer.step#AdamW.step)" */
static void show_where(char *buf, size_t cap, const struct tp_overview *overview,
		       const struct tp_overview_peak *peak)
{
	const struct tp_name *inside, *of;

	buf[0] = 0;
	if (peak->inside == TP_NO_ROW)
		return;
	inside = tp_names_at(overview->names, peak->inside);
	snprintf(buf, cap, ", inside %.*s", inside->n_bytes > 80 ? 80 : (int)inside->n_bytes,
		 inside->bytes);
	if (peak->of == TP_NO_ROW || peak->of == peak->inside)
		return;
	of = tp_names_at(overview->names, peak->of);
	snprintf(buf + strlen(buf), cap - strlen(buf), " in %.*s",
		 of->n_bytes > 80 ? 80 : (int)of->n_bytes, of->bytes);
}

static const struct tp_overview_peak *find_peak(const struct tp_overview_proc *proc,
						uint64_t step)
{
	for (uint32_t i = 0; i < proc->breakdown.n_steps && i < proc->cap_peaks; i++)
		if (proc->peak[i].step == step && proc->peak[i].live_bytes > 0)
			return &proc->peak[i];
	return NULL;
}

/*
 * Where tensors stood highest, of the steps for which the blocks are known. Peaks within a
 * hundredth are the same peak, come back in each step: that step is taken in which the fewest
 * sizes are not known, since its curve is the surest.
 */
static const struct tp_step_row *find_recorded_peak(const struct tp_run *run,
						    const struct tp_overview *overview,
						    const struct tp_overview_peak **peak)
{
	const struct tp_step_row *most = NULL;

	for (uint32_t i = 0; i < run->n_steps; i++) {
		const struct tp_step_row *row = &run->step[i];
		const struct tp_overview_peak *of_step;
		uint64_t near = most ? most->peak_bytes / 100 : 0;

		if (most && row->peak_bytes + near < most->peak_bytes)
			continue;
		of_step = find_peak(&overview->proc[row->proc->at], row->index);
		if (!of_step || (most && row->peak_bytes <= most->peak_bytes + near &&
				 of_step->n_unknown >= (*peak)->n_unknown))
			continue;
		most = row;
		*peak = of_step;
	}
	return most;
}

/* Without a ledger (another folder, an old file): what the blocks say. */
static void print_traced_memory(const struct tp_overview *overview, struct tp_out *out)
{
	const struct tp_overview_peak *most = NULL;
	char a[32], where[256];

	for (uint32_t p = 0; p < overview->n_procs; p++) {
		const struct tp_overview_proc *proc = &overview->proc[p];

		for (uint32_t i = 0; i < proc->breakdown.n_steps && i < proc->cap_peaks; i++)
			if (proc->peak[i].live_bytes > 0 &&
			    (!most || proc->peak[i].live_bytes > most->live_bytes))
				most = &proc->peak[i];
	}
	if (!most)
		return;
	show_where(where, sizeof(where), overview, most);
	tp_out_item(out, "", LABEL, "memory", "peak of tensors in recorded steps: %s%s in step "
		    "%" PRIu64 "%s", tp_show_bytes(a, most->live_bytes),
		    most->is_absolute ? "" : " above the window's begin", most->step, where);
}

static const char *show_step(char buf[160], const struct tp_run *run,
			     const struct tp_step_row *row)
{
	char who[64];

	snprintf(buf, 160, "step %" PRIu64 " (epoch %u)%s%s", row->index, row->epoch,
		 run->n_procs > 1 ? " of " : "",
		 run->n_procs > 1 ? tp_label_proc(who, run, row->proc) : "");
	return buf;
}

static void print_memory(const struct tp_run *run, const struct tp_overview *overview,
			 struct tp_out *out)
{
	const struct tp_step_row *most = NULL, *device = NULL, *recorded;
	const struct tp_overview_peak *peak = NULL;
	char a[32], where[256] = "", step[160];

	for (uint32_t i = 0; i < run->n_steps; i++) {
		if (!most || run->step[i].peak_bytes > most->peak_bytes)
			most = &run->step[i];
		if (!device || run->step[i].device_peak > device->device_peak)
			device = &run->step[i];
	}
	recorded = find_recorded_peak(run, overview, &peak);
	if (recorded)
		show_where(where, sizeof(where), overview, peak);
	if (!most || !most->peak_bytes)
		print_traced_memory(overview, out);
	else if (recorded && recorded->peak_bytes >= most->peak_bytes / 100 * 99)
		/* Most steps have the same peak: name one of which more is known. */
		tp_out_item(out, "", LABEL, "memory", "peak of tensors %s in %s%s",
			    tp_show_bytes(a, (int64_t)most->peak_bytes),
			    show_step(step, run, recorded), where);
	else
		tp_out_item(out, "", LABEL, "memory",
			    "peak of tensors %s in %s, which was not recorded",
			    tp_show_bytes(a, (int64_t)most->peak_bytes),
			    show_step(step, run, most));
	if (recorded && recorded->peak_bytes &&
	    recorded->peak_bytes < most->peak_bytes / 100 * 99)
		tp_out_item(out, "", LABEL, "", "of recorded steps: %s in %s%s",
			    tp_show_bytes(a, (int64_t)recorded->peak_bytes),
			    show_step(step, run, recorded), where);
	if (device && device->device_peak)
		tp_out_item(out, "", LABEL, "", "peak on devices %s in %s",
			    tp_show_bytes(a, (int64_t)device->device_peak),
			    show_step(step, run, device));
}

/* What grew most in a recorded step against the median of each category. */
static void show_growth(char *buf, size_t cap, const struct tp_breakdown *breakdown,
			uint64_t index)
{
	const struct tp_step_time *step = NULL;
	int64_t *value = malloc((breakdown->n_steps + 1) * sizeof(*value)), most = 0;
	uint32_t worst = TP_CAT_N;
	char a[32];

	buf[0] = 0;
	for (uint32_t i = 0; i < breakdown->n_steps; i++)
		if (breakdown->step[i].index == index)
			step = &breakdown->step[i];
	for (uint32_t c = 0; step && value && c < TP_CAT_N && breakdown->n_steps > 2; c++) {
		int64_t growth;

		for (uint32_t i = 0; i < breakdown->n_steps; i++)
			value[i] = breakdown->step[i].ns[c];
		tp_sort_i64(value, breakdown->n_steps);
		growth = tp_sub(step->ns[c], tp_percentile(value, breakdown->n_steps, 50));
		if (growth > most) {
			most = growth;
			worst = c;
		}
	}
	if (worst < TP_CAT_N)
		snprintf(buf, cap, "; most of it in %s: %s more than in the median step",
			 tp_category_name(worst), tp_show_ns(a, most));
	free(value);
}

/* The same from the ledger, for a step outside windows: it knows two parts. */
static void show_ledger_growth(char *buf, size_t cap, const struct tp_overview_proc *proc,
			       const struct tp_step_row *row, int64_t *value, int64_t over_ns)
{
	int64_t data, optimizer;
	char a[32];

	for (uint32_t i = 0; i < proc->n_ledger; i++)
		value[i] = proc->ledger[i].data_wait_ns;
	tp_sort_i64(value, proc->n_ledger);
	data = tp_sub(row->data_wait_ns, tp_percentile(value, proc->n_ledger, 50));
	for (uint32_t i = 0; i < proc->n_ledger; i++)
		value[i] = proc->ledger[i].optimizer_ns;
	tp_sort_i64(value, proc->n_ledger);
	optimizer = tp_sub(row->optimizer_ns, tp_percentile(value, proc->n_ledger, 50));
	if (data > over_ns / 2)
		snprintf(buf, cap, "; %s more waiting for data", tp_show_ns(a, data));
	else if (optimizer > over_ns / 2)
		snprintf(buf, cap, "; %s more in the optimizer", tp_show_ns(a, optimizer));
	else
		snprintf(buf, cap, "; not recorded; it waited no longer for data or in the optimizer");
}

static void print_slowest(const struct tp_run *run, const struct tp_overview *overview,
			  struct tp_out *out)
{
	const struct tp_step_row *slowest = NULL;
	const struct tp_overview_proc *proc;
	int64_t *value, median;
	char a[32], b[32], c[32], who[64], growth[160] = "", bars[3 * BARS + 1];

	/* The first step of a process pays for everything that happens once. */
	for (uint32_t i = 0; i < run->n_steps; i++)
		if (run->step[i].index &&
		    (!slowest || run->step[i].dur_ns > slowest->dur_ns))
			slowest = &run->step[i];
	if (!slowest)
		return;
	proc = &overview->proc[slowest->proc->at];
	value = malloc((proc->n_ledger + 1) * sizeof(*value));
	if (!value || proc->n_ledger < 3) {
		free(value);
		return;
	}
	for (uint32_t i = 0; i < proc->n_ledger; i++)
		value[i] = proc->ledger[i].dur_ns;
	tp_sort_i64(value, proc->n_ledger);
	median = tp_percentile(value, proc->n_ledger, 50);
	tp_out_item(out, "", LABEL, "steps", "median %s, p99 %s, max %s", tp_show_ns(a, median),
		    tp_show_ns(b, tp_percentile(value, proc->n_ledger, 99)),
		    tp_show_ns(c, value[proc->n_ledger - 1]));
	if (proc->n_ledger >= 10) {
		for (uint32_t i = 0; i < proc->n_ledger; i++)
			value[i] = proc->ledger[i].dur_ns;
		tp_out_item(out, "", LABEL, "", "%s full bar: %s",
			    tp_sparkline(bars, value, proc->n_ledger, BARS, tp_add(median, median)),
			    tp_show_ns(a, tp_add(median, median)));
	}
	show_growth(growth, sizeof(growth), &proc->breakdown, slowest->index);
	if (!growth[0])
		show_ledger_growth(growth, sizeof(growth), proc, slowest, value,
				   tp_sub(slowest->dur_ns, median));
	if (slowest->dur_ns / 5 > median / 4)
		tp_out_item(out, slowest->dur_ns / 3 > median / 2 ? "yellow" : "", LABEL, "slowest",
			    "step %" PRIu64 "%s%s (after the first): %s, %.1f times the median%s",
			    slowest->index, run->n_procs > 1 ? " of " : "",
			    run->n_procs > 1 ? tp_label_proc(who, run, slowest->proc) : "",
			    tp_show_ns(a, slowest->dur_ns),
			    median > 0 ? (double)slowest->dur_ns / (double)median : 0, growth);
	free(value);
}

static void print_data(const struct tp_run *run, const struct tp_overview *overview,
		       const struct sums *sums, struct tp_out *out)
{
	int64_t wait = sums->ns[TP_CAT_DATA], all = sums->all_ns;
	bool has_workers = false, has_none = false;
	char a[32];

	if (run->n_steps) {
		wait = all = 0;
		for (uint32_t i = 0; i < run->n_steps; i++) {
			wait = tp_add(wait, run->step[i].data_wait_ns);
			all = tp_add(all, run->step[i].dur_ns);
		}
	}
	if (all <= 0 || wait <= 0)
		return;
	for (uint32_t i = 0; i < tp_names_count(overview->names); i++) {
		const struct tp_name *name = tp_names_at(overview->names, i);

		has_workers |= strstr(name->bytes, "_MultiProcessingDataLoaderIter") != NULL;
		has_none |= strstr(name->bytes, "_SingleProcessDataLoaderIter") != NULL;
	}
	tp_show_percent(a, (double)wait, (double)all);
	if (wait < all / 100 * DATA_PERCENT)
		tp_out_item(out, "", LABEL, "data", "%s of the run's steps is spent waiting for data",
			    a);
	else if (has_none && !has_workers)
		tp_out_item(out, "yellow", LABEL, "data",
			    "%s of the run's steps is spent waiting for data, which is loaded in the "
			    "training process: give DataLoader num_workers > 0",
			    a);
	else
		tp_out_item(out, "yellow", LABEL, "data",
			    "%s of the run's steps is spent waiting for data: more num_workers, a "
			    "greater prefetch_factor, or less work for each sample",
			    a);
}

/* ---- what is lost, what died ---- */

static void print_lost(const struct tp_run *run, const struct tp_overview *overview,
		       struct tp_out *out)
{
	uint64_t dropped = 0;
	uint32_t n_dropping = 0, n_cut = 0, n_dead = 0, n_off = 0, n_issues = 0;
	char a[32], off[200] = "", key[64], why[160], first_why[160] = "";
	const char *at, *issue = "";

	for (uint32_t i = 0; i < run->n_windows; i++) {
		dropped += run->window[i].dropped;
		n_dropping += run->window[i].dropped != 0;
		n_cut += !run->window[i].is_whole && !run->window[i].is_recovered;
	}
	for (uint32_t i = 0; i < run->n_procs; i++)
		n_dead += run->proc[i]->is_dead;
	for (uint32_t i = 0; i < run->n_issues; i++)
		if (run->issue[i].is_loss && !n_issues++)
			issue = run->issue[i].text;
	at = run->n_procs ? tp_label_meta(run, run->proc[0]) : "";
	while (tp_fact_next(&at, "off.", key, why, sizeof(why))) {
		size_t n = strlen(off);

		if (n_off++ == 0)
			snprintf(first_why, sizeof(first_why), "%s", why);
		snprintf(off + n, sizeof(off) - n, "%s%s", n ? ", " : "", key);
	}
	if (dropped)
		tp_out_item(out, "red", LABEL, "LOST",
			    "%s events in %u window%s: the buffer was full; give a greater "
			    "TRAINPROF_BUFFER",
			    tp_show_count(a, dropped), n_dropping, n_dropping == 1 ? "" : "s");
	if (n_cut)
		tp_out_item(out, "red", LABEL, dropped ? "" : "LOST",
			    "%u window%s without an end: the process did not finish %s", n_cut,
			    n_cut == 1 ? "" : "s", n_cut == 1 ? "it" : "them");
	if (n_issues)
		tp_out_item(out, "red", LABEL, dropped || n_cut ? "" : "LOST",
			    n_issues > 1 ? "%s; and %u more" : "%s", issue, n_issues - 1);
	if (n_dead)
		tp_out_item(out, "yellow", LABEL, "died",
			    "%u process%s did not end in order; what %s had recorded is here", n_dead,
			    n_dead == 1 ? "" : "es", n_dead == 1 ? "it" : "they");
	if (n_off)
		tp_out_item(out, "yellow", LABEL, "off", "%s%s%s", off, n_off == 1 ? ": " : "",
			    n_off == 1 ? first_why : "");
	if (overview->is_incomplete)
		tp_out_item(out, "red", LABEL, "", "out of memory: figures are not complete");
	if (dropped || n_cut || n_issues || n_dead || n_off)
		tp_out_item(out, "dim", LABEL, "", "more: -v health");
}

static void print_open(const struct tp_run *run, struct tp_out *out)
{
	uint32_t n_shown = 0, n_threads = 0;
	char who[64], thread[64], a[32], inner[128], outer[128];

	for (uint32_t i = 0; i < run->n_open; i++) {
		const struct tp_open_at_end *open = &run->open[i], *first = open;

		if (i && run->open[i - 1].proc == open->proc &&
		    run->open[i - 1].thread == open->thread)
			first = NULL;
		if (!first)
			continue;
		if (!n_threads++)
			tp_out_title(out, "Where they stood when they died");
		if (n_shown++ >= OPEN_SHOWN)
			continue;
		while (i + 1 < run->n_open && run->open[i + 1].proc == open->proc &&
		       run->open[i + 1].thread == open->thread)
			open = &run->open[++i];
		snprintf(inner, sizeof(inner), "%.*s", (int)open->name->n_bytes,
			 open->name->bytes ? open->name->bytes : "?");
		snprintf(outer, sizeof(outer), "%.*s", (int)first->name->n_bytes,
			 first->name->bytes ? first->name->bytes : "?");
		tp_out_line(out, "yellow", "  %s %s: %s for %s%s%s",
			    tp_label_proc(who, run, open->proc),
			    tp_label_thread(thread, open->thread), inner,
			    tp_show_ns(a, tp_sub(open->seen_ns, open->begin_ns)),
			    first == open ? "" : " in ", first == open ? "" : outer);
	}
	if (n_shown > OPEN_SHOWN)
		tp_out_line(out, "dim", "  and %u more threads: -v health",
			    n_threads - OPEN_SHOWN);
}

static void *begin(const struct tp_run *run, const struct tp_view_options *options)
{
	return tp_overview_new(run, options);
}

static void event(void *state, const struct tp_event *ev)
{
	if (state)
		tp_overview_event(state, ev);
}

static void print(void *state, const struct tp_run *run, struct tp_out *out)
{
	struct tp_overview *overview = state;
	struct sums sums = {.n_steps = 0};

	if (!overview) {
		tp_out_line(out, "red", "overview: out of memory");
		return;
	}
	tp_overview_end(overview);
	for (uint32_t i = 0; i < overview->n_procs; i++)
		add_steps(&sums, &overview->proc[i].breakdown);
	tp_out_title(out, "%s", run->path ? run->path : "run");
	print_who(run, out);
	print_software(run, out);
	print_recorded(run, overview, &sums, out);
	print_memory(run, overview, out);
	print_slowest(run, overview, out);
	print_data(run, overview, &sums, out);
	print_lost(run, overview, out);
	if (sums.n_steps) {
		print_breakdown(&sums, out);
		if (sums.n_procs > 1)
			print_ranks(run, overview, &sums, out);
		else
			for (uint32_t i = 0; i < overview->n_procs; i++)
				if (overview->proc[i].breakdown.n_steps)
					print_steps_of(&overview->proc[i], &sums, out);
	}
	print_operators(overview, out);
	print_open(run, out);
	tp_overview_free(overview);
}

const struct tp_view tp_view_overview = {
	.name = "overview",
	.help = "what ran, where a step goes, what stands out, what is lost",
	.begin = begin,
	.event = event,
	.print = print,
};

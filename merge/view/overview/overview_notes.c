/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_notes.c - part of the overview: what stands out in memory, in the slowest step,
 * in waiting for data
 */
#include "merge/view/overview/overview.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "merge/facts/code/crowded_steps.h"
#include "merge/facts/code/slow_steps.h"
#include "merge/facts/code/thread_times.h"
#include "merge/kit/stats.h"
#include "merge/kit/sum.h"
#include "merge/model/label.h"
#include "runtime/trace/ring_layout.h"

enum {
	BARS = 48,	  /* of the row of step durations */
	BARS_LEAST = 10,  /* steps: fewer are no picture */
	MUCH_PERCENT = 40,	/* of the time without a core: that is why a step is the slowest */
	UNLIKE_PERCENT = 150,	/* of the median recorded step, or of the others: windows are not like the */
	OTHERS_LEAST = 16,	/* run, if there are so many others */
};

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

static bool choose_one(const void *ctx, uint64_t step)
{
	return step == *(const uint64_t *)ctx;
}

/* The same from the ledger, for a step outside windows: it knows two parts, and
 * samples of a slow one. */
static void show_ledger_growth(char *buf, size_t cap, const struct tp_overview_proc *proc,
			       const struct tp_step_row *row, int64_t *value,
			       int64_t over_ns)
{
	struct tp_crowded crowded;
	struct tp_slow_where where;
	char a[32];
	uint32_t waited_percent;
	int64_t data, optimizer;

	for (uint32_t i = 0; i < proc->n_ledger; i++)
		value[i] = proc->ledger[i].data_wait_ns;
	tp_sort_i64(value, proc->n_ledger);
	data = tp_sub(row->data_wait_ns, tp_percentile(value, proc->n_ledger, 50));
	for (uint32_t i = 0; i < proc->n_ledger; i++)
		value[i] = proc->ledger[i].optimizer_ns;
	tp_sort_i64(value, proc->n_ledger);
	optimizer = tp_sub(row->optimizer_ns, tp_percentile(value, proc->n_ledger, 50));
	tp_crowded_read(row->proc, &crowded);
	waited_percent = tp_crowded_percent(&crowded, row->index);
	if (data > over_ns / 2)
		snprintf(buf, cap, "; %s more waiting for data", tp_show_ns(a, data));
	else if (optimizer > over_ns / 2)
		snprintf(buf, cap, "; %s more in the optimizer", tp_show_ns(a, optimizer));
	else if (waited_percent >= MUCH_PERCENT)
		snprintf(buf, cap, "; not recorded; around it the training thread was runnable but waited for a core "
			 "%" PRIu32 " %% of the time", waited_percent);
	else if (tp_slow_steps_where(row->proc, choose_one, &row->index, &where))
		snprintf(buf, cap, "; not recorded; it stood in %s", where.text);
	else
		snprintf(
		    buf, cap,
		    "; not recorded; neither data loading nor the optimizer explains it");
}

/* The first step of a process pays for everything that happens once, a warm-up step for what the profiler
 * does once. */
static bool pays_once(const struct tp_step_row *row)
{
	return !row->index || row->phase == TP_PHASE_WARMUP;
}

static void print_slowest(const struct tp_run *run, const struct tp_overview *overview,
			  struct tp_out *out)
{
	const struct tp_step_row *slowest = NULL;
	const struct tp_overview_proc *proc;
	int64_t *value, median;
	char a[32], b[32], c[32], who[64], growth[TP_SLOW_WHERE + 60] = "", bars[3 * BARS + 1];

	for (uint32_t i = 0; i < run->n_steps; i++)
		if (!pays_once(&run->step[i]) &&
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
	tp_out_item(out, "", TP_OVERVIEW_LABEL, "steps", "median %s, p99 %s, max %s",
		    tp_show_ns(a, median),
		    tp_show_ns(b, tp_percentile(value, proc->n_ledger, 99)),
		    tp_show_ns(c, value[proc->n_ledger - 1]));
	if (proc->n_ledger >= BARS_LEAST && tp_out_is_terminal(out)) {
		for (uint32_t i = 0; i < proc->n_ledger; i++)
			value[i] = proc->ledger[i].dur_ns;
		tp_out_item(
		    out, "", TP_OVERVIEW_LABEL, "", "%s full bar: %s",
		    tp_sparkline(bars, value, proc->n_ledger, BARS, tp_add(median, median)),
		    tp_show_ns(a, tp_add(median, median)));
	}
	show_growth(growth, sizeof(growth), proc->breakdown, slowest->index);
	if (!growth[0])
		show_ledger_growth(growth, sizeof(growth), proc, slowest, value,
				   tp_sub(slowest->dur_ns, median));
	if (slowest->dur_ns / 5 > median / 4)
		tp_out_item(
		    out, slowest->dur_ns / 3 > median / 2 ? "yellow" : "",
		    TP_OVERVIEW_LABEL, "slowest",
		    "step %" PRIu64 "%s%s (after the first): %s, %.1f times the median%s",
		    slowest->index, tp_label_is_needed(run) ? " of " : "",
		    tp_label_is_needed(run) ? tp_label_proc(who, run, slowest->proc) : "",
		    tp_show_ns(a, slowest->dur_ns),
		    median > 0 ? (double)slowest->dur_ns / (double)median : 0, growth);
	free(value);
}

/* The durations of the recorded steps or of all others; their number. */
static uint32_t sort_steps(const struct tp_run *run, bool is_recorded, int64_t *value)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < run->n_steps; i++)
		if (!pays_once(&run->step[i]) &&
		    (run->step[i].phase == TP_PHASE_ACTIVE) == is_recorded)
			value[n++] = run->step[i].dur_ns;
	tp_sort_i64(value, n);
	return n;
}

static void print_unlike(const struct tp_run *run, struct tp_out *out)
{
	int64_t *value = malloc((run->n_steps + 1) * sizeof(*value)), recorded = 0, others = 0;
	uint32_t n;
	char a[32], b[32];

	if (value && (n = sort_steps(run, true, value)) > 0)
		recorded = tp_percentile(value, n, 50);
	if (recorded && (n = sort_steps(run, false, value)) >= OTHERS_LEAST)
		others = tp_percentile(value, n, 50);
	if (others &&
	    (others / UNLIKE_PERCENT >= recorded / 100 || recorded / UNLIKE_PERCENT >= others / 100))
		tp_out_item(out, "yellow", TP_OVERVIEW_LABEL, "windows",
			    "the median recorded step took %s, the median other one %s: windows do not show "
			    "what most of the run is like; choose other steps (TRAINPROF_SCHEDULE=wait=N,...)",
			    tp_show_ns(a, recorded), tp_show_ns(b, others));
	free(value);
}

static void print_data(const struct tp_run *run, const struct tp_overview_sums *sums,
		       struct tp_out *out)
{
	int64_t wait, all;
	char a[32];

	if (tp_overview_data_wait(run, sums, &wait, &all))
		tp_out_item(out, "", TP_OVERVIEW_LABEL, "data",
			    "%s of step time is spent waiting for data",
			    tp_show_percent(a, (double)wait, (double)all));
}

static void print_cores(const struct tp_run *run, const struct tp_overview *overview, struct tp_out *out)
{
	const struct tp_proc *who;
	const double percent = tp_thread_times_waiting(run, &who);
	char why[128] = "more threads were runnable than there are cores";
	struct tp_thread_times times;
	struct tp_cores_use use;

	if (percent < TP_OVERVIEW_CROWDED_PERCENT)
		return;
	use = tp_thread_times_beside(run, who);
	if (tp_thread_times_of(run, who, &times) &&
	    use.taken * 100 < (double)times.cores * TP_OVERVIEW_TAKEN_PERCENT)
		snprintf(why, sizeof(why), "this run had %.1f of %" PRIu32 " cores, %s the others", use.taken,
			 times.cores, tp_cores_are_idle(overview->cores) ? "nobody" : "other programs");
	tp_out_item(out, "yellow", TP_OVERVIEW_LABEL, "cores",
		    "the training thread was runnable but waited for a core %.1f %% of the time, which lengthens "
		    "steps: %s", percent, why);
}

static void print_failed(const struct tp_overview *overview, struct tp_out *out)
{
	const struct tp_name *name = NULL;
	char a[32], b[32];

	if (!overview->n_failed)
		return;
	if (overview->failed_inside != TP_NO_ROW)
		name = tp_names_at(overview->names, overview->failed_inside);
	tp_out_item(out, "red", TP_OVERVIEW_LABEL, "NO MEMORY",
		    "%s allocation%s failed; the first requested %s%s%.*s",
		    tp_show_count(a, overview->n_failed), overview->n_failed == 1 ? "" : "s",
		    tp_show_bytes(b, (int64_t)overview->failed_bytes), name ? ", inside " : "",
		    name ? (int)name->n_bytes : 0, name ? name->bytes : "");
}

void tp_overview_print_notes(const struct tp_run *run, const struct tp_overview *overview,
			     const struct tp_overview_sums *sums, bool is_data_told, struct tp_out *out)
{
	tp_overview_print_memory(run, overview, out);
	tp_overview_print_host(run, out);
	print_failed(overview, out);
	print_slowest(run, overview, out);
	print_unlike(run, out);
	if (!is_data_told)
		print_data(run, sums, out);
	print_cores(run, overview, out);
}

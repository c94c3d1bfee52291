/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_steps.c - every step of the run, from the step ledgers: inside windows or not
 *
 * Per rank: percentiles by phase, the run as a row of bars, and the steps themselves. Not
 * all of them unless asked for: the first, the last and the slow ones.
 */
#include "merge/view/view_steps.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "merge/facts/time/step_gpu.h"
#include "merge/kit/need.h"
#include "merge/kit/stats.h"
#include "merge/kit/sum.h"
#include "merge/model/label.h"
#include "runtime/trace/ring_layout.h"

enum {
	ENDS_SHOWN = 3,	    /* first and last steps that are always shown */
	RUNNING_LEAST = 5,  /* steps before the running median means anything */
	PROCS_SHOWN = 4,    /* of more processes only the slowest is shown in detail */
};

struct state {
	struct tp_view_options options;
	const struct tp_step_gpus *gpus; /* NULL: no device */
};

static void *begin_steps(struct tp_facts *facts, const struct tp_view_options *options)
{
	struct state *state = tp_need(1, sizeof(*state));

	state->options = *options;
	if (tp_step_gpus_has(tp_facts_run(facts)))
		state->gpus = tp_facts_want(facts, &tp_fact_step_gpus, NULL);
	return state;
}

/* A step that began in the middle of nothing (the first one holds warm-up of every kind) is
 * compared with the whole run, the others with what lay before them. */
static void find_medians(struct tp_steps_shown *steps)
{
	struct tp_running running = {.n = 0};
	int64_t of_all = tp_percentile(steps->sorted, steps->n, 50);

	for (uint32_t i = 0; i < steps->n; i++) {
		steps->median[i] =
		    running.n >= RUNNING_LEAST ? tp_running_median(&running) : of_all;
		tp_running_add(&running, steps->row[i].dur_ns);
	}
}

static void print_sparkline(const struct tp_steps_shown *steps, struct tp_out *out)
{
	uint32_t columns = out->width > 36 ? out->width - 22 : 14;
	char *bars = malloc(3 * (size_t)columns + 1), a[32];
	int64_t *duration = malloc((steps->n + 1) * sizeof(*duration));
	int64_t median = tp_percentile(steps->sorted, steps->n, 50);
	int64_t top = tp_add(median, median);

	if (bars && duration && steps->n > 1 && tp_out_is_terminal(out)) {
		for (uint32_t i = 0; i < steps->n; i++)
			duration[i] = steps->row[i].dur_ns;
		tp_out_line(out, "", "durations %s  full: %s",
			    tp_sparkline(bars, duration, steps->n, columns - 4, top),
			    tp_show_ns(a, top));
	}
	free(bars);
	free(duration);
}

struct slow {
	double times; /* of its running median */
	uint32_t at;
};

static int compare_slow(const void *a, const void *b)
{
	const struct slow *x = a, *y = b;

	if (x->times != y->times)
		return x->times < y->times ? 1 : -1;
	return (x->at > y->at) - (x->at < y->at);
}

/* Which steps the table shows: all, or the ends and the slowest of the slow. */
static uint32_t choose(const struct tp_steps_shown *steps, uint32_t top, bool *shown)
{
	uint32_t n = 0, n_slow = 0, ends = ENDS_SHOWN * 2 > top ? top / 2 : ENDS_SHOWN;
	struct slow *slow;

	if (!top || steps->n <= top) {
		memset(shown, true, steps->n);
		return steps->n;
	}
	for (uint32_t i = 0; i < ends; i++)
		shown[i] = shown[steps->n - 1 - i] = true;
	n = ends * 2;
	slow = malloc(steps->n * sizeof(*slow));
	for (uint32_t i = ends; slow && i < steps->n - ends; i++)
		if (tp_view_steps_is_slow(steps, &steps->row[i]))
			slow[n_slow++] = (struct slow){
			    (double)steps->row[i].dur_ns / (double)steps->median[i], i};
	if (n_slow)
		qsort(slow, n_slow, sizeof(*slow), compare_slow);
	for (uint32_t i = 0; i < n_slow && n < top; i++, n++)
		shown[slow[i].at] = true;
	free(slow);
	return n;
}

static void print_table(struct tp_steps_shown *steps, uint32_t top, struct tp_out *out)
{
	uint32_t n_shown;
	bool *shown = calloc(steps->n + 1, sizeof(*shown));
	struct tp_table *table;
	char a[32], b[32];

	for (uint32_t i = 0; i < steps->n; i++) {
		steps->has_memory |= steps->row[i].live_bytes || steps->row[i].peak_bytes;
		steps->has_device_memory |= steps->row[i].device_peak != 0;
	}
	if (!shown) {
		tp_out_line(out, "red", "out of memory");
		return;
	}
	n_shown = choose(steps, top, shown);
	table = tp_table_begin(&tp_table_steps, steps, TP_TOP_NONE, out);
	for (uint32_t i = 0; i < steps->n; i++)
		if (shown[i])
			tp_table_add(table, &steps->row[i]);
	tp_table_end(table);
	if (n_shown < steps->n)
		tp_out_line(out, "dim",
			    "%s of %s steps shown (first, last, slow)%s.",
			    tp_show_count(a, n_shown), tp_show_count(b, steps->n),
			    tp_out_is_terminal(out) ? ": --top 0 shows all" : "");
	free(shown);
}

/* The first line: how long steps are, and how many are not like the others. */
static void print_answer(const struct tp_steps_shown *steps, struct tp_out *out)
{
	char a[32], b[32], c[32], d[32];
	uint32_t n_slow = 0;

	for (uint32_t i = 0; i < steps->n; i++)
		n_slow += tp_view_steps_is_slow(steps, &steps->row[i]);
	tp_out_line(out, n_slow ? "yellow" : "bold",
		    "Median %s, longest %s; %s of %s steps took over %u.%u times the running median.",
		    tp_show_ns(a, tp_percentile(steps->sorted, steps->n, 50)),
		    tp_show_ns(b, steps->sorted[steps->n - 1]),
		    tp_show_count(c, n_slow), tp_show_count(d, steps->n),
		    TP_STEPS_SLOW_PERCENT / 100, TP_STEPS_SLOW_PERCENT % 100 / 10);
}

static void print_proc(const struct tp_run *run, struct tp_steps_shown *steps, uint32_t top,
		       struct tp_out *out)
{
	const struct tp_step_row *row = steps->row;
	char a[64], b[32];

	steps->sorted = malloc(steps->n * sizeof(*steps->sorted));
	steps->median = malloc(steps->n * sizeof(*steps->median));
	if (!steps->sorted || !steps->median) {
		tp_out_line(out, "red", "out of memory");
		goto out;
	}
	for (uint32_t i = 0; i < steps->n; i++)
		steps->sorted[i] = row[i].dur_ns;
	tp_sort_i64(steps->sorted, steps->n);
	find_medians(steps);
	tp_out_title(out, "How long steps take%s%s: %s step%s, ended by %s", run->n_procs > 1 ? ", " : "",
		     run->n_procs > 1 ? tp_label_proc(a, run, row->proc) : "",
		     tp_show_count(b, steps->n), steps->n == 1 ? "" : "s",
		     tp_label_source(row[steps->n - 1].source));
	print_answer(steps, out);
	if (row[steps->n - 1].flags & TP_F_CLOCK)
		tp_out_line(out, "yellow",
			    "no optimizer, data loader or range was seen: these are slices "
			    "of time, "
			    "not training steps");
	out->who = tp_label_proc(a, run, row->proc);
	tp_view_steps_lengths(steps, out);
	print_sparkline(steps, out);
	print_table(steps, top, out);
	out->who = NULL;
out:
	free(steps->sorted);
	free(steps->median);
}

static void print_steps(void *opaque, const struct tp_run *run, struct tp_out *out)
{
	struct state *state = opaque;
	const struct tp_step_gpus *gpus = state->gpus;
	uint32_t top = state->options.top, n, n_procs = 0, only = UINT32_MAX;

	free(state);
	if (!run->n_steps) {
		tp_out_title(out, "How long steps take");
		tp_out_line(
		    out, "",
		    "no step was seen: the program ended before its first one, or its "
		    "step log (*.steps) is not in the folder");
		return;
	}
	for (uint32_t i = 0; i < run->n_steps; i += tp_view_steps_of(run, i))
		n_procs++;
	if (n_procs > PROCS_SHOWN && top)
		only = tp_view_steps_ranks(run, n_procs, out);
	for (uint32_t i = 0; i < run->n_steps; i += n) {
		struct tp_steps_shown steps = {
		    .row = &run->step[i], .gpus = run->step[i].proc->has_gpu ? gpus : NULL};

		n = steps.n = tp_view_steps_of(run, i);
		if (only == UINT32_MAX || only == i)
			print_proc(run, &steps, top, out);
	}
	if (only != UINT32_MAX)
		tp_out_line(
		    out, "dim",
		    "the process with the longest median step is shown%s.",
		    tp_out_is_terminal(out) ? ": --ranks 3 shows rank 3, --top 0 all" : "");
}

const struct tp_view tp_view_steps = {
    .name = "steps",
    .help = "every step of the run: time, data wait, memory; the slow ones marked",
    .begin = begin_steps,
    .tables = (const struct tp_table_def *const[]){&tp_table_step_processes,
						   &tp_table_step_phases, &tp_table_steps, NULL},
    .print = print_steps,
};

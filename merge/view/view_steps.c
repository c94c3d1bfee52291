/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_steps.c - every step of the run, from the step ledgers: inside windows or not
 *
 * Per rank: percentiles by phase, the run as a row of bars, and the steps themselves. Not
 * all of them unless asked for: the first, the last and the slow ones.
 */
#include "merge/model/view.h"

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
	SLOW_PERCENT = 150, /* of the running median: slow */
	ENDS_SHOWN = 3,	    /* first and last steps that are always shown */
	RUNNING_LEAST = 5,  /* steps before the running median means anything */
	GPU_COLUMNS = 5,
	PROCS_SHOWN = 4,    /* of more processes only the slowest is shown in detail */
};

struct state {
	struct tp_view_options options;
	const struct tp_step_gpus *gpus; /* NULL: no device */
};

/* The steps of one process. */
struct steps {
	const struct tp_step_row *row;
	uint32_t n;
	int64_t *sorted; /* durations */
	int64_t *median; /* what each was compared with */
	const struct tp_step_gpus *gpus; /* NULL: no device */
	bool has_memory, has_device_memory;
};

static void *begin(struct tp_facts *facts, const struct tp_view_options *options)
{
	struct state *state = tp_need(1, sizeof(*state));

	state->options = *options;
	if (tp_step_gpus_has(tp_facts_run(facts)))
		state->gpus = tp_facts_want(facts, &tp_fact_step_gpus, NULL);
	return state;
}

/* A step that began in the middle of nothing (the first one holds warm-up of every kind) is
 * compared with the whole run, the others with what lay before them. */
static void find_medians(struct steps *steps)
{
	struct tp_running running = {.n = 0};
	int64_t of_all = tp_percentile(steps->sorted, steps->n, 50);

	for (uint32_t i = 0; i < steps->n; i++) {
		steps->median[i] =
		    running.n >= RUNNING_LEAST ? tp_running_median(&running) : of_all;
		tp_running_add(&running, steps->row[i].dur_ns);
	}
}

static bool is_slow(const struct steps *steps, uint32_t i)
{
	return steps->median[i] > 0 &&
	       steps->row[i].dur_ns / SLOW_PERCENT > steps->median[i] / 100;
}

/* A row per `first`; its other cells are add_lengths's. The columns live as long as the table. */
static struct tp_old_table *new_length_table(const char *first)
{
	static struct tp_old_column column[] = {
	    {.title = NULL},
	    {.title = "steps", .align = TP_RIGHT, .field = "steps"},
	    {.title = "p50", .align = TP_RIGHT, .field = "p50_ns"},
	    {.title = "p90", .align = TP_RIGHT, .field = "p90_ns"},
	    {.title = "p99", .align = TP_RIGHT, .field = "p99_ns"},
	    {.title = "max", .align = TP_RIGHT, .field = "max_ns"},
	    {.title = "sum", .align = TP_RIGHT, .field = "sum_ns"},
	    {.title = "data wait", .align = TP_RIGHT, .field = "data_wait_percent"},
	};

	column[0].title = column[0].field = first;
	return tp_table_new(column, sizeof(column) / sizeof(column[0]));
}

static void add_lengths(struct tp_old_table *table, const int64_t *sorted, uint32_t n, int64_t sum,
			int64_t wait)
{
	tp_cell_count(table, n);
	tp_cell_ns(table, tp_percentile(sorted, n, 50));
	tp_cell_ns(table, tp_percentile(sorted, n, 90));
	tp_cell_ns(table, tp_percentile(sorted, n, 99));
	tp_cell_ns(table, sorted[n - 1]);
	tp_cell_ns(table, sum);
	tp_cell_percent(table, (double)wait, (double)sum);
}

static void print_percentiles(const struct steps *steps, struct tp_out *out)
{
	struct tp_old_table *table = new_length_table("phase");
	int64_t *some = malloc((steps->n + 1) * sizeof(*some));
	uint32_t n_phases = 0;

	tp_table_name(table, "step_lengths");
	for (uint32_t phase = 0; some && phase <= TP_PHASE_DONE + 1; phase++) {
		int64_t sum = 0, wait = 0;
		uint32_t n = 0;

		for (uint32_t i = 0; i < steps->n; i++) {
			/* The last round is all steps. */
			if (phase <= TP_PHASE_DONE && steps->row[i].phase != phase)
				continue;
			some[n++] = steps->row[i].dur_ns;
			sum = tp_add(sum, steps->row[i].dur_ns);
			wait = tp_add(wait, steps->row[i].data_wait_ns);
		}
		if (!n || (phase > TP_PHASE_DONE && n_phases == 1))
			continue;
		n_phases++;
		tp_sort_i64(some, n);
		tp_table_cell(table, "%s",
			      phase <= TP_PHASE_DONE ? tp_label_phase((uint8_t)phase)
						     : "all");
		add_lengths(table, some, n, sum, wait);
	}
	free(some);
	tp_table_print(table, out);
}

static void print_sparkline(const struct steps *steps, struct tp_out *out)
{
	uint32_t columns = out->width > 36 ? out->width - 22 : 14;
	char *bars = malloc(3 * (size_t)columns + 1), a[32];
	int64_t *duration = malloc((steps->n + 1) * sizeof(*duration));
	int64_t median = tp_percentile(steps->sorted, steps->n, 50);
	int64_t top = tp_add(median, median);

	if (bars && duration && steps->n > 1) {
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
static uint32_t choose(const struct steps *steps, uint32_t top, bool *shown)
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
		if (is_slow(steps, i))
			slow[n_slow++] = (struct slow){
			    (double)steps->row[i].dur_ns / (double)steps->median[i], i};
	if (n_slow)
		qsort(slow, n_slow, sizeof(*slow), compare_slow);
	for (uint32_t i = 0; i < n_slow && n < top; i++, n++)
		shown[slow[i].at] = true;
	free(slow);
	return n;
}

/* What the devices did in a recorded step; of others nothing is known. */
static void add_gpu(struct tp_old_table *table, const struct steps *steps,
		    const struct tp_step_row *row)
{
	struct tp_step_gpu gpu;

	if (!tp_step_gpus_of(steps->gpus, row, &gpu)) {
		for (int i = 0; i < GPU_COLUMNS; i++)
			tp_table_cell(table, "%s", "");
		return;
	}
	tp_cell_percent(table, (double)gpu.figures.busy_ns, (double)gpu.figures.all_ns);
	tp_cell_ns(table, gpu.figures.kernel_ns);
	tp_cell_ns(table, gpu.figures.comm_ns);
	tp_cell_ns(table, gpu.figures.copy_ns);
	tp_cell_count(table, gpu.n_launched);
}

static void add_row(struct tp_old_table *table, const struct steps *steps, uint32_t i)
{
	const struct tp_step_row *row = &steps->row[i];
	bool slow = is_slow(steps, i);
	char a[32], mark[64] = "";
	int n = 0;

	if (slow)
		n = snprintf(mark, sizeof(mark), "slow %.1fx",
			     (double)row->dur_ns / (double)steps->median[i]);
	if (row->flags & TP_F_SKIPPED)
		n += snprintf(mark + n, sizeof(mark) - (size_t)n, "%soptimizer skipped",
			      n ? ", " : "");
	if (row->dropped)
		snprintf(mark + n, sizeof(mark) - (size_t)n, "%s%s lost", n ? ", " : "",
			 tp_show_count(a, row->dropped));
	tp_cell_count(table, row->index);
	tp_table_cell(table, "%u/%u", row->epoch, row->in_epoch);
	tp_table_cell(table, "%s", tp_label_phase(row->phase));
	tp_cell_ns(table, row->dur_ns);
	tp_cell_ns(table, row->data_wait_ns);
	tp_cell_ns(table, row->optimizer_ns);
	if (steps->gpus)
		add_gpu(table, steps, row);
	if (steps->has_memory) {
		tp_cell_bytes(table, (int64_t)row->live_bytes);
		tp_cell_bytes(table, (int64_t)row->peak_bytes);
	}
	if (steps->has_device_memory)
		tp_cell_bytes(table, (int64_t)row->device_peak);
	tp_table_cell(table, "%u", row->batches);
	tp_table_cell(table, "%s", mark);
	if (row->dropped)
		tp_table_style(table, "red");
	else if (slow)
		tp_table_style(table, "yellow");
	else if (row->phase != TP_PHASE_ACTIVE)
		tp_table_style(table, "dim");
}

/* *n columns of the table: those of which something is known. */
static void choose_columns(struct steps *steps, struct tp_old_column column[20], uint32_t *n)
{
	static const struct tp_old_column
	    times[] = {
		{.title = "step", .align = TP_RIGHT, .field = "step"},
		{.title = "epoch/n", .align = TP_RIGHT, .is_extra = 1, .field = "epoch_and_step"},
		{.title = "phase", .field = "phase"},
		{.title = "time", .align = TP_RIGHT, .field = "time_ns"},
		{.title = "data", .align = TP_RIGHT, .field = "data_wait_ns"},
		{.title = "optimizer", .align = TP_RIGHT, .is_extra = 2, .field = "optimizer_ns"},
	    },
	    gpu[GPU_COLUMNS] = {
		{.title = "GPU busy", .align = TP_RIGHT, .field = "gpu_busy_percent"},
		{.title = "kernels", .align = TP_RIGHT, .is_extra = 3, .field = "kernel_ns"},
		{.title = "comm", .align = TP_RIGHT, .is_extra = 4, .field = "communication_ns"},
		{.title = "copies", .align = TP_RIGHT, .is_extra = 5, .field = "copy_ns"},
		{.title = "launched", .align = TP_RIGHT, .is_extra = 6, .field = "launched"},
	    },
	    memory[] = {
		{.title = "memory", .align = TP_RIGHT, .is_extra = 3, .field = "memory_bytes"},
		{.title = "peak", .align = TP_RIGHT, .field = "peak_bytes"},
	    },
	    device_memory[] = {
		{.title = "dev. peak", .align = TP_RIGHT, .field = "device_peak_bytes"},
	    },
	    last[] = {
		{.title = "batches", .align = TP_RIGHT, .is_extra = 4, .field = "batches"},
		{.title = ""},
	    };

	for (uint32_t i = 0; i < steps->n; i++) {
		steps->has_memory |= steps->row[i].live_bytes || steps->row[i].peak_bytes;
		steps->has_device_memory |= steps->row[i].device_peak != 0;
	}
	*n = 0;
#define PUT(columns)                                                                       \
	do {                                                                               \
		memcpy(column + *n, columns, sizeof(columns));                             \
		*n += sizeof(columns) / sizeof(columns[0]);                                \
	} while (0)
	PUT(times);
	if (steps->gpus)
		PUT(gpu);
	if (steps->has_memory)
		PUT(memory);
	if (steps->has_device_memory)
		PUT(device_memory);
	PUT(last);
#undef PUT
}

static void print_table(struct steps *steps, uint32_t top, struct tp_out *out)
{
	struct tp_old_column column[20];
	uint32_t n_columns, n_shown, n_slow = 0;
	bool *shown = calloc(steps->n + 1, sizeof(*shown));
	struct tp_old_table *table;
	char a[32], b[32];

	for (uint32_t i = 0; i < steps->n; i++)
		n_slow += is_slow(steps, i);
	choose_columns(steps, column, &n_columns);
	if (!shown) {
		tp_out_line(out, "red", "out of memory");
		return;
	}
	n_shown = choose(steps, top, shown);
	table = tp_table_new(column, n_columns);
	tp_table_name(table, "steps");
	for (uint32_t i = 0; i < steps->n; i++)
		if (shown[i])
			add_row(table, steps, i);
	tp_table_print(table, out);
	if (n_slow)
		tp_out_line(out, "yellow",
			    "%s of %s steps took over %u.%u times the running median.",
			    tp_show_count(a, n_slow), tp_show_count(b, steps->n),
			    SLOW_PERCENT / 100, SLOW_PERCENT % 100 / 10);
	if (n_shown < steps->n)
		tp_out_line(out, "dim",
			    "%s of %s steps shown (first, last, slow): --top 0 shows all.",
			    tp_show_count(a, n_shown), tp_show_count(b, steps->n));
	free(shown);
}

static void print_proc(const struct tp_run *run, struct steps *steps, uint32_t top,
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
	tp_out_title(out, "Steps%s%s: %s, ended by %s", run->n_procs > 1 ? " of " : "",
		     run->n_procs > 1 ? tp_label_proc(a, run, row->proc) : "",
		     tp_show_count(b, steps->n), tp_label_source(row[steps->n - 1].source));
	if (row[steps->n - 1].flags & TP_F_CLOCK)
		tp_out_line(out, "yellow",
			    "no optimizer, data loader or range was seen: these are slices "
			    "of time, "
			    "not training steps");
	out->who = tp_label_proc(a, run, row->proc);
	print_percentiles(steps, out);
	print_sparkline(steps, out);
	print_table(steps, top, out);
	out->who = NULL;
out:
	free(steps->sorted);
	free(steps->median);
}

/* Number of steps from the i-th on that are of one process. */
static uint32_t count_proc(const struct tp_run *run, uint32_t i)
{
	uint32_t n = 1;

	while (i + n < run->n_steps && run->step[i + n].proc == run->step[i].proc)
		n++;
	return n;
}

/* Many ranks: a row for each, and where the slowest one's steps begin. */
static uint32_t print_ranks(const struct tp_run *run, struct tp_out *out)
{
	struct tp_old_table *table = new_length_table("process");
	uint32_t slowest = 0, n;
	int64_t most = -1;
	char a[64];

	tp_table_name(table, "step_lengths_by_process");
	tp_out_title(out, "Steps of all processes");
	for (uint32_t i = 0; i < run->n_steps; i += n) {
		int64_t *sorted, sum = 0, wait = 0;

		n = count_proc(run, i);
		sorted = malloc(n * sizeof(*sorted));
		for (uint32_t k = 0; sorted && k < n; k++) {
			sorted[k] = run->step[i + k].dur_ns;
			sum = tp_add(sum, sorted[k]);
			wait = tp_add(wait, run->step[i + k].data_wait_ns);
		}
		if (!sorted)
			continue;
		tp_sort_i64(sorted, n);
		if (tp_percentile(sorted, n, 50) > most) {
			most = tp_percentile(sorted, n, 50);
			slowest = i;
		}
		tp_table_cell(table, "%s", tp_label_proc(a, run, run->step[i].proc));
		add_lengths(table, sorted, n, sum, wait);
		free(sorted);
	}
	tp_table_print(table, out);
	return slowest;
}

static void print(void *opaque, const struct tp_run *run, struct tp_out *out)
{
	struct state *state = opaque;
	const struct tp_step_gpus *gpus = state->gpus;
	uint32_t top = state->options.top, n, n_procs = 0, only = UINT32_MAX;

	free(state);
	if (!run->n_steps) {
		tp_out_title(out, "Steps");
		tp_out_line(
		    out, "",
		    "no step was seen: the program ended before its first one, or the "
		    "ledger (*.steps) is not in the folder");
		return;
	}
	for (uint32_t i = 0; i < run->n_steps; i += count_proc(run, i))
		n_procs++;
	if (n_procs > PROCS_SHOWN && top)
		only = print_ranks(run, out);
	for (uint32_t i = 0; i < run->n_steps; i += n) {
		struct steps steps = {
		    .row = &run->step[i], .gpus = run->step[i].proc->has_gpu ? gpus : NULL};

		n = steps.n = count_proc(run, i);
		if (only == UINT32_MAX || only == i)
			print_proc(run, &steps, top, out);
	}
	if (only != UINT32_MAX)
		tp_out_line(
		    out, "dim",
		    "the process with the longest median step is shown: --ranks 3 shows "
		    "rank 3, --top 0 all.");
}

const struct tp_view tp_view_steps = {
    .name = "steps",
    .help = "every step of the run: time, data wait, memory; the slow ones marked",
    .begin = begin,
    .print = print,
};

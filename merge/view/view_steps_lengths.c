/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_steps_lengths.c - part of the view of steps: how long they are, by phase, by process
 */
#include "merge/view/view_steps.h"

#include <stdlib.h>

#include "merge/kit/stats.h"
#include "merge/kit/sum.h"
#include "merge/model/label.h"
#include "runtime/trace/ring_layout.h"

/* Of a phase, or of a process: what its steps took, sorted. */
struct lengths {
	const char *first;
	const int64_t *sorted;
	uint32_t n;
	int64_t sum_ns, wait_ns;
};

static void put_lengths(struct tp_row *r, const struct lengths *of)
{
	TP_COUNT(r, "steps", "steps", 0, "number of steps", of->n);
	TP_NS(r, "p50_ns", "p50", 0, "median of their durations", tp_percentile(of->sorted, of->n, 50));
	TP_NS(r, "p90_ns", "p90", 0, "90th percentile", tp_percentile(of->sorted, of->n, 90));
	TP_NS(r, "p99_ns", "p99", 0, "99th percentile", tp_percentile(of->sorted, of->n, 99));
	TP_NS(r, "max_ns", "max", 0, "longest duration", of->sorted[of->n - 1]);
	TP_NS(r, "sum_ns", "sum", 0, "sum of their durations", of->sum_ns);
	TP_PERCENT(r, "data_wait_percent", "data wait", 0, "share of it waiting for data", of->wait_ns,
		   of->sum_ns);
}

static void put_phases(struct tp_row *r, const void *ctx, const void *of)
{
	TP_TEXT(r, "phase", "phase", 0, "skip, wait, warmup, active, done, or all", "%s",
		((const struct lengths *)of)->first);
	put_lengths(r, of);
}

static void put_processes(struct tp_row *r, const void *ctx, const void *of)
{
	TP_TEXT(r, "process", "process", 0, "rank", "%s", ((const struct lengths *)of)->first);
	put_lengths(r, of);
}

const struct tp_table_def tp_table_step_phases = {
	.name = "step_lengths", .columns = put_phases, .help = "step durations by phase",
};

const struct tp_table_def tp_table_step_processes = {
	.name = "step_lengths_by_process", .columns = put_processes,
	.help = "step durations of many processes",
};

void tp_view_steps_lengths(const struct tp_steps_shown *steps, struct tp_out *out)
{
	int64_t *some = malloc(((size_t)steps->n * 2 + 1) * sizeof(*some));
	struct lengths row[TP_PHASE_DONE + 2];
	uint32_t n_phases = 0, n_all = 0;

	for (uint32_t phase = 0; some && phase <= TP_PHASE_DONE + 1; phase++) {
		/* The last round is all steps. */
		const bool is_all = phase > TP_PHASE_DONE;
		struct lengths of = {.first = is_all ? "all" : tp_label_phase((uint8_t)phase),
				     .sorted = some + n_all};

		for (uint32_t i = 0; i < steps->n; i++) {
			if (!is_all && steps->row[i].phase != phase)
				continue;
			some[n_all + of.n++] = steps->row[i].dur_ns;
			of.sum_ns = tp_add(of.sum_ns, steps->row[i].dur_ns);
			of.wait_ns = tp_add(of.wait_ns, steps->row[i].data_wait_ns);
		}
		if (!of.n || (is_all && n_phases == 1))
			continue;
		tp_sort_i64(some + n_all, of.n);
		n_all += of.n;
		row[n_phases++] = of;
	}
	tp_table_show(&tp_table_step_phases, NULL, row, n_phases, sizeof(row[0]), TP_TOP_ASKED, out);
	free(some);
}

uint32_t tp_view_steps_of(const struct tp_run *run, uint32_t i)
{
	uint32_t n = 1;

	while (i + n < run->n_steps && run->step[i + n].proc == run->step[i].proc)
		n++;
	return n;
}

uint32_t tp_view_steps_ranks(const struct tp_run *run, uint32_t n_procs, struct tp_out *out)
{
	/* The durations of each stand where its steps do, the names behind each other. */
	int64_t *sorted = malloc(run->n_steps * sizeof(*sorted)), most = -1;
	char (*name)[64] = malloc(n_procs * sizeof(*name));
	struct lengths *row = calloc(n_procs, sizeof(*row));
	uint32_t slowest = 0, n_rows = 0, n;

	tp_out_title(out, "How long steps take, by process");
	for (uint32_t i = 0; i < run->n_steps && sorted && name && row; i += n, n_rows++) {
		struct lengths *of = &row[n_rows];

		n = tp_view_steps_of(run, i);
		for (uint32_t k = i; k < i + n; k++) {
			sorted[k] = run->step[k].dur_ns;
			of->sum_ns = tp_add(of->sum_ns, sorted[k]);
			of->wait_ns = tp_add(of->wait_ns, run->step[k].data_wait_ns);
		}
		tp_sort_i64(sorted + i, n);
		if (tp_percentile(sorted + i, n, 50) > most) {
			most = tp_percentile(sorted + i, n, 50);
			slowest = i;
		}
		of->first = tp_label_proc(name[n_rows], run, run->step[i].proc);
		of->sorted = sorted + i;
		of->n = n;
	}
	tp_table_show(&tp_table_step_processes, NULL, row, n_rows, sizeof(*row), TP_TOP_ASKED, out);
	free(sorted);
	free(name);
	free(row);
	return slowest;
}

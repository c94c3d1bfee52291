/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_overview.c - the first screen: what stands out, what ran, what is lost, where a step goes
 *
 * Each part is left out when it has nothing to say, so a healthy run fits a screen.
 */
#include "merge/view/overview/overview.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/need.h"
#include "merge/kit/sum.h"
#include "merge/model/label.h"
#include "merge/model/ranks.h"
#include "merge/model/totals.h"
#include "runtime/trace/ring_layout.h"

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
	char line[256] = "", value[80], cupti[32];
	size_t n = 0;

	for (uint32_t i = 0; i < sizeof(software) / sizeof(software[0]); i++)
		if (tp_fact(meta, software[i].key, value, sizeof(value)) &&
		    n < sizeof(line))
			n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%s %s",
					      n ? ", " : "", software[i].label, value);
	if (*tp_totals_cupti(cupti, run) && n < sizeof(line))
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%sCUPTI %s", n ? ", " : "",
				      cupti);
	if (n)
		tp_out_item(out, "", TP_OVERVIEW_LABEL, "software", "%s", line);
}

static void print_who(const struct tp_run *run, struct tp_out *out)
{
	uint32_t n_ranks = 0, n_hosts = 0, n_other = 0, n_workers = 0;
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
		n_hosts += is_new_host;
		n_workers += proc->worker != 0;
		if (proc->worker)
			continue;
		n_ranks += is_new_rank;
		n_other += !is_new_rank;
		if (proc->world_size > world)
			world = proc->world_size;
	}
	if (!first)
		return;
	/* Without a window there is no META to tell the program. */
	if (first->program && first->program[0])
		tp_out_item(out, "", TP_OVERVIEW_LABEL, "program", "%s%s%s%s",
			    tp_label_program(program, first), first->host[0] ? " on " : "",
			    first->host, n_hosts > 1 ? " and other hosts" : "");
	else if (first->host[0])
		tp_out_item(out, "", TP_OVERVIEW_LABEL, "host", "%s%s", first->host,
			    n_hosts > 1 ? " and others" : "");
	if (world > 1 || n_ranks > 1) {
		snprintf(ranks, sizeof(ranks), "%u of %d ranks", n_ranks,
			 world > (int32_t)n_ranks ? world : (int32_t)n_ranks);
		if (n_other)
			tp_out_item(out, "", TP_OVERVIEW_LABEL, "ranks",
				    "%s, %u other process%s", ranks, n_other,
				    n_other > 1 ? "es" : "");
		else
			tp_out_item(out, world > (int32_t)n_ranks ? "yellow" : "",
				    TP_OVERVIEW_LABEL, "ranks", "%s", ranks);
	} else if (run->n_procs - n_workers > 1) {
		tp_out_item(out, "", TP_OVERVIEW_LABEL, "processes", "%u",
			    run->n_procs - n_workers);
	}
	if (n_workers)
		tp_out_item(out, "", TP_OVERVIEW_LABEL, "workers", "%u process%s", n_workers,
			    n_workers > 1 ? "es" : "");
}

/* The commonest disappointment of a first run deserves more than zeros. */
static void print_nothing(const struct tp_run *run, struct tp_out *out)
{
	const struct tp_step_row *last = run->n_steps ? &run->step[run->n_steps - 1] : NULL;
	uint64_t n_events = 0;

	for (uint32_t i = 0; i < run->n_windows; i++)
		n_events += run->window[i].n_events;
	if (n_events)
		tp_out_item(out, "yellow", TP_OVERVIEW_LABEL, "NOTHING",
			    "of it was requested: see --steps, --ranks, --windows");
	else if (last && last->phase < TP_PHASE_ACTIVE)
		tp_out_item(out, "yellow", TP_OVERVIEW_LABEL, "NOTHING",
			    "was recorded: the run ended before its first active step, in phase "
			    "'%s'. A smaller wait= in TRAINPROF_SCHEDULE, or "
			    "TRAINPROF_SCHEDULE=always, records it.",
			    tp_label_phase(last->phase));
	else
		tp_out_item(out, "yellow", TP_OVERVIEW_LABEL, "NOTHING",
			    last ? "was recorded" : "was recorded, and no step was seen");
}

struct stretch {
	int64_t from, to;
};

static int by_start(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

/* Time in which at least one rank recorded; -1: no memory. A worker's windows are those of its rank. */
static int64_t recorded_ns(const struct tp_run *run)
{
	struct stretch *its = malloc((run->n_windows + 1) * sizeof(*its));
	int64_t sum = 0, end = INT64_MIN;
	size_t n = 0;

	if (!its)
		return -1;
	for (uint32_t i = 0; i < run->n_windows; i++)
		if (!run->window[i].proc->worker)
			its[n++] = (struct stretch){run->window[i].begin_ns, run->window[i].end_ns};
	qsort(its, n, sizeof(*its), by_start);
	for (size_t i = 0; i < n; i++) {
		int64_t from = its[i].from > end ? its[i].from : end;

		if (its[i].to > from)
			sum = tp_add(sum, tp_sub(its[i].to, from));
		end = its[i].to > end ? its[i].to : end;
	}
	free(its);
	return sum;
}

enum { AGE_PART = 10 };

/* How long the rank where it is most had run when its training began ("age"), or ran when that was over
 * ("after"). 0: not known, or too little for a word. */
static int64_t find_around(const struct tp_run *run, const char *key, int64_t all_ns)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < run->n_procs; i++) {
		const struct tp_proc *proc = run->proc[i];
		const uint64_t ns = proc->is_past || proc->worker ? 0 : tp_fact_u64(proc->started, key, 0);

		most = ns > most ? ns : most;
	}
	return most < INT64_MAX && (int64_t)most >= all_ns / AGE_PART ? (int64_t)most : 0;
}

/* With what came before it, and after. */
static void print_duration(const struct tp_run *run, int64_t all_ns, int64_t recorded, struct tp_out *out)
{
	const int64_t before = find_around(run, "age", all_ns), after = find_around(run, "after", all_ns);
	char a[32], b[32], c[32], said[128];
	struct tp_text around;

	tp_text_init(&around, said, sizeof(said));
	if (before)
		tp_text_fmt(&around, "; the process had run for %s before", tp_show_ns(c, before));
	if (after)
		tp_text_fmt(&around, "%s %s after", before ? ", and ran for" : "; the process ran for",
			    tp_show_ns(c, after));
	tp_out_item(out, "", TP_OVERVIEW_LABEL, "duration", "%s, %s of it recorded%s", tp_show_ns(a, all_ns),
		    tp_show_ns(b, recorded), said);
}

static void print_recorded(const struct tp_run *run, const struct tp_overview *overview,
			   const struct tp_overview_sums *sums, struct tp_out *out)
{
	char a[32], b[32], c[32], windows[64] = "", epochs[32] = "";
	int64_t first = INT64_MAX, last = INT64_MIN, traced = recorded_ns(run);
	uint32_t n_windows = 0, last_epoch = 0;

	for (uint32_t i = 0; i < run->n_windows; i++) {
		const struct tp_window *window = &run->window[i];

		/* A worker's are those of its rank once more. */
		if (window->proc->worker)
			continue;
		n_windows += window->n_events != 0;
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
	tp_out_item(
	    out, "", TP_OVERVIEW_LABEL, "recorded", "%s of %s steps%s in %s, %s events",
	    tp_show_count(a, sums->n_steps),
	    tp_show_count(b, run->n_steps > sums->n_steps ? run->n_steps : sums->n_steps),
	    epochs, windows, tp_show_count(c, overview->n_events));
	if (last > first && traced >= 0)
		print_duration(run, tp_sub(last, first), traced, out);
	if (!overview->n_events)
		print_nothing(run, out);
}

struct state {
	const struct tp_overview *overview;
	const struct tp_flop_sums *flops;
	const struct tp_tensormem *memory;	/* where an allocation failed */
};

static void *begin_overview(struct tp_facts *facts, const struct tp_view_options *options)
{
	struct state *state = tp_need(1, sizeof(*state));

	state->overview = tp_facts_want(facts, &tp_fact_overview, NULL);
	state->flops = tp_facts_want(facts, &tp_fact_flop_sums, NULL);
	state->memory = tp_overview_want_reports(facts);
	return state;
}

static void print_overview(void *opaque, const struct tp_run *run, struct tp_out *out)
{
	struct state *state = opaque;
	const struct tp_overview *overview = state->overview;
	struct tp_overview_sums sums = {.n_steps = 0};
	bool is_data_told;

	for (uint32_t i = 0; i < overview->n_procs; i++)
		tp_overview_sum(&sums, overview->proc[i].breakdown);
	tp_overview_print_reports(run, state->memory, out);
	tp_overview_print_died(run, overview, out);
	is_data_told = tp_overview_print_advice(run, overview, &sums, out);
	tp_overview_print_running(run, overview, out);
	tp_out_title(out, "Run: %s", run->path ? run->path : "");
	print_who(run, out);
	print_software(run, out);
	print_recorded(run, overview, &sums, out);
	tp_overview_print_notes(run, overview, &sums, is_data_told, out);
	tp_overview_print_flops(run, overview, state->flops, out);
	tp_overview_print_lost(run, overview, out);
	tp_overview_print_steps(run, overview, &sums, out);
	tp_overview_print_gpus(run, overview, out);
	tp_overview_print_operators(overview, out);
	tp_overview_print_lines(overview, out);
	free(state);
}

const struct tp_view tp_view_overview = {
    .name = "overview",
    .help = "what slows the run down, what ran, what is lost, where step time goes",
    .begin = begin_overview,
    .tables = (const struct tp_table_def *const[]){&tp_table_advice, &tp_table_step_breakdown,
						   &tp_table_gpu, &tp_table_gpu_time,
						   &tp_table_gpu_streams, &tp_table_lines, NULL},
    .print = print_overview,
};

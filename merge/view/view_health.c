/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_health.c - may these figures be trusted: what is lost, cut, off or odd, how good the
 * clocks are, and what the profiler itself cost
 *
 * One green line when nothing is wrong; what is wrong comes first, with what to do.
 */
#include "merge/model/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/need.h"
#include "merge/kit/sum.h"
#include "merge/model/label.h"
#include "merge/model/ranks.h"
#include "merge/model/totals.h"

enum { LABEL = 10 };

struct state {
	struct tp_view_options options;
	const struct steps_of *steps;
};

/* All blocks are read for it: a damaged one shows only by its checksum. */
struct steps_of {
	uint8_t *has;	/* by tp_proc.at: steps were recorded */
};

static void begin_steps(void *state, struct tp_facts *facts, const void *params)
{
	struct steps_of *steps = state;

	steps->has = tp_need(tp_facts_run(facts)->n_procs, 1);
}

static void take_step(void *state, const struct tp_event *event)
{
	struct steps_of *steps = state;

	steps->has[event->proc->at] = 1;
}

static void free_steps(void *state)
{
	struct steps_of *steps = state;

	free(steps->has);
}

static const struct tp_fact fact_steps = {
	.name = "recorded steps",
	.bytes = sizeof(struct steps_of),
	.kinds = TP_FACT_KIND(TP_REC_STEP),
	.begin = begin_steps,
	.event = take_step,
	.free = free_steps,
};

static void *begin(struct tp_facts *facts, const struct tp_view_options *options)
{
	struct state *state = tp_need(1, sizeof(*state));

	state->options = *options;
	state->steps = tp_facts_want(facts, &fact_steps, NULL);
	return state;
}

static uint32_t limit(const struct tp_view_options *options, uint32_t n)
{
	uint32_t most = options->top ? options->top : n;

	return n < most ? n : most;
}

static void print_more(struct tp_out *out, uint32_t n, uint32_t n_shown)
{
	if (n > n_shown)
		tp_out_line(out, "dim", "  %u more: --top 0 shows all.", n - n_shown);
}

/* ---- what is wrong ---- */

static uint32_t print_issues(const struct tp_run *run,
			     const struct tp_view_options *options, struct tp_out *out)
{
	uint32_t n_shown = limit(options, run->n_issues);
	char who[64];

	if (run->n_issues)
		tp_out_title(out, "Problems");
	for (uint32_t i = 0; i < n_shown; i++) {
		const struct tp_issue *issue = &run->issue[i];

		tp_out_line(out, issue->is_loss ? "red" : "yellow", "  %s%s%s",
			    issue->proc ? tp_label_proc(who, run, issue->proc) : "",
			    issue->proc ? ": " : "", issue->text);
	}
	print_more(out, run->n_issues, n_shown);
	return run->n_issues;
}

static uint32_t print_windows(const struct tp_run *run,
			      const struct tp_view_options *options, struct tp_out *out)
{
	static const struct tp_old_column column[] = {
	    {.title = "  process"},
	    {.title = "window", .align = TP_RIGHT},
	    {.title = "events", .align = TP_RIGHT},
	    {.title = "lost", .align = TP_RIGHT},
	    {.title = "state"},
	    {.title = "file", .may_cut = true},
	};
	struct tp_old_table *table = NULL;
	uint32_t n_bad = 0, n_shown = 0, most = limit(options, UINT32_MAX);
	char a[64];

	for (uint32_t i = 0; i < run->n_windows; i++) {
		const struct tp_window *window = &run->window[i];

		if (window->is_whole && !window->is_recovered && !window->dropped)
			continue;
		n_bad++;
		if (n_shown >= most)
			continue;
		n_shown++;
		if (!table) {
			tp_out_title(out, "Windows that are not whole");
			table = tp_table_new(column, sizeof(column) / sizeof(column[0]));
		}
		tp_table_cell(table, "  %s", tp_label_proc(a, run, window->proc));
		tp_table_cell(table, "%u", window->window);
		tp_cell_count(table, window->n_events);
		tp_cell_count(table, window->dropped);
		tp_table_cell(table, "%s%s", window->is_whole ? "whole" : "no end",
			      window->is_recovered ? ", recovered" : "");
		tp_table_cell(table, "%s", window->path ? window->path : "");
		tp_table_style(table, window->dropped ? "red" : "yellow");
	}
	tp_table_print(table, out);
	print_more(out, n_bad, n_shown);
	return n_bad;
}

static uint32_t print_open(const struct tp_run *run, const struct tp_view_options *options,
			   struct tp_out *out)
{
	uint32_t n_shown = limit(options, run->n_open);
	char who[64], thread[64], a[32];

	if (run->n_open)
		tp_out_title(out, "Open spans of processes that died, outermost first");
	for (uint32_t i = 0; i < n_shown; i++) {
		const struct tp_open_at_end *open = &run->open[i];

		if (!i || open[-1].proc != open->proc || open[-1].thread != open->thread)
			tp_out_line(out, "yellow", "  %s %s",
				    tp_label_proc(who, run, open->proc),
				    tp_label_thread(thread, open->thread));
		tp_out_line(out, "", "    %*s%.*s for %s",
			    open->depth < 16 ? (int)open->depth : 16, "",
			    (int)open->name->n_bytes,
			    open->name->bytes ? open->name->bytes : "?",
			    tp_show_ns(a, tp_sub(open->seen_ns, open->begin_ns)));
	}
	print_more(out, run->n_open, n_shown);
	return run->n_open;
}

/* ---- facts: one line for all processes that say the same ---- */

enum { FACTS_MAX = 64 };

struct fact {
	char key[64], value[400];
	const struct tp_proc *first;
	uint32_t n_procs;
};

static uint32_t collect_facts(const struct tp_run *run, const char *prefix,
			      struct fact *fact)
{
	uint32_t n = 0;

	for (uint32_t p = 0; p < run->n_procs; p++) {
		const char *at = tp_label_meta(run, run->proc[p]);
		struct fact new = {.first = run->proc[p], .n_procs = 1};

		while (tp_fact_next(&at, prefix, new.key, new.value, sizeof(new.value))) {
			uint32_t i = 0;

			while (i < n && (strcmp(fact[i].key, new.key) ||
					 strcmp(fact[i].value, new.value)))
				i++;
			if (i < n)
				fact[i].n_procs++;
			else if (n < FACTS_MAX)
				fact[n++] = new;
		}
	}
	return n;
}

/* What was asked for and is not there, and why: not a loss of data that was recorded. */
static uint32_t print_off(const struct tp_run *run, struct tp_out *out)
{
	struct fact *fact = calloc(FACTS_MAX, sizeof(*fact));
	uint32_t n = fact ? collect_facts(run, "off.", fact) : 0;
	char who[64];

	if (n)
		tp_out_title(out, "Off, and why");
	for (uint32_t i = 0; i < n; i++) {
		const char *of = fact[i].n_procs < run->n_procs
				     ? tp_label_proc(who, run, fact[i].first)
				     : "";

		tp_out_item(out, "yellow", 18, fact[i].key, "%s%s%s%s", fact[i].value,
			    *of ? " (" : "", of,
			    !*of		  ? ""
			    : fact[i].n_procs > 1 ? " and others)"
						  : ")");
	}
	free(fact);
	return n;
}

/* TRAINPROF_ variables that were not at their defaults, of the first process. */
static void print_options(const struct tp_run *run, struct tp_out *out)
{
	static const struct {
		const char *name, *preset;
	} option[] = {
#define _(NAME, KIND, field, preset, least, most, meaning) {#NAME, preset},
#include "runtime/base/options.def"
#undef _
	};
	const char *meta = run->n_procs ? tp_label_meta(run, run->proc[0]) : "";
	char line[1024] = "", value[400];
	size_t n = 0;

	for (size_t i = 0; i < sizeof(option) / sizeof(option[0]); i++) {
		if (!tp_fact(meta, option[i].name, value, sizeof(value)) ||
		    !strcmp(value, option[i].preset))
			continue;
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%s=%s", n ? "  " : "",
				      option[i].name, value);
		if (n >= sizeof(line))
			break;
	}
	if (*meta)
		tp_out_item(out, "", LABEL, "options", "%s",
			    n ? line : "all at their defaults");
}

/* ---- clocks and cost ---- */

static void print_clocks(const struct tp_run *run, struct tp_out *out)
{
	int64_t worst = 0;
	bool is_bounded = true;
	char a[32], b[32], source[120];

	for (uint32_t i = 0; i < run->n_windows; i++) {
		if (run->window[i].clock_error_ns > worst)
			worst = run->window[i].clock_error_ns;
		is_bounded &= run->window[i].clock_error_ns >= 0;
	}
	if (!tp_fact(run->n_procs ? tp_label_meta(run, run->proc[0]) : "", "clock", source,
		     sizeof(source)))
		snprintf(source, sizeof(source), "source not known");
	if (is_bounded)
		tp_out_item(out, "", LABEL, "clock",
			    "%s; error between processes at most +-%s", source,
			    tp_show_ns(a, worst));
	else
		tp_out_item(out, "yellow", LABEL, "clock",
			    "%s; how far the clocks of the hosts differ is not known", source);
	if (run->clocks[0])
		tp_out_item(out, "", LABEL, "clocks", is_bounded ? "%s, +-%s" : "%s", run->clocks,
			    tp_show_ns(a, worst));
	if (run->impossible_before || run->impossible_after)
		tp_out_item(out, run->impossible_after ? "yellow" : "", LABEL, "order",
			    "%s impossible orders before alignment, %s after",
			    tp_show_count(a, run->impossible_before),
			    tp_show_count(b, run->impossible_after));
}

/* What the runtime counted as lost beyond dropped records. */
static const struct {
	const char *key, *text;
} counted[] = {
    {"names_lost",
     "names found no room and show as \"(no name)\": a greater TRAINPROF_BUFFER"},
    {"windows_lost", "windows came too fast one after the other and were not recorded"},
    {"trigger.late", "windows of a trigger began later than on other ranks"},
    {"trigger.missed", "windows of a trigger were over before this was heard of: a greater ahead= "
		       "in TRAINPROF_TRIGGER"},
    {"late", "records came after their window was written"},
    {"nccl.no_entry", "operations of NCCL were too many at a time and were not recorded"},
    {"nccl.unfinished", "operations of NCCL had not ended 0.7 s after their window: shown up to its end"},
    {"nccl.late_ops", "operations of NCCL's proxies came after their collective was written: it ends "
		      "too early"},
    {"nccl.comms_refused", "communicators of NCCL were too many at a time: not recorded"},
    {"torch.ranges_lost", "ranges were too many at a time and were not recorded"},
};

static uint32_t print_counted(const struct tp_run *run, struct tp_out *out)
{
	uint32_t n = 0;
	char a[32];

	for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++) {
		uint64_t value = tp_totals_add(run, counted[i].key, true);

		if (!value)
			continue;
		n++;
		tp_out_line(out, "red", "  %s %s", tp_show_count(a, value),
			    counted[i].text);
	}
	return n;
}

/* How many of these counters say that something is missing or odd. */
static uint32_t print_losses(const struct tp_run *run, const struct tp_loss *losses,
			     struct tp_out *out)
{
	uint32_t n = 0;
	char a[32], b[32], yielded[64] = "";
	uint64_t yielded_ns = tp_totals_add(run, "cupti.yielded_ns", true);

	for (const struct tp_loss *loss = losses; loss->key; loss++) {
		uint64_t value = tp_totals_add(run, loss->key, true);

		if (!value)
			continue;
		n++;
		if (!strcmp(loss->key, "cupti.yielded") && yielded_ns)
			snprintf(yielded, sizeof(yielded), " of %s in all",
				 tp_show_ns(b, (int64_t)yielded_ns));
		tp_out_line(out, loss->is_loss ? "red" : "yellow", "  %s %s%s",
			    loss->is_bytes ? tp_show_bytes(a, (int64_t)value)
					   : tp_show_count(a, value),
			    loss->text, yielded);
		yielded[0] = 0;
	}
	return n;
}

/* What CUPTI told, in the windows and outside of them. */
static void print_cupti(const struct tp_run *run, struct tp_out *out)
{
	uint64_t n_made = tp_totals_add(run, "cupti.*", true),
		 n_outside = tp_totals_add(run, "cupti.*.outside", true);
	char a[32], b[32], version[32];

	if (!*tp_totals_cupti(version, run))
		return;
	tp_out_item(out, "", LABEL, "CUPTI", "%s: %s records in the windows, %s outside of them",
		    version, tp_show_count(a, n_made), tp_show_count(b, n_outside));
}

/* How call stacks were taken, and how far they can be trusted. */
static void print_stacks(const struct tp_run *run, struct tp_out *out)
{
	uint64_t n_walks = tp_totals_add(run, "stack.walks", true),
		 n_checked = tp_totals_add(run, "stack.checked", true),
		 n_wrong = tp_totals_add(run, "stack.mismatched", true),
		 n_cut = tp_totals_add(run, "stack.cut", true),
		 n_python_cut = tp_totals_add(run, "pystack.cut", true);
	char a[32], b[32], c[32], d[32];

	if (!n_walks && !n_python_cut)
		return;
	tp_out_item(out, n_wrong ? "yellow" : "", LABEL, "stacks",
		    "%s taken; %s compared with libunwind's, %s differed; the outer end of %s is "
		    "not known",
		    tp_show_count(a, n_walks), tp_show_count(b, n_checked),
		    tp_show_count(c, n_wrong), tp_show_count(d, n_cut + n_python_cut));
}

/* Chosen blocks stand for all. */
static void print_sampling(const struct tp_run *run, struct tp_out *out)
{
	uint64_t mean = 0;
	char a[32];

	for (uint32_t i = 0; i < run->n_windows && !mean; i++)
		mean = tp_fact_u64(run->window[i].totals, "heap.sample_bytes", 0);
	if (mean)
		tp_out_item(out, "", LABEL, "sampled",
			    "one block of host memory in %s on average: its figures are estimates",
			    tp_show_bytes(a, (int64_t)mean));
}

static void print_cost(const struct tp_run *run, struct tp_out *out)
{
	uint64_t n_events = 0, n_bytes = 0, drain = tp_totals_add(run, "drain_cpu_ns", false),
		 stall = tp_totals_add(run, "stall_ns", false);
	int64_t traced = 0;
	char a[32], b[32], c[32];

	for (uint32_t i = 0; i < run->n_windows; i++) {
		n_events += run->window[i].n_events;
		n_bytes += run->window[i].file_bytes;
		traced =
		    tp_add(traced, tp_sub(run->window[i].end_ns, run->window[i].begin_ns));
	}
	if (!n_events)
		return;
	tp_out_item(out, "", LABEL, "files", "%s events in %s: %.1f bytes an event",
		    tp_show_count(a, n_events), tp_show_bytes(b, (int64_t)n_bytes),
		    (double)n_bytes / (double)n_events);
	if (drain)
		tp_out_item(
		    out, "", LABEL, "cost",
		    "drain thread: %s of CPU, %.0f ns an event, %s of the recorded time",
		    tp_show_ns(a, (int64_t)drain), (double)drain / (double)n_events,
		    tp_show_percent(c, (double)drain, (double)traced));
	if (stall)
		tp_out_item(out, "", LABEL, drain ? "" : "cost",
			    "training thread, at the edges of windows: %s in all",
			    tp_show_ns(a, (int64_t)stall));
}

/* Steps that only windows tell of: what lies between these is not known. */
static uint32_t print_ledgers(const struct state *state, const struct tp_run *run, struct tp_out *out)
{
	const struct tp_proc *first = NULL;
	bool *has_ledger;
	uint32_t n = 0;
	char who[64];

	if (tp_label_is_kineto(run))
		return 0;
	has_ledger = tp_need(run->n_procs, sizeof(*has_ledger));
	for (uint32_t i = 0; i < run->n_steps; i++)
		has_ledger[run->step[i].proc->at] = true;
	for (uint32_t i = 0; i < run->n_procs; i++) {
		if (!state->steps->has[i] || has_ledger[i] || run->proc[i]->worker)
			continue;
		n++;
		first = first ? first : run->proc[i];
	}
	free(has_ledger);
	if (n)
		tp_out_line(out, "yellow", "  no step ledger (*.steps) of %s%s: only recorded steps are known",
			    tp_label_proc(who, run, first), n > 1 ? " and others" : "");
	return n;
}

/* The answer, before what it rests on. */
static void print_verdict(const struct tp_run *run, bool is_good, uint32_t n_lost, struct tp_out *out)
{
	for (uint32_t i = 0; i < run->n_issues; i++)
		n_lost += run->issue[i].is_loss;
	if (!run->n_windows)
		tp_out_line(out, "yellow", "  nothing was recorded: there is no window");
	else if (is_good)
		tp_out_line(out, "green", "  all good: nothing lost, nothing cut, nothing odd");
	else
		tp_out_line(out, n_lost ? "red" : "yellow", "  not well: %s",
			    n_lost ? "something is missing, figures may be too small"
				   : "figures stand, but for what is said here");
}

static void print(void *opaque, const struct tp_run *run, struct tp_out *out)
{
	struct state *state = opaque;
	struct tp_view_options options = state->options;
	struct tp_ranks_missing missing;
	uint32_t n_bad = 0, n_dead = 0, n_lost = 0;

	tp_out_title(out, "Health");
	for (uint32_t i = 0; i < run->n_procs; i++)
		n_dead += run->proc[i]->is_dead;
	for (uint32_t i = 0; i < run->n_windows; i++) {
		n_bad += run->window[i].is_recovered;
		n_lost += (!run->window[i].is_whole && !run->window[i].is_recovered) ||
			  run->window[i].dropped;
	}
	n_lost += print_counted(run, out);
	n_lost += print_losses(run, tp_gpu_losses, out);
	n_lost += print_losses(run, tp_heap_losses, out);
	n_bad += n_lost;
	tp_ranks_missing(run, &missing);
	if (missing.n_missing)
		tp_out_line(out, "yellow", "  %s of %u %s no trace: died before the first window, or "
					   "its files are elsewhere",
			    missing.here, missing.world, missing.n_missing > 1 ? "have" : "has");
	n_bad += missing.n_missing;
	n_bad += print_ledgers(state, run, out);
	print_verdict(run, !run->n_issues && !n_bad && !run->n_open && !n_dead && !run->impossible_after,
		      n_lost, out);
	if (n_dead)
		tp_out_line(
		    out, "yellow",
		    "  %u process%s did not end in order; what %s recorded was recovered",
		    n_dead, n_dead == 1 ? "" : "es", n_dead == 1 ? "it" : "they");
	if (run->n_windows)
		print_clocks(run, out);
	print_cupti(run, out);
	print_stacks(run, out);
	print_sampling(run, out);
	print_cost(run, out);
	print_options(run, out);
	print_issues(run, &options, out);
	print_windows(run, &options, out);
	print_open(run, &options, out);
	print_off(run, out);
	free(state);
}

const struct tp_view tp_view_health = {
    .name = "health",
    .help = "what is lost, cut, off or odd; clock error; what the profiler cost",
    .begin = begin,
    .print = print,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_health.c - may these figures be trusted: what is lost, cut, off or odd, how good the
 * clocks are, and what the profiler itself cost
 *
 * One green line when nothing is wrong; what is wrong comes first, with what to do.
 */
#include "merge/view/view_health.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/facts/program/no_work.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"
#include "merge/model/label.h"
#include "merge/model/ranks.h"
#include "merge/model/totals.h"

struct state {
	struct tp_view_options options;
	const struct steps_of *steps;
	const struct tp_no_work *no_work;
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

/* ---- what is found ---- */

static void *begin_health(struct tp_facts *facts, const struct tp_view_options *options)
{
	struct state *state = tp_need(1, sizeof(*state));

	state->options = *options;
	state->steps = tp_facts_want(facts, &fact_steps, NULL);
	state->no_work = tp_facts_want(facts, &tp_fact_no_work, NULL);
	return state;
}

/* What the runtime counted as lost beyond dropped records. */
static const struct {
	const char *key, *text;
} counted[] = {
    {"names_lost",
     "names found no room and show as \"(no name)\": a larger TRAINPROF_BUFFER"},
    {"names_cut", "names exceed the length that is kept and were truncated: they are not demangled"},
    {"windows_lost", "windows came too fast one after the other and were not recorded"},
    {"trigger.late", "windows of a trigger started later than on other ranks"},
    {"trigger.missed", "windows of a trigger were over before this process learned of them: a larger ahead= "
		       "in TRAINPROF_TRIGGER"},
    {"recorder.overwritten", "records of the flight recorder's steps had to make room: a larger "
			     "TRAINPROF_BUFFER"},
    {"late", "records came after their window was written"},
    {"nccl.no_entry", "operations of NCCL were too many at a time and were not recorded"},
    {"nccl.unfinished", "operations of NCCL had not ended 0.7 s after their window: shown up to its end"},
    {"nccl.late_ops", "operations of NCCL's proxies came after their collective was written: it ends "
		      "too early"},
    {"nccl.comms_refused", "communicators of NCCL were too many at a time: not recorded"},
    {"nccl.unknown", "operations of NCCL are of kinds that this version does not know"},
    {"torch.ranges_lost", "ranges were too many at a time and were not recorded"},
    {"marks.ranges_lost", "ranges of marks (NVTX, trainprof.h) were too many at a time and were not "
			  "recorded"},
    {"module.lost", "calls of modules may have no name: there were too many modules to track"},
};

static uint32_t print_counted(struct tp_health *health)
{
	const struct tp_run *run = health->run;
	uint32_t n = 0;
	char a[32];

	for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++) {
		uint64_t value = tp_totals_add(run, counted[i].key, true);

		if (!value)
			continue;
		n++;
		tp_health_say(health, "red", counted[i].key, "%s %s", tp_show_count(a, value),
			      counted[i].text);
	}
	return n;
}

/* Of gaps: how long they are, " of 1.2 s in all". */
static const char *say_gaps(char buf[64], const struct tp_run *run, const char *key)
{
	static const struct {
		const char *key, *ns;
	} gaps[] = {{"cupti.yielded", "cupti.yielded_ns"}, {"cupti.unready", "cupti.unready_ns"}};
	char shown[32];
	uint64_t ns;

	buf[0] = 0;
	for (size_t i = 0; i < sizeof(gaps) / sizeof(gaps[0]); i++) {
		if (strcmp(key, gaps[i].key))
			continue;
		ns = tp_totals_add(run, gaps[i].ns, true);
		if (ns)
			snprintf(buf, 64, " of %s in all", tp_show_ns(shown, (int64_t)ns));
	}
	return buf;
}

/* How many of these counters say that something is missing or odd. */
static uint32_t print_losses(struct tp_health *health, const struct tp_loss *losses)
{
	const struct tp_run *run = health->run;
	uint32_t n = 0;
	char a[32], gaps[64];

	for (const struct tp_loss *loss = losses; loss->key; loss++) {
		uint64_t value = tp_totals_add(run, loss->key, true);

		if (!value)
			continue;
		n++;
		tp_health_say(health, loss->is_loss ? "red" : "yellow", loss->key, "%s %s%s",
			    loss->is_bytes ? tp_show_bytes(a, (int64_t)value)
					   : tp_show_count(a, value),
			    loss->text, say_gaps(gaps, run, loss->key));
	}
	return n;
}

/* Steps that only windows tell of: what lies between these is not known. */
static uint32_t print_ledgers(const struct state *state, struct tp_health *health)
{
	const struct tp_run *run = health->run;
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
		if (!state->steps->has[i] || has_ledger[i] || run->proc[i]->worker || run->proc[i]->is_twin)
			continue;
		n++;
		first = first ? first : run->proc[i];
	}
	free(has_ledger);
	if (n)
		tp_health_say(health, "yellow", "no_ledger", "no step log (*.steps) of %s%s: only recorded steps are known",
			    tp_label_proc(who, run, first), n > 1 ? " and others" : "");
	return n;
}

static uint32_t print_no_work(const struct tp_no_work *no_work, struct tp_health *health)
{
	uint32_t n = 0;
	char text[200];

	for (uint32_t i = 0; tp_no_work_next(no_work, &i); n++)
		tp_health_say(health, "red", "launches_without_work", "%s: GPU times of its steps are too small",
			      tp_no_work_show(text, no_work, i - 1));
	return n;
}

/* The answer, before what it rests on. */
static void print_verdict(struct tp_health *health, bool is_good, uint32_t n_lost)
{
	const struct tp_run *run = health->run;

	for (uint32_t i = 0; i < run->n_issues; i++)
		n_lost += run->issue[i].is_loss;
	if (!run->n_windows)
		tp_health_say(health, "yellow", "verdict", "nothing was recorded: there is no window");
	else if (is_good)
		tp_health_say(health, "green", "verdict", "all good: no events lost, truncated or inconsistent");
	else
		tp_health_say(health, n_lost ? "red" : "yellow", "verdict", "warnings: %s",
			    n_lost ? "something is missing, figures may be too small"
				   : "figures hold, except as noted here");
}

static uint32_t count_lost(const struct tp_run *run)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < run->n_windows; i++)
		n += (!run->window[i].is_whole && !run->window[i].is_recovered) ||
		     run->window[i].dropped;
	return n;
}

/* All that is odd; what is lost is among it. */
static void print_findings(struct state *state, struct tp_health *health)
{
	const struct tp_run *run = health->run;
	uint32_t n_dead = 0, n_lost = count_lost(run), n_bad = 0;
	struct tp_ranks_missing missing;
	uint64_t n_removed;
	char removed[32];

	for (uint32_t i = 0; i < run->n_procs; i++)
		n_dead += tp_proc_died(run->proc[i]);
	for (uint32_t i = 0; i < run->n_windows; i++)
		n_bad += run->window[i].is_recovered;
	n_lost += print_counted(health);
	n_lost += print_losses(health, tp_gpu_losses);
	n_lost += print_losses(health, tp_heap_losses);
	n_lost += print_no_work(state->no_work, health);
	n_bad += n_lost;
	tp_ranks_missing(run, &missing);
	if (missing.n_missing)
		tp_health_say(health, "yellow", "missing_ranks",
			      "%s of %u %s no trace: died before the first window, or its files are elsewhere",
			      missing.here, missing.world, missing.n_missing > 1 ? "have" : "has");
	n_bad += missing.n_missing;
	n_bad += print_ledgers(state, health);
	n_bad += tp_view_health_hangs(health);
	print_verdict(health, !run->n_issues && !n_bad && !n_dead && !run->violations_after, n_lost);
	n_removed = tp_totals_add(run, "keep.removed", true);
	if (n_removed)
		tp_health_say(health, "", "keep", "%s traces of windows had been removed by TRAINPROF_KEEP when "
			      "the newest was written", tp_show_count(removed, n_removed));
	if (n_dead)
		tp_health_say(health, "yellow", "dead",
			      "%u process%s did not exit cleanly; what %s recorded was recovered",
			      n_dead, n_dead == 1 ? "" : "es", n_dead == 1 ? "it" : "they");
}

static void print_health(void *opaque, const struct tp_run *run, struct tp_out *out)
{
	struct state *state = opaque;
	struct tp_health health = {.run = run, .options = &state->options, .out = out};

	tp_out_title(out, "Whether these figures can be trusted");
	if (out->rows)
		health.rows = tp_table_begin(&tp_table_health, NULL, 0, out);
	print_findings(state, &health);
	tp_view_health_cost(&health);
	tp_view_health_issues(&health);
	tp_view_health_off(&health);
	tp_table_end(health.rows);
	tp_view_health_hang_rows(&health);
	tp_view_health_windows(&health);
	tp_view_health_open(&health);
	free(state);
}

const struct tp_view tp_view_health = {
    .name = "health",
    .help = "what is lost, truncated, disabled or inconsistent; clock error; what the profiler cost",
    .begin = begin_health,
    .tables = (const struct tp_table_def *const[]){&tp_table_health, &tp_table_windows,
						   &tp_table_open_spans, &tp_table_hangs, NULL},
    .print = print_health,
};

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

#include "merge/kit/need.h"
#include "merge/kit/sum.h"
#include "merge/model/label.h"
#include "merge/model/ranks.h"
#include "merge/model/totals.h"

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
    {"nccl.unknown", "operations of NCCL are of kinds that this version does not know"},
    {"torch.ranges_lost", "ranges were too many at a time and were not recorded"},
    {"marks.ranges_lost", "ranges of marks (NVTX, trainprof.h) were too many at a time and were not "
			  "recorded"},
    {"module.lost", "calls of modules may have no name: there were too many modules to keep in mind"},
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
	tp_view_health_cost(run, out);
	tp_view_health_issues(run, &options, out);
	tp_view_health_windows(run, &options, out);
	tp_view_health_open(run, &options, out);
	tp_view_health_off(run, out);
	free(state);
}

const struct tp_view tp_view_health = {
    .name = "health",
    .help = "what is lost, cut, off or odd; clock error; what the profiler cost",
    .begin = begin,
    .print = print,
};

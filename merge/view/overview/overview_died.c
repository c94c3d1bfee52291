/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_died.c - part of the overview: where processes stood that died, or stand that still run
 */
#include "merge/view/overview/overview.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "merge/kit/sum.h"
#include "merge/model/label.h"

enum {
	OPEN_SHOWN = 8,
	OLD_NS = 20000000,	/* of a look that is older it is said */
};

static bool has_open(const struct tp_run *run, const struct tp_proc *proc)
{
	for (uint32_t i = 0; i < run->n_open; i++)
		if (run->open[i].proc == proc)
			return true;
	return false;
}

static bool died_in_window(const struct tp_run *run, const struct tp_proc *proc)
{
	for (uint32_t i = 0; i < run->n_windows; i++)
		if (run->window[i].proc == proc && (run->window[i].is_recovered || !run->window[i].is_whole))
			return true;
	return false;
}

static bool has_stood(const struct tp_proc *proc)
{
	char buf[TP_STOOD_BYTES];

	return tp_label_stood(buf, proc, NULL) != NULL;
}

/* By the last look at its first thread. */
static void print_stood(const struct tp_proc *proc, struct tp_out *out)
{
	char buf[TP_STOOD_BYTES], a[32], age[64] = "";
	int64_t age_ns;
	char *text = tp_label_stood(buf, proc, &age_ns);

	if (!text)
		return;
	if (age_ns >= OLD_NS)
		snprintf(age, sizeof(age), proc->is_dead ? ", %s before its last sign of life" : ", %s ago",
			 tp_show_ns(a, age_ns));
	tp_out_line(out, "yellow", "    last seen in %s%s", tp_show_paths(text), age);
}

static void print_last_of(const struct tp_run *run, const struct tp_overview_proc *proc,
			  const struct tp_last *last, uint32_t at, struct tp_out *out)
{
	char who[64], a[32], step[48] = "";

	tp_label_proc(who, run, run->proc[at]);
	if (proc->n_ledger)
		snprintf(step, sizeof(step), ", after step %" PRIu64,
			 proc->ledger[proc->n_ledger - 1].index);
	if (last->name && died_in_window(run, run->proc[at]))
		tp_out_line(out, "yellow", "  %s: between operators for %s%s; the last one was %.*s%s%s", who,
			    tp_show_ns(a, tp_sub(last->seen_ns, last->end_ns)), step,
			    (int)last->name->n_bytes, last->name->bytes, last->line ? " at " : "",
			    last->line ? last->line : "");
	else if (has_stood(run->proc[at]))
		tp_out_line(out, "yellow", "  %s: %s%s", who,
			    run->proc[at]->is_dead ? "outside windows" : "runs", step);
	else
		tp_out_line(out, "yellow", "  %s: outside windows%s; what it did there was not recorded "
			    "(TRAINPROF_SCHEDULE=always records all of it)", who, step);
	print_stood(run->proc[at], out);
}

static void print_title(bool is_dead, struct tp_out *out)
{
	tp_out_title(out, is_dead ? "Where they stood when they died" : "Where those stand that still run");
}

/* Those that died, or those that still run, without an open span. Returns how many there are. */
static uint32_t print_last(const struct tp_run *run, const struct tp_overview *overview, bool is_dead,
			   struct tp_out *out)
{
	static const struct tp_last none;
	uint32_t n = 0;

	for (uint32_t i = 0; i < run->n_procs; i++) {
		const struct tp_proc *proc = run->proc[i];
		const struct tp_last *last = is_dead && overview->last ? &overview->last[i] : &none;

		if (!tp_proc_died_or_runs(proc, is_dead) || proc->worker || has_open(run, proc) ||
		    (!last->name && !has_stood(proc)))
			continue;
		if (!n++)
			print_title(is_dead, out);
		if (n <= OPEN_SHOWN)
			print_last_of(run, &overview->proc[i], last, i, out);
	}
	if (n > OPEN_SHOWN)
		tp_out_line(out, "dim", "  and %u more processes", n - OPEN_SHOWN);
	return n;
}

/* The step after the last one of its ledger, which begins with ", "; "": it has none. */
static const char *show_step(char *buf, size_t cap, const struct tp_overview *overview,
			     const struct tp_proc *proc)
{
	const struct tp_overview_proc *of = &overview->proc[proc->at];

	buf[0] = '\0';
	if (of->n_ledger)
		snprintf(buf, cap, ", in step %" PRIu64 "%s", of->ledger[of->n_ledger - 1].index + 1,
			 proc->is_dead ? ", which did not end" : "");
	return buf;
}

/* Those that died, or those that still run. */
static void print_all(const struct tp_run *run, const struct tp_overview *overview, bool is_dead,
		      struct tp_out *out)
{
	const bool has_title = print_last(run, overview, is_dead, out) != 0;
	uint32_t n_shown = 0, n_threads = 0;
	char who[64], thread[64], a[32], inner[128], outer[128], step[64];

	for (uint32_t i = 0; i < run->n_open; i++) {
		const struct tp_open_at_end *open = &run->open[i], *first = open;

		if (!tp_proc_died_or_runs(open->proc, is_dead) ||
		    (i && run->open[i - 1].proc == open->proc &&
		     run->open[i - 1].thread == open->thread))
			first = NULL;
		if (!first)
			continue;
		if (!n_threads++ && !has_title)
			print_title(is_dead, out);
		if (n_shown++ >= OPEN_SHOWN)
			continue;
		while (i + 1 < run->n_open && run->open[i + 1].proc == open->proc &&
		       run->open[i + 1].thread == open->thread)
			open = &run->open[++i];
		snprintf(inner, sizeof(inner), "%.*s", (int)open->name->n_bytes,
			 open->name->bytes ? open->name->bytes : "?");
		snprintf(outer, sizeof(outer), "%.*s", (int)first->name->n_bytes,
			 first->name->bytes ? first->name->bytes : "?");
		tp_out_line(out, "yellow", "  %s %s: %s for at least %s%s%s%s",
			    tp_label_proc(who, run, open->proc),
			    tp_label_thread(thread, open->thread), inner,
			    tp_show_ns(a, tp_sub(open->seen_ns, open->begin_ns)),
			    first == open ? "" : " in ", first == open ? "" : outer,
			    show_step(step, sizeof(step), overview, open->proc));
		if (i + 1 == run->n_open || run->open[i + 1].proc != open->proc)
			print_stood(open->proc, out);
	}
	if (n_shown > OPEN_SHOWN)
		tp_out_line(out, "dim", "  and %u more threads: -v health",
			    n_threads - OPEN_SHOWN);
}

void tp_overview_print_died(const struct tp_run *run, const struct tp_overview *overview,
			    struct tp_out *out)
{
	print_all(run, overview, true, out);
}

void tp_overview_print_running(const struct tp_run *run, const struct tp_overview *overview,
			       struct tp_out *out)
{
	print_all(run, overview, false, out);
}

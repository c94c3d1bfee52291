/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites.c - rows by process and stack while events come; lines of code at the end
 */
#include "merge/facts/code/sites_in.h"

#include <stdlib.h>
#include <string.h>

#include "merge/facts/comm/comm.h"
#include "merge/facts/origin/backward_call.h"
#include "merge/facts/origin/module_origin.h"
#include "merge/facts/time/habits.h"
#include "merge/kit/grow.h"
#include "merge/kit/keyed.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"
#include "runtime/base/begins.h"
#include "runtime/trace/torch_names.h"

enum {
	HELD_NS = 5000000,		/* sys.getswitchinterval(), */
	HELD_OVER_NS = 1000000,		/* and until the thread runs again */
};

struct thread {
	uint32_t last_row;	/* of the last outermost operator, plus one; 0: not known */
	struct tp_sites_outer outer;
	int64_t until_ns;	/* end of the outermost operator */
	int64_t gap_ns;		/* before a loader was asked, since the last operator */
	int64_t optimizer_end_ns;	/* of the step of an optimizer that runs, or the last one */
	int64_t loader_end_ns, order_end_ns;	/* of a loader, and of the order that it makes */
};

struct tp_sites_process {
	struct thread *thread;
	uint32_t n_threads;
	uint32_t step;		/* counted from 1; 0: before the first */
	uint32_t step_at;	/* in tp_sites.step, plus one */
	int64_t step_end_ns;
	int64_t comm_until_ns;	/* end of the collectives that have begun */
	bool has_rows;
};

static void begin_sites(void *state, struct tp_facts *facts, const void *params)
{
	const struct tp_run *run = tp_facts_run(facts);
	struct tp_sites *sites = state;

	sites->n_procs = run->n_procs;
	sites->origins = tp_facts_want(facts, &tp_fact_origins_cut, NULL);
	sites->proc = tp_need(run->n_procs, sizeof(*sites->proc));
	for (uint32_t i = 0; i < run->n_procs; i++) {
		struct tp_sites_process *proc = &sites->proc[i];

		/* Behind the threads stands the nobody of events without a known one. */
		proc->n_threads = run->proc[i]->n_threads + 1;
		proc->thread = tp_need(proc->n_threads, sizeof(*proc->thread));
	}
}

static void free_sites(void *state)
{
	struct tp_sites *sites = state;

	for (uint32_t i = 0; i < sites->n_procs; i++)
		free(sites->proc[i].thread);
	for (uint32_t i = 0; i < sites->n_lines; i++)
		free(sites->place[i]);
	tp_keyed_free(&sites->keyed);
	tp_keyed_free(&sites->inner_keyed);
	free(sites->inner);
	free(sites->place);
	free(sites->row);
	free(sites->step);
	free(sites->cell);
	free(sites->proc);
}

/* ---- events ---- */

static struct thread *thread_of(struct tp_sites *sites, const struct tp_event *event)
{
	struct tp_sites_process *proc = &sites->proc[event->proc->at];
	uint32_t at = tp_thread_at(event);

	return at < proc->n_threads ? &proc->thread[at] : NULL;
}

/* The row plus one; 0: there is none, or no room for one. */
static uint32_t find_row(struct tp_sites *sites, uint32_t proc, uint32_t stack)
{
	uint32_t hash = tp_keyed_hash((uint64_t)proc << 32 | stack), at;

	for (uint32_t i = tp_keyed_first(&sites->keyed, hash, &at); i != TP_NO_KEYED;
	     i = tp_keyed_next(&sites->keyed, hash, &at))
		if (sites->row[i].proc == proc && sites->row[i].stack == stack)
			return i + 1;
	if (sites->n_rows >= TP_SITES_MAX ||
	    !tp_grow(&sites->row, &sites->cap_rows, (uint64_t)sites->n_rows + 1,
		     sizeof(*sites->row)) ||
	    !tp_keyed_add(&sites->keyed, hash, sites->n_rows))
		return 0;
	sites->row[sites->n_rows] = (struct tp_sites_row){.proc = proc, .stack = stack};
	sites->n_with_rows += !sites->proc[proc].has_rows;
	sites->proc[proc].has_rows = true;
	return ++sites->n_rows;
}

/* Of what the event's thread does now. */
static uint32_t row_of(struct tp_sites *sites, const struct tp_event *event)
{
	uint32_t stack = tp_origins_of(sites->origins, event).stack;

	return stack ? find_row(sites, event->proc->at, stack) : 0;
}

static void take_gap(struct tp_sites_row *row, const struct thread *thread, int64_t ns)
{
	const bool is_known = thread->last_row != 0, was_known = row->before != 0;

	if (ns > 0)
		row->figure[TP_SITE_GAP] = tp_add(row->figure[TP_SITE_GAP], ns);
	if (ns >= TP_SITES_DISPATCH_NS) {
		row->figure[TP_SITE_LONG] = tp_add(row->figure[TP_SITE_LONG], ns);
		row->figure[TP_SITE_LONG_GAPS]++;
	}
	row->n_held += ns >= HELD_NS && ns < HELD_NS + HELD_OVER_NS;
	/* Before a window's first operator nothing is known: any other gap says more. */
	if (is_known != was_known ? was_known : ns <= row->longest_ns)
		return;
	row->longest_ns = ns;
	row->before = thread->last_row;
}

void tp_sites_move(struct tp_sites *sites, uint32_t from, uint32_t to, enum tp_site_figure figure, int64_t n)
{
	tp_sites_charge(sites, from, figure, tp_sub(0, n));
	tp_sites_charge(sites, to, figure, n);
}

/* Time and calls of a node of the backward pass are those of the forward line that made it, as is the time of
 * its dispatch; a long gap before it is where the thread stands. */
static void move_outer(struct tp_sites *sites, struct tp_sites_outer *outer, const struct tp_event *event)
{
	const uint32_t from = outer->row, to = from && !outer->is_moved ? row_of(sites, event) : 0;

	if (!to)
		return;
	tp_sites_move(sites, from, to, TP_SITE_CALLS, 1);
	tp_sites_move(sites, from, to, TP_SITE_TIME, outer->ns);
	if (outer->is_trainers)
		tp_sites_move(sites, from, to, TP_SITE_TRAINER, outer->ns);
	tp_sites_move(sites, from, to, TP_SITE_LEARNING, outer->ns);
	tp_sites_charge(sites, to, TP_SITE_NODES, 1);
	tp_sites_move(sites, from, to, TP_SITE_GAP, outer->gap_ns);
	tp_sites_add_time(sites, &sites->row[from - 1], outer->step_at, tp_sub(0, outer->ns));
	tp_sites_add_time(sites, &sites->row[to - 1], outer->step_at, outer->ns);
	outer->row = to;
	outer->is_moved = true;
}

/* From what last went on until the event. */
static int64_t since_last(const struct tp_sites_process *proc, const struct thread *thread,
			  const struct tp_event *event)
{
	return tp_sub(event->begin_ns, thread->until_ns > proc->comm_until_ns ? thread->until_ns
									      : proc->comm_until_ns);
}

/* Inside of a loader: RandomSampler makes the order of an epoch. */
static void take_loading(struct tp_sites *sites, struct thread *thread, const struct tp_event *event)
{
	static const char name[] = "aten::randperm";

	if (event->begin_ns < thread->order_end_ns ||
	    !tp_begins(event->name->bytes, event->name->n_bytes, name))
		return;
	thread->order_end_ns = event->end_ns;
	tp_sites_charge(sites, row_of(sites, event), TP_SITE_EPOCHS, 1);
}

/* Tensors of random numbers: data that stand for others, noise. An order is none. */
static bool makes_random(const struct tp_event *event)
{
	static const char *const begins[] = {"aten::rand", "aten::normal", "aten::uniform_"};
	const struct tp_string *name = event->name;

	for (uint32_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (tp_begins(name->bytes, name->n_bytes, begins[i]))
			return !tp_begins(name->bytes, name->n_bytes, "aten::randperm");
	return false;
}

static void take_operator(struct tp_sites *sites, const struct tp_event *event)
{
	const struct tp_sites_process *proc = &sites->proc[event->proc->at];
	struct thread *thread = thread_of(sites, event);
	uint32_t at;
	struct tp_sites_row *row;

	if (!thread || event->flags & TP_F_ASYNC)
		return;
	if (event->begin_ns < thread->until_ns) {
		if (event->flags & TP_F_BACKWARD)
			move_outer(sites, &thread->outer, event);
		if (event->begin_ns < thread->loader_end_ns)
			take_loading(sites, thread, event);
		if (!thread->outer.is_node || !tp_sites_take_inner(sites, &thread->outer, event))
			tp_sites_charge(sites, thread->outer.row, TP_SITE_INSIDE, 1);
		return;
	}
	at = row_of(sites, event);
	thread->outer = (struct tp_sites_outer){.row = at, .is_node = tp_backward_is_node(event),
						.begin_ns = event->begin_ns,
						.ns = tp_sub(event->end_ns, event->begin_ns)};
	if (at) {
		row = &sites->row[at - 1];
		row->figure[TP_SITE_CALLS]++;
		if (tp_begins(event->name->bytes, event->name->n_bytes, TP_NAME_C10D))
			row->figure[TP_SITE_COLLECTIVES]++;
		row->figure[TP_SITE_NODES] += (event->flags & TP_F_BACKWARD) != 0;
		row->figure[TP_SITE_TIME] = tp_add(row->figure[TP_SITE_TIME], thread->outer.ns);
		if (event->proc->worker)
			tp_sites_charge(sites, at, TP_SITE_WORKER, thread->outer.ns);
		/* What is compiled may have layers, whose names stand inside. */
		if (thread->outer.is_node || event->begin_ns < thread->optimizer_end_ns ||
		    tp_begins(event->name->bytes, event->name->n_bytes, TP_NAME_COMPILED))
			tp_sites_charge(sites, at, TP_SITE_LEARNING, thread->outer.ns);
		/* Between steps, evaluations and the like, time is nobody's. */
		if (proc->step && event->begin_ns < proc->step_end_ns) {
			const int64_t gap_ns = tp_add(thread->gap_ns, since_last(proc, thread, event));

			tp_sites_add_time(sites, row, proc->step_at, thread->outer.ns);
			thread->outer.is_trainers = event->thread->is_main && !makes_random(event);
			if (thread->outer.is_trainers)
				tp_sites_charge(sites, at, TP_SITE_TRAINER, thread->outer.ns);
			take_gap(row, thread, gap_ns);
			thread->outer.step_at = proc->step_at;
			thread->outer.gap_ns = gap_ns > 0 && gap_ns < TP_SITES_DISPATCH_NS ? gap_ns : 0;
		}
	}
	thread->gap_ns = 0;
	thread->until_ns = event->end_ns;
	/* What has no stack does not hide the line before it. */
	if (at)
		thread->last_row = at;
}

/* Loaders and collectives have rules of their own: their times are no gaps of what comes after. What runs
 * at the end of a loop, before the loader is asked, is in the gap that goes on after it. */
static void take_range(struct tp_sites *sites, const struct tp_event *event)
{
	struct tp_sites_process *proc = &sites->proc[event->proc->at];
	struct thread *thread = thread_of(sites, event);

	if (event->end_ns > proc->comm_until_ns &&
	    tp_comm_kind_of(event->name->bytes, event->name->n_bytes) != TP_COMM_KINDS)
		proc->comm_until_ns = event->end_ns;

	if (thread && tp_begins(event->name->bytes, event->name->n_bytes, TP_NAME_OPTIMIZER)) {
		thread->optimizer_end_ns = event->end_ns;
		sites->has_optimizer = true;
	}
	if (!thread || event->end_ns <= thread->until_ns ||
	    !tp_begins(event->name->bytes, event->name->n_bytes, TP_NAME_LOADER))
		return;
	if (proc->step && since_last(proc, thread, event) > 0)
		thread->gap_ns = tp_add(thread->gap_ns, since_last(proc, thread, event));
	thread->until_ns = thread->loader_end_ns = event->end_ns;
}

static void take_step(struct tp_sites *sites, const struct tp_event *event)
{
	struct tp_sites_process *proc = &sites->proc[event->proc->at];

	/* A gap that began before the first step of a window began outside it. */
	if (event->begin_ns > proc->step_end_ns)
		for (uint32_t i = 0; i < proc->n_threads; i++)
			if (proc->thread[i].until_ns < event->begin_ns) {
				proc->thread[i].until_ns = event->begin_ns;
				proc->thread[i].gap_ns = 0;
			}
	proc->step++;
	proc->step_at = tp_sites_add_step(sites, event);
	proc->step_end_ns = event->end_ns;
}

static void take_event(void *state, const struct tp_event *event)
{
	struct tp_sites *sites = state;

	switch (event->kind) {
	case TP_REC_OP:
		take_operator(sites, event);
		break;
	case TP_REC_RANGE:
		take_range(sites, event);
		break;
	case TP_REC_STEP:
		take_step(sites, event);
		break;
	default:
		break;
	}
}

uint32_t tp_sites_call(struct tp_sites *sites, const struct tp_event *event)
{
	uint32_t at = row_of(sites, event);
	struct tp_sites_row *row;

	if (!at)
		return 0;
	row = &sites->row[at - 1];
	if (tp_habits_is_wait(event->name))
		row->figure[TP_SITE_WAIT] = tp_add(row->figure[TP_SITE_WAIT],
						   tp_sub(event->end_ns, event->begin_ns));
	else if (tp_habits_is_alloc(event->name))
		row->figure[TP_SITE_ALLOCS] = tp_add(row->figure[TP_SITE_ALLOCS],
						     tp_sub(event->end_ns, event->begin_ns));
	else if (event->name->bytes && strstr(event->name->bytes, "LaunchKernel"))
		row->figure[TP_SITE_LAUNCHES]++;
	return at;
}

uint32_t tp_sites_now(struct tp_sites *sites, const struct tp_event *event)
{
	return row_of(sites, event);
}

void tp_sites_charge(struct tp_sites *sites, uint32_t tag, enum tp_site_figure figure, int64_t more)
{
	struct tp_sites_row *row;

	if (!tag || tag > sites->n_rows)
		return;
	row = &sites->row[tag - 1];
	row->figure[figure] = tp_add(row->figure[figure], more);
}

void tp_sites_kept(struct tp_sites *sites, uint32_t tag, int64_t bytes)
{
	struct tp_sites_row *row;

	if (!tag || tag > sites->n_rows)
		return;
	row = &sites->row[tag - 1];
	if (row->step != sites->proc[row->proc].step) {
		row->step = sites->proc[row->proc].step;
		row->kept_before = row->kept;
	}
	row->kept = tp_add(row->kept, bytes);
	row->figure[TP_SITE_KEPT] = tp_sub(row->kept, row->kept_before);
}

const struct tp_fact tp_fact_sites = {
	.name = "source lines",
	.bytes = sizeof(struct tp_sites),
	.kinds = TP_FACT_KIND(TP_REC_OP) | TP_FACT_KIND(TP_REC_RANGE) | TP_FACT_KIND(TP_REC_STEP),
	.is_cut = true,
	.begin = begin_sites,
	.event = take_event,
	.end = tp_sites_find_lines,
	.free = free_sites,
};

bool tp_sites_is_incomplete(const struct tp_sites *sites)
{
	return sites->is_incomplete;
}

struct tp_stacks *tp_sites_stacks(const struct tp_sites *sites)
{
	return tp_origins_stacks(sites->origins);
}

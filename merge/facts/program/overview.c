/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview.c - the figures of the overview, collected event by event
 *
 * It stands on the sweep of the steps (step_times.h): their times are final before each event.
 */
#include "merge/facts/program/overview.h"

#include <stdlib.h>
#include <string.h>

#include "merge/facts/program/waste.h"
#include "merge/kit/grow.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"
#include "merge/model/step_row.h"

enum {	/* noted of a call: it was made */
	OWNER_NESTED = 1,	/* inside another call */
	OWNER_STEP = 2,		/* in a step */
	OWNER_FIRST = 4,	/* the first one of the run */
	OWNER_SHIFT = 3,	/* beyond: the row of the operator around it, plus one */
};
enum { OPEN_LOOKED_AT = 8 };

static struct tp_overview_row *row_of(struct tp_overview *overview, uint32_t name)
{
	tp_need_room(&overview->row, &overview->cap_rows, (uint64_t)name + 1,
		     sizeof(*overview->row));
	return &overview->row[name];
}

static void close_span(void *ctx, const struct tp_nest_span *span)
{
	struct tp_overview_row *row = row_of(ctx, span->name);

	row->calls++;
	row->self_ns = tp_add(row->self_ns, tp_nest_self_ns(span));
	row->total_ns = tp_add(row->total_ns, span->end_ns - span->begin_ns);
}

/* Those that nest are counted when they are closed; these end on another thread. */
static void take_span(struct tp_overview *overview, const struct tp_event *event)
{
	uint32_t name;

	if (tp_spans_now(overview->spans))
		return;
	name = tp_names_row(overview->names, event);
	if (!tp_names_at(overview->names, name)->is_private)
		row_of(overview, name)->calls++;
}

const struct tp_step_row *tp_overview_ledger(const struct tp_overview_proc *proc,
					     uint64_t index)
{
	return proc->n_ledger
		       ? tp_step_row_find(proc->ledger, proc->n_ledger, proc->ledger[0].proc, index) : NULL;
}

static void take_step(struct tp_overview *overview, struct tp_overview_proc *proc,
		      const struct tp_event *event)
{
	const struct tp_breakdown *breakdown = proc->breakdown;
	const struct tp_step_row *before = NULL;

	if (!breakdown->n_steps || !tp_grow(&proc->peak, &proc->cap_peaks,
					    breakdown->n_steps, sizeof(*proc->peak))) {
		overview->is_incomplete = true;
		return;
	}
	overview->n_first_steps += !event->link;
	proc->peak[breakdown->n_steps - 1] = (struct tp_overview_peak){
	    .step = event->link, .inside = TP_NO_ROW, .of = TP_NO_ROW};
	/* The ledger knows what was alive when this step began: sizes that were not known
	 * in the last one do not add up. */
	if (event->link)
		before = tp_overview_ledger(proc, event->link - 1);
	if (before && before->live_bytes)
		tp_memcurve_set(overview->memory, event, TP_DEVICE_CPU,
				(int64_t)before->live_bytes);
}

static void take_memory(struct tp_overview *overview, struct tp_overview_proc *proc,
			const struct tp_event *event)
{
	struct tp_memcurve_track *track;
	const struct tp_nest_span *inside;
	struct tp_overview_peak *peak;
	int64_t change;
	bool is_alloc = event->kind == TP_REC_ALLOC;
	/* A block has the tag of who made it; what is freed gives it back. */
	uint32_t made = is_alloc ? tp_sites_now(overview->sites, event) : 0, tag = made;
	int64_t replaced = is_alloc ? tp_memcurve_bytes(overview->memory, event, event->link) : 0;

	track = tp_memcurve_tagged(overview->memory, event, &change, &tag);
	if (track && is_alloc) {
		tp_sites_kept(overview->sites, made, change);
		/* Nobody saw the block being freed that was there. */
		change = -replaced;
	}
	tp_sites_kept(overview->sites, tag, change);
	if (!track || !proc->breakdown->is_in_step || proc->breakdown->n_steps > proc->cap_peaks)
		return;
	peak = &proc->peak[proc->breakdown->n_steps - 1];
	if (event->link != TP_DEVICE_CPU) {
		if (track->live_bytes > peak->device_bytes) {
			peak->device_bytes = track->live_bytes;
			peak->is_device_absolute = track->is_absolute;
		}
		return;
	}
	peak->n_unknown += event->kind == TP_REC_FREE && !change;
	if (event->kind == TP_REC_FREE || track->live_bytes <= peak->live_bytes)
		return;
	peak->live_bytes = track->live_bytes;
	peak->is_absolute = track->is_absolute;
	inside = tp_spans_innermost(overview->spans, event);
	peak->inside = inside ? inside->name : TP_NO_ROW;
	peak->of = inside && inside->depth ? (inside - inside->depth)->name : TP_NO_ROW;
}

/* A step that goes on after it has worked for nothing so far. */
static void take_failed(struct tp_overview *overview, struct tp_overview_proc *proc,
			const struct tp_event *event)
{
	const struct tp_breakdown *breakdown = proc->breakdown;
	int64_t from_ns;

	if (!breakdown->is_in_step)
		return;
	tp_sites_charge(overview->sites, tp_sites_now(overview->sites, event), TP_SITE_FAILED, 1);
	from_ns = proc->failed_step == breakdown->n_steps
			  ? proc->failed_until_ns : breakdown->step[breakdown->n_steps - 1].begin_ns;
	overview->n_failed_steps += proc->failed_step != breakdown->n_steps;
	overview->failed_ns = tp_add(overview->failed_ns, tp_sub(event->begin_ns, from_ns));
	proc->failed_step = breakdown->n_steps;
	proc->failed_until_ns = event->begin_ns;
}

/* The tensor probe marks an allocation that failed; arg: the bytes asked for. */
static void take_mark(struct tp_overview *overview, struct tp_overview_proc *proc,
		      const struct tp_event *event)
{
	static const char name[] = "out of memory";
	const struct tp_nest_span *inside;

	if (event->name->n_bytes != sizeof(name) - 1 ||
	    memcmp(event->name->bytes, name, sizeof(name) - 1))
		return;
	take_failed(overview, proc, event);
	if (overview->n_failed++)
		return;
	overview->failed_bytes = event->arg;
	inside = tp_spans_innermost(overview->spans, event);
	overview->failed_inside = inside ? inside->name : TP_NO_ROW;
}

/* The runtime API made this call of the driver API: what it starts is the outer one's. */
static bool is_nested(const struct tp_overview *overview, const struct tp_event *event,
		      const struct tp_nest_span *call)
{
	return event->flags & TP_F_DRIVER && call->depth &&
	       !strncmp(tp_names_at(overview->names, call[-1].name)->bytes, "cuda", 4);
}

/* What is noted of a call; of the spans around it the innermost few are looked at. */
static uint32_t find_owner(struct tp_overview *overview, const struct tp_nest_span *call)
{
	for (uint32_t i = 0; i < OPEN_LOOKED_AT && i <= call->depth; i++)
		if (!row_of(overview, (call - i)->name)->is_call)
			return ((call - i)->name + 1) << OWNER_SHIFT;
	return 0;
}

static void take_wait(struct tp_overview *overview, const struct tp_event *event,
		      const struct tp_nest_span *call, bool is_first)
{
	int64_t *wait_ns = is_first ? overview->first_wait_ns : overview->wait_ns;
	int64_t *ns = &wait_ns[tp_wait_of(overview->names, call)];

	*ns = tp_add(*ns, tp_sub(event->end_ns, event->begin_ns));
}

static bool is_first_step(const struct tp_overview_proc *proc)
{
	const struct tp_breakdown *breakdown = proc->breakdown;

	return breakdown->n_steps && !breakdown->step[breakdown->n_steps - 1].index;
}

/* A CUDA call: its time is not the own time of the operator around it. */
static void take_call(struct tp_overview *overview, struct tp_overview_proc *proc,
		      const struct tp_event *event)
{
	const struct tp_nest_span *call = tp_spans_now(overview->spans);
	uint32_t owner;

	if (!call)
		return;
	row_of(overview, call->name)->is_call = true;
	owner = find_owner(overview, call) |
		(is_nested(overview, event, call) ? OWNER_NESTED : 0) |
		(proc->breakdown->is_in_step ? OWNER_STEP : 0) | (is_first_step(proc) ? OWNER_FIRST : 0);
	if ((owner & (OWNER_NESTED | OWNER_STEP)) == OWNER_STEP) {
		tp_habits_call(owner & OWNER_FIRST ? &overview->first_habits : &overview->habits, event);
		if (tp_habits_is_wait(event->name))
			take_wait(overview, event, call, owner & OWNER_FIRST);
	}
	tp_launch_note(&overview->owner_of, event, owner);
	if (!(owner & OWNER_NESTED))
		tp_launch_note(&overview->site_of, event, tp_sites_call(overview->sites, event));
}

static void take_use(struct tp_overview *overview, const struct tp_event *event, uint32_t site)
{
	const struct tp_device_used used = tp_device_use_take(&overview->use, overview->names, event);

	tp_sites_charge(overview->sites, site, TP_SITE_FLOAT32, used.float32_ns);
	tp_sites_charge(overview->sites, site, TP_SITE_FEW_BLOCKS, used.lost_ns);
	tp_sites_charge(overview->sites, site, TP_SITE_TRANSFER, used.copy_ns);
	if (event->kind == TP_REC_MEMCPY && tp_habits_is_pageable(event))
		tp_sites_charge(overview->sites, site, TP_SITE_PAGEABLE,
				tp_sub(event->end_ns, event->begin_ns));
}

static void take_launched(void *ctx, const struct tp_event *event, struct tp_launch_call *call)
{
	struct tp_overview *overview = ctx;
	uint32_t owner = tp_launch_noted(&overview->owner_of, call);
	uint32_t site = tp_launch_noted(&overview->site_of, call);
	struct tp_overview_row *row;

	/* GPU time was given the work before: begin_overview() asked for it first. */
	if (!(owner & OWNER_FIRST))
		tp_sites_charge(overview->sites, site, TP_SITE_IDLE, tp_gpu_time_waited(overview->gpu));
	take_use(overview, event, site);
	if (owner >> OWNER_SHIFT) {
		row = &overview->row[(owner >> OWNER_SHIFT) - 1];
		row->device_ns = tp_add(row->device_ns, tp_sub(event->end_ns, event->begin_ns));
	}
	if (owner & OWNER_STEP)
		tp_habits_work(owner & OWNER_FIRST ? &overview->first_habits : &overview->habits, event,
			       call->name);
}

/* In a stream that is captured into a graph, launches start nothing. */
static void take_gone(void *ctx, const struct tp_launch_call *call)
{
	struct tp_overview *overview = ctx;

	overview->n_idle_launches +=
		!call->n_work && !(tp_launch_noted(&overview->owner_of, call) & OWNER_NESTED) &&
		call->name->bytes && strstr(call->name->bytes, "LaunchKernel") != NULL;
}

/* More than one rank: the workers of one do not make it many. */
static bool has_dead(const struct tp_run *run)
{
	for (uint32_t i = 0; i < run->n_procs; i++)
		if (run->proc[i]->is_dead)
			return true;
	return false;
}

static bool has_ranks(const struct tp_run *run)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < run->n_procs; i++)
		n += run->proc[i]->rank >= 0 && !run->proc[i]->worker;
	return n > 1;
}

static void take_event(void *state, const struct tp_event *event)
{
	struct tp_overview *overview = state;
	struct tp_overview_proc *proc;

	proc = &overview->proc[event->proc->at];
	proc->n_events++;
	overview->n_events++;
	switch (event->kind) {
	case TP_REC_OP:
	case TP_REC_RANGE:
		take_span(overview, event);
		break;
	case TP_REC_STEP:
		take_step(overview, proc, event);
		break;
	case TP_REC_ALLOC:
	case TP_REC_FREE:
	case TP_REC_TOTALS:
		take_memory(overview, proc, event);
		break;
	case TP_REC_MARK:
		take_mark(overview, proc, event);
		break;
	case TP_REC_CALL:
		take_call(overview, proc, event);
		break;
	default:
		break;
	}
}

static void begin_overview(void *state, struct tp_facts *facts, const void *params)
{
	const struct tp_run *run = tp_facts_run(facts);
	struct tp_overview *overview = state;

	overview->n_procs = run->n_procs;
	overview->times = tp_facts_want(facts, &tp_fact_step_times, NULL);
	overview->spans = tp_facts_want(facts, &tp_fact_spans, NULL);
	overview->names = tp_spans_names(overview->spans);
	overview->launches = tp_facts_want(facts, &tp_fact_launches_cut, NULL);
	overview->owner_of = tp_launches_notes(overview->launches);
	overview->site_of = tp_launches_notes(overview->launches);
	overview->gpu = tp_facts_want(facts, &tp_fact_gpu_time, NULL);
	overview->no_work = tp_facts_want(facts, &tp_fact_no_work, NULL);
	overview->comm = has_ranks(run) ? tp_facts_want(facts, &tp_fact_comm, NULL) : NULL;
	overview->rounds = has_ranks(run) ? tp_comm_rounds_want(facts) : NULL;
	overview->sites = tp_facts_want(facts, &tp_fact_sites, NULL);
	overview->owners = tp_sample_owners_want(facts);
	overview->cores = tp_cores_want(facts);
	overview->clocks = tp_device_clocks_want(facts);
	overview->workers = tp_facts_want(facts, &tp_fact_worker_heap, NULL);
	overview->last = has_dead(run) ? tp_last_want(facts) : NULL;
	overview->waste = tp_facts_want(facts, &tp_fact_waste, NULL);
	overview->memory = tp_memcurve_new();
	if (!overview->memory)
		tp_need_failed();
	overview->proc = tp_need(run->n_procs, sizeof(*overview->proc));
	tp_spans_read(overview->spans, close_span, overview);
	tp_launches_read(overview->launches, take_launched, take_gone, overview);
	for (uint32_t i = 0; i < run->n_procs; i++)
		overview->proc[i].breakdown = tp_step_times_of(overview->times, run->proc[i]);
	for (uint32_t i = 0; i < run->n_steps; i++) {
		struct tp_overview_proc *proc = &overview->proc[run->step[i].proc->at];

		if (!proc->n_ledger++)
			proc->ledger = &run->step[i];
	}
}

static void end_overview(void *state)
{
	struct tp_overview *overview = state;

	overview->is_incomplete |= tp_step_times_is_incomplete(overview->times) ||
				   tp_gpu_time_is_incomplete(overview->gpu) ||
				   tp_sites_is_incomplete(overview->sites);
}

static void free_overview(void *state)
{
	struct tp_overview *overview = state;

	tp_memcurve_free(overview->memory);
	tp_device_use_free(&overview->use);
	for (uint32_t i = 0; i < overview->n_procs; i++)
		free(overview->proc[i].peak);
	free(overview->proc);
	free(overview->row);
}

const struct tp_fact tp_fact_overview = {
	.name = "overview",
	.bytes = sizeof(struct tp_overview),
	.kinds = TP_FACT_ALL_KINDS,
	.is_cut = true,
	.begin = begin_overview,
	.event = take_event,
	.end = end_overview,
	.free = free_overview,
};

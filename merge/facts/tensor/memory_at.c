/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_at.c - moments at the starts and ends of ranges
 *
 * Moments have to come in order of time, before blocks that die later are told: an end is taken when
 * the first event behind it comes, whichever reader gets that first.
 */
#include "merge/facts/tensor/memory_at.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"
#include "merge/kit/need.h"
#include "merge/model/label.h"
#include "runtime/trace/range_names.h"

struct open_call {
	uint32_t call;		/* in calls */
	int64_t end_ns;
	int64_t peak_bytes;
};

struct proc {
	struct tp_moments moments;
	struct open_call *open;		/* by end, the last one first */
	uint32_t n_open, cap_open;
	uint64_t *n_calls;		/* by name */
	uint32_t cap_names;
	struct tp_sampled_process sampled;
	struct tp_live_sum live;
	int64_t last_ns;		/* of the last event */
};

/* What becomes a call's start and end. */
struct kept {
	struct tp_memory_at_call call;
	uint32_t start, peak, end;	/* moments */
};

struct tp_memory_at {
	const struct tp_run *run;
	const char *asked;		/* NULL: all ranges */
	char recorded[400 + 1];		/* what the run itself asks for */
	struct tp_names *names;
	struct proc *proc;		/* by tp_proc.at */
	struct kept *kept;
	uint32_t n_kept, cap_kept;
	struct tp_memory_at_call *call;	/* after the end */
	bool has_tensors;
};

/* ---- moments ---- */

/* A point is a call and which of its ends. */
static uint32_t point_at(uint32_t call, bool is_end)
{
	return 2 * call + is_end;
}

static struct tp_sampled *find_point(void *ctx, uint32_t at, int64_t *ns)
{
	struct tp_memory_at_call *call = &((struct tp_memory_at *)ctx)->kept[at / 2].call;
	struct tp_memory_at_point *point = at % 2 ? &call->end : &call->start;

	*ns = point->ns;
	return &point->process;
}

/* Ends that lie before `now`, or at it. */
static void take_ends(struct tp_memory_at *at, struct proc *proc, int64_t now)
{
	while (proc->n_open && proc->open[proc->n_open - 1].end_ns <= now) {
		const struct open_call *open = &proc->open[--proc->n_open];
		struct kept *kept = &at->kept[open->call];

		/* Blocks that outlive the window are told up to its end: one that ends there has them. */
		kept->end = tp_moments_add(&proc->moments,
					   now == INT64_MAX ? proc->last_ns : open->end_ns);
		kept->call.end.process = proc->sampled.now;
		kept->call.end.ns = open->end_ns;
		tp_sampled_wait(&proc->sampled, point_at(open->call, true));
	}
}

static void take_live(void *ctx, const struct tp_event *event, uint32_t device, int64_t bytes)
{
	struct tp_memory_at *at = ctx;
	struct proc *proc = &at->proc[event->proc->at];
	uint32_t moment = TP_NO_MOMENT;

	at->has_tensors = true;
	take_ends(at, proc, event->begin_ns);
	tp_live_sum_set(&proc->live, device, bytes);
	for (uint32_t i = 0; i < proc->n_open; i++) {
		struct open_call *open = &proc->open[i];

		if (proc->live.bytes <= open->peak_bytes)
			continue;
		open->peak_bytes = proc->live.bytes;
		tp_moments_drop(&proc->moments, at->kept[open->call].peak);
		at->kept[open->call].peak = tp_moments_share(&proc->moments, &moment, event->begin_ns);
	}
}

static void take_life(void *ctx, const struct tp_life *life)
{
	struct tp_memory_at *at = ctx;
	struct proc *proc = &at->proc[life->proc->at];

	take_ends(at, proc, life->end_ns);
	tp_moments_life(&proc->moments, life);
}

/* Nothing comes behind the last ones' ends. */
static void end_of_window(void *ctx, uint32_t of_proc)
{
	struct tp_memory_at *at = ctx;

	take_ends(at, &at->proc[of_proc], INT64_MAX);
	at->proc[of_proc].live = (struct tp_live_sum){.n = 0};
}

/* ---- ranges ---- */

static bool is_asked(const struct tp_memory_at *at, const struct tp_name *name)
{
	return !at->asked || tp_range_names_have(at->asked, name->bytes, name->n_bytes);
}

static void add_open(struct proc *proc, struct open_call open)
{
	uint32_t i = proc->n_open++;

	for (; i && proc->open[i - 1].end_ns < open.end_ns; i--)
		proc->open[i] = proc->open[i - 1];
	proc->open[i] = open;
}

static void take_range(struct tp_memory_at *at, struct proc *proc, const struct tp_event *event)
{
	const uint32_t row = tp_names_row(at->names, event);
	struct kept *kept;

	/* A worker's are not its rank's. */
	if (event->proc->worker || row == TP_NO_NAME || event->flags & (TP_F_EARLY | TP_F_OPEN) ||
	    !is_asked(at, tp_names_at(at->names, row)))
		return;
	if (!tp_grow(&at->kept, &at->cap_kept, (uint64_t)at->n_kept + 1, sizeof(*at->kept)) ||
	    !tp_grow(&proc->open, &proc->cap_open, (uint64_t)proc->n_open + 1, sizeof(*proc->open)) ||
	    !tp_grow(&proc->n_calls, &proc->cap_names, (uint64_t)row + 1, sizeof(*proc->n_calls)))
		tp_need_failed();
	kept = &at->kept[at->n_kept];
	*kept = (struct kept){
		.call = {.proc = event->proc, .name = row, .number = ++proc->n_calls[row],
			 .start = {.ns = event->begin_ns, .process = proc->sampled.now}},
		.start = tp_moments_add(&proc->moments, event->begin_ns),
	};
	kept->peak = tp_moments_use(&proc->moments, kept->start);
	tp_sampled_wait(&proc->sampled, point_at(at->n_kept, false));
	add_open(proc, (struct open_call){.call = at->n_kept++, .end_ns = event->end_ns,
					  .peak_bytes = proc->live.bytes});
}

static void take_event(void *state, const struct tp_event *event)
{
	struct tp_memory_at *at = state;
	struct proc *proc = &at->proc[event->proc->at];

	take_ends(at, proc, event->begin_ns);
	proc->last_ns = event->begin_ns;
	if (event->kind == TP_REC_COUNTER || event->kind == TP_REC_TOTALS)
		tp_sampled_event(&proc->sampled, event, find_point, at);
	else if (event->kind == TP_REC_RANGE)
		take_range(at, proc, event);
}

/* ---- begin and end ---- */

/* The first rank's that asks for any: a job's environment is one. */
static void find_asked(struct tp_memory_at *at, const struct tp_memory_at_params *params)
{
	at->asked = params->names;
	for (uint32_t i = 0; !at->asked && i < at->run->n_procs; i++)
		if (tp_fact(tp_label_meta(at->run, at->run->proc[i]), "MEMORY_AT", at->recorded,
			    sizeof(at->recorded)) && at->recorded[0])
			at->asked = at->recorded;
}

static void begin_at(void *state, struct tp_facts *facts, const void *params)
{
	static const struct tp_memcat_calls calls = {
		.live = take_live, .life = take_life, .window = end_of_window,
	};
	struct tp_memory_at *at = state;

	at->run = tp_facts_run(facts);
	find_asked(at, params);
	at->names = tp_facts_want(facts, &tp_fact_names, NULL);
	at->proc = tp_need(at->run->n_procs, sizeof(*at->proc));
	tp_memcat_read(tp_facts_want(facts, &tp_fact_memcat, NULL), &calls, at);
}

static void end_at(void *state)
{
	struct tp_memory_at *at = state;

	at->call = tp_need(at->n_kept + 1, sizeof(*at->call));
	for (uint32_t p = 0; p < at->run->n_procs; p++) {
		end_of_window(at, p);
		tp_moments_end(&at->proc[p].moments);
	}
	for (uint32_t i = 0; i < at->n_kept; i++) {
		struct kept *kept = &at->kept[i];
		const struct tp_moments *moments = &at->proc[kept->call.proc->at].moments;

		kept->call.start.tensors = tp_moments_get(moments, kept->start);
		kept->call.end.tensors = tp_moments_get(moments, kept->end);
		kept->call.peak = tp_moments_get(moments, kept->peak);
		at->call[i] = kept->call;
	}
}

static void free_at(void *state)
{
	struct tp_memory_at *at = state;

	for (uint32_t p = 0; p < at->run->n_procs; p++) {
		tp_moments_free(&at->proc[p].moments);
		tp_sampled_free(&at->proc[p].sampled);
		free(at->proc[p].open);
		free(at->proc[p].n_calls);
	}
	free(at->proc);
	free(at->kept);
	free(at->call);
}

const struct tp_memory_at_call *tp_memory_at_calls(const struct tp_memory_at *at, uint32_t *n)
{
	*n = at->n_kept;
	return at->call;
}

uint32_t tp_memory_at_open(const struct tp_memory_at *at, uint32_t of_proc)
{
	const struct proc *proc = &at->proc[of_proc];

	return proc->n_open ? proc->open[0].call : TP_MEMORY_AT_NONE;
}

int tp_memory_at_rank(const struct tp_memory_at_call *call)
{
	return call->proc && call->proc->rank > 0 ? call->proc->rank : 0;
}

const char *tp_memory_at_key(char buf[TP_MEMORY_AT_KEY], const struct tp_memory_at *at,
			     const struct tp_memory_at_call *call, bool is_end)
{
	const char *name = call->proc ? tp_names_at(at->names, call->name)->bytes : "";

	snprintf(buf, TP_MEMORY_AT_KEY, "%d.%s.%llu.%s", tp_memory_at_rank(call), name,
		 (unsigned long long)call->number, is_end ? "end" : "start");
	return buf;
}

const char *tp_memory_at_asked(const struct tp_memory_at *at)
{
	return at->asked;
}

const struct tp_names *tp_memory_at_names(const struct tp_memory_at *at)
{
	return at->names;
}

bool tp_memory_at_has_tensors(const struct tp_memory_at *at)
{
	return at->has_tensors;
}

const struct tp_fact tp_fact_memory_at = {
	.name = "memory at ranges",
	.bytes = sizeof(struct tp_memory_at),
	.params_bytes = sizeof(struct tp_memory_at_params),
	.kinds = TP_FACT_ALL_KINDS,
	.is_cut = true,
	.begin = begin_at,
	.event = take_event,
	.end = end_at,
	.free = free_at,
};

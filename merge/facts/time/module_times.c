/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_times.c - what each nn.Module did
 *
 * Each thread has a stack of calls that go on. Whatever tells where the thread is ends those that
 * it is not in any more. A module in which a thread is without a call that was told (it began
 * before the window, or inside a compiled region) has its time, but no call more.
 */
#include "merge/facts/time/module_times.h"

#include <stdlib.h>
#include <string.h>

#include "merge/facts/time/gpu_time.h"
#include "merge/facts/time/launches.h"
#include "merge/kit/grow.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"

struct call {
	uint32_t path;
	int64_t begin_ns, last_ns;	/* end of its last operator, or begin */
	int64_t inner_ns;		/* of the calls inside it */
	uint64_t id;			/* 0: it was not told */
};

struct thread {
	struct call *call;
	uint32_t n, cap;
	uint32_t window;
	const struct tp_proc *proc;
	const struct tp_thread *is;
};

struct proc {
	struct thread *thread;	/* by index in tp_proc.thread */
	uint32_t cap;
};

struct tp_module_times {
	struct tp_origins *origins;
	struct tp_module_paths *paths;	/* of origins */
	struct tp_launches *launches;
	struct tp_launch_notes origin_of; /* of calls: path << 1 | is_backward, plus one */
	struct proc *proc;	/* by tp_proc.at */
	uint32_t n_procs;
	struct tp_module_time *time;	/* by path */
	uint32_t cap_times;
	struct reader {
		tp_module_call_fn each;
		void *ctx;
	} *reader;
	uint32_t n_readers, cap_readers;
	uint64_t n_calls;
	bool has_device, is_incomplete;
};

static struct tp_module_time *time_of(struct tp_module_times *times, uint32_t path)
{
	static struct tp_module_time none;

	if (tp_grow(&times->time, &times->cap_times, (uint64_t)path + 1, sizeof(*times->time)))
		return &times->time[path];
	times->is_incomplete = true;
	return &none;
}

static struct thread *thread_of(struct tp_module_times *times, const struct tp_event *event)
{
	struct proc *proc = &times->proc[event->proc->at];
	uint32_t at = tp_thread_at(event);

	if (at >= proc->cap && !tp_grow(&proc->thread, &proc->cap, (uint64_t)at + 1,
					sizeof(*proc->thread))) {
		times->is_incomplete = true;
		return NULL;
	}
	proc->thread[at].proc = event->proc;
	proc->thread[at].is = event->thread;
	return &proc->thread[at];
}

/* ---- calls ---- */

static void hand_out(struct tp_module_times *times, const struct thread *thread)
{
	const struct call *call = &thread->call[thread->n];
	struct tp_module_call over = {
		.proc = thread->proc, .thread = thread->is, .path = call->path, .id = call->id,
		.begin_ns = call->begin_ns, .end_ns = call->last_ns,
	};

	for (uint32_t i = thread->n; i > 0 && !over.outer_id; i--)
		over.outer_id = thread->call[i - 1].id;
	for (uint32_t i = 0; i < times->n_readers; i++)
		times->reader[i].each(times->reader[i].ctx, &over);
}

static void end_call(struct tp_module_times *times, struct thread *thread)
{
	struct call *call = &thread->call[--thread->n];
	struct tp_module_time *time = time_of(times, call->path);
	int64_t ns;

	/* A nanosecond more: with floating-point times what ends together seems to cross. */
	call->last_ns = tp_add(call->last_ns, 1);
	ns = tp_sub(call->last_ns, call->begin_ns);

	time->total_ns = tp_add(time->total_ns, ns);
	time->self_ns = tp_add(time->self_ns, tp_sub(ns, call->inner_ns));
	if (thread->n) {
		call[-1].inner_ns = tp_add(call[-1].inner_ns, ns);
		if (call[-1].last_ns < call->last_ns)
			call[-1].last_ns = call->last_ns;
	}
	if (call->id && times->n_readers)
		hand_out(times, thread);
}

static void begin_call(struct tp_module_times *times, struct thread *thread, uint32_t path,
		       int64_t now_ns, bool is_told)
{
	if (!tp_grow(&thread->call, &thread->cap, (uint64_t)thread->n + 1, sizeof(*thread->call))) {
		times->is_incomplete = true;
		return;
	}
	thread->call[thread->n++] = (struct call){
		.path = path, .begin_ns = now_ns, .last_ns = now_ns,
		.id = is_told ? ++times->n_calls : 0,
	};
	time_of(times, path)->n_calls += is_told;
}

/* The path and those outside it that are not open yet. */
static void open_path(struct tp_module_times *times, struct thread *thread, uint32_t path,
		      int64_t now_ns, bool is_told)
{
	uint32_t open = thread->n ? thread->call[thread->n - 1].path : 0;
	uint32_t depth = tp_module_paths_at(times->paths, open)->depth;
	uint32_t n = tp_module_paths_at(times->paths, path)->depth - depth;

	for (uint32_t i = 1; i <= n; i++) {
		uint32_t at = path;

		for (uint32_t k = i; k < n; k++)
			at = tp_module_paths_at(times->paths, at)->outer;
		begin_call(times, thread, at, now_ns, is_told && i == n);
	}
}

static void take_stack(struct tp_module_times *times, const struct tp_event *event)
{
	uint32_t path = tp_module_paths_of(times->paths, event);
	bool is_call = event->flags & TP_STACK_CALL && path;
	struct thread *thread = thread_of(times, event);

	if (!thread)
		return;
	if (thread->window != event->window)
		while (thread->n)
			end_call(times, thread);
	thread->window = event->window;
	while (thread->n) {
		uint32_t open = thread->call[thread->n - 1].path;

		if (tp_module_paths_is_outside(times->paths, open, path) &&
		    !(is_call && open == path))
			break;
		end_call(times, thread);
	}
	if (path)
		open_path(times, thread, path, event->begin_ns, is_call);
}

/* ---- what happens in them ---- */

/* What is done in a call makes it last. */
static void take_span(struct tp_module_times *times, const struct tp_event *event)
{
	struct thread *thread = thread_of(times, event);

	if (thread && thread->n && thread->window == event->window &&
	    thread->call[thread->n - 1].last_ns < event->end_ns)
		thread->call[thread->n - 1].last_ns = event->end_ns;
}

static void take_operator(struct tp_module_times *times, const struct tp_event *event)
{
	struct tp_origin origin = tp_origins_of(times->origins, event);
	struct tp_module_time *time = time_of(times, origin.path);

	if (event->flags & TP_F_BACKWARD)
		time->backward_self_ns = tp_add(time->backward_self_ns,
						tp_sub(event->end_ns, event->begin_ns));
	time->n_ops += !origin.is_backward;
	time->n_backward_ops += origin.is_backward;
}

static void take_call(struct tp_module_times *times, const struct tp_event *event)
{
	struct tp_origin origin = tp_origins_of(times->origins, event);

	tp_launch_note(&times->origin_of, event,
		       (origin.path << 1 | origin.is_backward) + 1);
}

static void take_launched(void *ctx, const struct tp_event *event, struct tp_launch_call *call)
{
	struct tp_module_times *times = ctx;
	int64_t ns = tp_sub(event->end_ns, event->begin_ns);
	uint32_t noted = tp_launch_noted(&times->origin_of, call);
	uint32_t origin = noted ? noted - 1 : 0;
	struct tp_module_time *time = time_of(times, origin >> 1);

	times->has_device = true;
	if (origin & 1)
		time->device_backward_self_ns = tp_add(time->device_backward_self_ns, ns);
	else
		time->device_self_ns = tp_add(time->device_self_ns, ns);
}

static void take_event(void *state, const struct tp_event *event)
{
	struct tp_module_times *times = state;

	switch (event->kind) {
	case TP_REC_STACK:
		take_stack(times, event);
		break;
	case TP_REC_OP:
		if (event->flags & TP_F_ASYNC)
			break;
		take_operator(times, event);
		take_span(times, event);
		break;
	case TP_REC_RANGE:
		if (!(event->flags & TP_F_ASYNC))
			take_span(times, event);
		break;
	case TP_REC_CALL:
		take_call(times, event);
		break;
	default:
		break;
	}
}

/* ---- begin and end ---- */

static void begin_times(void *state, struct tp_facts *facts, const struct tp_fact *origins,
			const struct tp_fact *launches)
{
	struct tp_module_times *times = state;

	times->n_procs = tp_facts_run(facts)->n_procs;
	times->proc = tp_need(times->n_procs, sizeof(times->proc[0]));
	times->origins = tp_facts_want(facts, origins, NULL);
	times->launches = tp_facts_want(facts, launches, NULL);
	times->origin_of = tp_launches_notes(times->launches);
	times->paths = tp_origins_paths(times->origins);
	tp_launches_read(times->launches, take_launched, NULL, times);
}

static void begin_whole(void *state, struct tp_facts *facts, const void *params)
{
	begin_times(state, facts, &tp_fact_origins, &tp_fact_launches);
}

static void begin_cut(void *state, struct tp_facts *facts, const void *params)
{
	begin_times(state, facts, &tp_fact_origins_cut, &tp_fact_launches_cut);
}

static void free_times(void *state)
{
	struct tp_module_times *times = state;

	for (uint32_t p = 0; p < times->n_procs; p++) {
		for (uint32_t t = 0; t < times->proc[p].cap; t++)
			free(times->proc[p].thread[t].call);
		free(times->proc[p].thread);
	}
	free(times->proc);
	free(times->time);
	free(times->reader);
}

static void end_times(void *state)
{
	struct tp_module_times *times = state;
	uint32_t n = tp_module_paths_count(times->paths);

	for (uint32_t p = 0; p < times->n_procs; p++) {
		struct proc *proc = &times->proc[p];

		for (uint32_t t = 0; t < proc->cap; t++)
			while (proc->thread[t].n)
				end_call(times, &proc->thread[t]);
	}
	time_of(times, n ? n - 1 : 0);
	for (uint32_t path = 0; path < n && path < times->cap_times; path++) {
		struct tp_module_time *time = &times->time[path];

		time->backward_ns = time->backward_self_ns;
		time->device_ns = time->device_self_ns;
		time->device_backward_ns = time->device_backward_self_ns;
	}
	/* Inner ones have higher numbers. */
	for (uint32_t path = n - 1; path > 0 && path < times->cap_times; path--) {
		const struct tp_module_time *time = &times->time[path];
		uint32_t outer = tp_module_paths_at(times->paths, path)->outer;
		struct tp_module_time *to = &times->time[outer];

		if (!outer)
			continue;
		to->n_ops += time->n_ops;
		to->n_backward_ops += time->n_backward_ops;
		to->backward_ns = tp_add(to->backward_ns, time->backward_ns);
		to->device_ns = tp_add(to->device_ns, time->device_ns);
		to->device_backward_ns = tp_add(to->device_backward_ns, time->device_backward_ns);
	}
}

#define MODULE_TIMES(begin_of, is_cut_too)                                                     \
	{                                                                                      \
		.name = "module times", .bytes = sizeof(struct tp_module_times),               \
		.kinds = TP_FACT_KIND(TP_REC_STACK) | TP_FACT_KIND(TP_REC_OP) |                \
			 TP_FACT_KIND(TP_REC_RANGE) | TP_FACT_KIND(TP_REC_CALL),               \
		.is_cut = is_cut_too, .begin = begin_of, .event = take_event,                  \
		.end = end_times, .free = free_times,                                          \
	}

const struct tp_fact tp_fact_module_times = MODULE_TIMES(begin_whole, false);
const struct tp_fact tp_fact_module_times_cut = MODULE_TIMES(begin_cut, true);

void tp_module_times_read(struct tp_module_times *times, tp_module_call_fn each, void *ctx)
{
	tp_need_room(&times->reader, &times->cap_readers, (uint64_t)times->n_readers + 1,
		     sizeof(*times->reader));
	times->reader[times->n_readers++] = (struct reader){each, ctx};
}

struct tp_origins *tp_module_times_origins(const struct tp_module_times *times)
{
	return times->origins;
}

struct tp_module_paths *tp_module_times_paths(const struct tp_module_times *times)
{
	return times->paths;
}

const struct tp_module_time *tp_module_times_at(const struct tp_module_times *times, uint32_t path)
{
	static const struct tp_module_time none;

	return path < times->cap_times ? &times->time[path] : &none;
}

bool tp_module_times_has_any(const struct tp_module_times *times)
{
	return tp_origins_has_any(times->origins);
}

bool tp_module_times_has_device(const struct tp_module_times *times)
{
	return times->has_device;
}

bool tp_module_times_is_incomplete(const struct tp_module_times *times)
{
	return times->is_incomplete || tp_origins_is_incomplete(times->origins);
}

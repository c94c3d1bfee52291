/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_memory.c - tensor memory of each nn.Module
 *
 * Each thread has a stack of calls that go on, one for the forward and one for the backward pass.
 * Whatever tells where the thread is ends those that it is not in any more. A call has moments
 * (moments.h): where it began, and where most was alive since; who calls it has the same peak as
 * long as that is the largest.
 */
#include "merge/facts/tensor/module_memory.h"

#include <stdlib.h>

#include "merge/kit/grow.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"

struct call {
	uint32_t path, entry, peak;	/* moments */
	uint32_t range;		/* that it began in, of tp_memory_at_calls; TP_MEMORY_AT_NONE */
	int64_t entry_bytes, peak_bytes;
	bool is_told;
};

struct pass {
	struct call *call;
	uint32_t n, cap;
	uint32_t window;
};

struct thread {
	struct pass pass[TP_PASS_N];
	bool has_gone_on;	/* Python has, since the last node of the backward pass */
};

struct proc {
	struct thread *thread;	/* by index in tp_proc.thread */
	uint32_t cap;
	uint32_t n_calls;	/* that go on, of all threads */
	struct tp_moments moments;
	struct tp_live_sum live;
	int64_t last_ns;
};

/* The call with the highest peak, in moments of the process. */
struct best {
	uint64_t n_calls;
	int64_t kept_bytes, peak_bytes;
	uint32_t proc, entry, peak, exit;
};

struct bests {
	struct {
		struct best pass[TP_PASS_N];
	} *of;			/* by path */
	uint32_t cap;
};

struct tp_module_memories {
	const struct tp_run *run;
	const struct tp_memory_at *at;	/* NULL: ranges are not told apart */
	struct tp_origins *origins;
	struct tp_module_paths *paths;	/* of origins */
	struct proc *proc;		/* by tp_proc.at */
	struct bests all;
	struct bests *range;		/* by call of tp_memory_at_calls */
	uint32_t cap_ranges;
	bool has_any, has_categories, is_incomplete;
};

/* ---- calls ---- */

static uint32_t add_moment(struct tp_module_memories *memories, struct proc *proc, int64_t now)
{
	const uint32_t handle = tp_moments_add(&proc->moments, now);

	memories->is_incomplete |= handle == TP_NO_MOMENT;
	return handle;
}

static void begin_call(struct tp_module_memories *memories, struct proc *proc, struct pass *pass,
		       uint32_t path, int64_t now, bool is_told)
{
	uint32_t entry;

	if (!tp_grow(&pass->call, &pass->cap, (uint64_t)pass->n + 1, sizeof(*pass->call))) {
		memories->is_incomplete = true;
		return;
	}
	entry = add_moment(memories, proc, now);
	proc->n_calls++;
	pass->call[pass->n++] = (struct call){
		.range = memories->at ? tp_memory_at_open(memories->at, (uint32_t)(proc - memories->proc))
				      : TP_MEMORY_AT_NONE,
		.path = path, .entry = entry, .peak = tp_moments_use(&proc->moments, entry),
		.entry_bytes = proc->live.bytes, .peak_bytes = proc->live.bytes,
		.is_told = is_told,
	};
}

static void drop_call(struct proc *proc, struct pass *pass)
{
	const struct call *call = &pass->call[--pass->n];

	proc->n_calls--;
	tp_moments_drop(&proc->moments, call->entry);
	tp_moments_drop(&proc->moments, call->peak);
}

/* One more call. The one with the highest peak is kept, and one more user of its moments. */
static bool note_call(struct tp_module_memories *memories, struct bests *bests, uint32_t of_proc,
		      enum tp_module_pass which, const struct call *call, uint32_t *exit, int64_t now)
{
	struct proc *proc = &memories->proc[of_proc];
	struct best *best;

	if (!tp_grow(&bests->of, &bests->cap, (uint64_t)call->path + 1, sizeof(*bests->of)))
		return false;
	best = &bests->of[call->path].pass[which];
	best->kept_bytes = tp_add(best->kept_bytes, tp_sub(proc->live.bytes, call->entry_bytes));
	if (best->n_calls++ && call->peak_bytes <= best->peak_bytes)
		return true;
	if (best->n_calls > 1) {
		struct tp_moments *moments = &memories->proc[best->proc].moments;

		tp_moments_drop(moments, best->entry);
		tp_moments_drop(moments, best->peak);
		tp_moments_drop(moments, best->exit);
	}
	best->proc = of_proc;
	best->peak_bytes = call->peak_bytes;
	best->entry = tp_moments_use(&proc->moments, call->entry);
	best->peak = tp_moments_use(&proc->moments, call->peak);
	best->exit = tp_moments_share(&proc->moments, exit, now);
	memories->is_incomplete |= best->exit == TP_NO_MOMENT;
	return true;
}

static void end_call(struct tp_module_memories *memories, uint32_t of_proc, struct pass *pass,
		     enum tp_module_pass which, int64_t now)
{
	struct proc *proc = &memories->proc[of_proc];
	const struct call call = pass->call[pass->n - 1];
	const uint32_t range = call.range;
	uint32_t exit = TP_NO_MOMENT;
	bool is_noted = !call.is_told ||
			note_call(memories, &memories->all, of_proc, which, &call, &exit, now);

	if (call.is_told && range != TP_MEMORY_AT_NONE)
		is_noted &= tp_grow(&memories->range, &memories->cap_ranges, (uint64_t)range + 1,
				    sizeof(*memories->range)) &&
			    note_call(memories, &memories->range[range], of_proc, which, &call, &exit, now);
	memories->is_incomplete |= !is_noted;
	drop_call(proc, pass);
}

/* A thread is in `path` now, by a call of it or without one: what it is not in any more is over. */
static void go_to(struct tp_module_memories *memories, uint32_t of_proc, struct pass *pass,
		  enum tp_module_pass which, uint32_t path, int64_t now, bool is_call)
{
	struct proc *proc = &memories->proc[of_proc];
	uint32_t open, n;

	while (pass->n) {
		open = pass->call[pass->n - 1].path;
		if (tp_module_paths_is_outside(memories->paths, open, path) &&
		    !(is_call && open == path))
			break;
		end_call(memories, of_proc, pass, which, now);
	}
	open = pass->n ? pass->call[pass->n - 1].path : 0;
	n = tp_module_paths_at(memories->paths, path)->depth -
	    tp_module_paths_at(memories->paths, open)->depth;
	for (uint32_t i = 1; path && i <= n; i++) {
		uint32_t at = path;

		for (uint32_t k = i; k < n; k++)
			at = tp_module_paths_at(memories->paths, at)->outer;
		begin_call(memories, proc, pass, at, now,
			   which == TP_PASS_BACKWARD || (is_call && i == n));
	}
}

/* ---- what is alive ---- */

static void take_life(void *ctx, const struct tp_life *life)
{
	struct tp_module_memories *memories = ctx;

	tp_moments_life(&memories->proc[life->proc->at].moments, life);
	memories->has_categories |= life->category == TP_TENSOR_PARAMETER ||
				    life->category == TP_TENSOR_SHARDED_PARAMETER;
}

/* Calls whose peak this is now: the innermost ones' peaks are the least. */
static void raise_peaks(struct proc *proc, struct pass *pass, uint32_t *moment, int64_t now)
{
	for (uint32_t i = pass->n; i-- > 0 && pass->call[i].peak_bytes < proc->live.bytes;) {
		struct call *call = &pass->call[i];

		tp_moments_drop(&proc->moments, call->peak);
		call->peak = tp_moments_share(&proc->moments, moment, now);
		call->peak_bytes = proc->live.bytes;
	}
}

/* Live bytes of the process: what all its devices have. */
static void take_live(void *ctx, const struct tp_event *event, uint32_t device, int64_t bytes)
{
	struct tp_module_memories *memories = ctx;
	struct proc *proc = &memories->proc[event->proc->at];
	uint32_t moment = TP_NO_MOMENT, n_left = proc->n_calls;

	memories->has_any = true;
	tp_live_sum_set(&proc->live, device, bytes);
	for (uint32_t t = 0; n_left && t < proc->cap; t++)
		for (uint32_t p = 0; p < TP_PASS_N; p++) {
			n_left -= proc->thread[t].pass[p].n;
			raise_peaks(proc, &proc->thread[t].pass[p], &moment, event->begin_ns);
		}
}

/* ---- events ---- */

/* NULL: out of memory. */
static struct thread *thread_of(struct tp_module_memories *memories, const struct tp_event *event)
{
	struct proc *proc = &memories->proc[event->proc->at];
	uint32_t at = tp_thread_at(event);

	if (at >= proc->cap && !tp_grow(&proc->thread, &proc->cap, (uint64_t)at + 1,
					sizeof(*proc->thread))) {
		memories->is_incomplete = true;
		return NULL;
	}
	return &proc->thread[at];
}

/* What is open when nothing more comes of its window ends with that. */
static void end_window(struct tp_module_memories *memories, uint32_t of_proc)
{
	struct proc *proc = &memories->proc[of_proc];

	for (uint32_t t = 0; t < proc->cap; t++)
		for (uint32_t p = 0; p < TP_PASS_N; p++)
			go_to(memories, of_proc, &proc->thread[t].pass[p], p, 0, proc->last_ns,
			      false);
	proc->live = (struct tp_live_sum){.n = 0};
}

static void take_stack(struct tp_module_memories *memories, const struct tp_event *event)
{
	const struct tp_origin origin = tp_origins_of(memories->origins, event);
	struct thread *thread = thread_of(memories, event);

	if (!thread || origin.is_backward)
		return;
	thread->has_gone_on = true;
	go_to(memories, event->proc->at, &thread->pass[TP_PASS_FORWARD], TP_PASS_FORWARD,
	      origin.path, event->begin_ns, event->flags & TP_STACK_CALL && origin.path);
}

/* A thread that calls modules waits for those that only do backward passes: they have ended. */
static void end_backward(struct tp_module_memories *memories, const struct tp_event *event,
			 const struct thread *caller)
{
	struct proc *proc = &memories->proc[event->proc->at];

	for (uint32_t t = 0; t < proc->cap; t++) {
		struct thread *thread = &proc->thread[t];

		if (thread == caller ? thread->has_gone_on : !thread->pass[TP_PASS_FORWARD].cap)
			go_to(memories, event->proc->at, &thread->pass[TP_PASS_BACKWARD],
			      TP_PASS_BACKWARD, 0, event->begin_ns, false);
	}
}

/* A node of no module, as those that add up gradients, belongs to the one before it; so does what
 * autograd does between nodes. */
static void take_operator(struct tp_module_memories *memories, const struct tp_event *event)
{
	const struct tp_origin origin = tp_origins_of(memories->origins, event);
	struct thread *thread = thread_of(memories, event);

	if (!thread)
		return;
	if (event->flags & TP_F_BACKWARD) {
		thread->has_gone_on = false;
		if (origin.path)
			go_to(memories, event->proc->at, &thread->pass[TP_PASS_BACKWARD],
			      TP_PASS_BACKWARD, origin.path, event->begin_ns, false);
	} else if (!origin.is_backward && thread->pass[TP_PASS_FORWARD].cap &&
		   tp_origins_is_outermost(memories->origins, event)) {
		end_backward(memories, event, thread);
	}
}

/* A thread that does nothing but backward passes. */
static void take_step(struct tp_module_memories *memories, const struct tp_event *event)
{
	struct proc *proc = &memories->proc[event->proc->at];

	for (uint32_t t = 0; t < proc->cap; t++)
		go_to(memories, event->proc->at, &proc->thread[t].pass[TP_PASS_BACKWARD],
		      TP_PASS_BACKWARD, 0, event->begin_ns, false);
}

static void end_of_window(void *ctx, uint32_t proc)
{
	end_window(ctx, proc);
}

static void take_event(void *state, const struct tp_event *event)
{
	struct tp_module_memories *memories = state;
	struct proc *proc = &memories->proc[event->proc->at];

	proc->last_ns = event->begin_ns;
	switch (event->kind) {
	case TP_REC_STACK:
		take_stack(memories, event);
		break;
	case TP_REC_OP:
		if (!(event->flags & TP_F_ASYNC))
			take_operator(memories, event);
		break;
	case TP_REC_STEP:
		take_step(memories, event);
		break;
	default:
		break;
	}
}

/* ---- begin and end ---- */

static void begin_memories(void *state, struct tp_facts *facts, const void *params)
{
	static const struct tp_memcat_calls calls = {
		.live = take_live, .life = take_life, .window = end_of_window,
	};
	struct tp_module_memories *memories = state;

	memories->run = tp_facts_run(facts);
	if (params)
		memories->at = tp_facts_want(facts, &tp_fact_memory_at, params);
	memories->origins = tp_facts_want(facts, &tp_fact_origins_cut, NULL);
	memories->paths = tp_origins_paths(memories->origins);
	memories->proc = tp_need(memories->run->n_procs, sizeof(*memories->proc));
	tp_memcat_read(tp_facts_want(facts, &tp_fact_memcat, NULL), &calls, memories);
}

static void end_memories(void *state)
{
	struct tp_module_memories *memories = state;

	for (uint32_t p = 0; p < memories->run->n_procs; p++)
		tp_moments_end(&memories->proc[p].moments);
}

static void free_memories(void *state)
{
	struct tp_module_memories *memories = state;

	for (uint32_t p = 0; p < memories->run->n_procs; p++) {
		struct proc *proc = &memories->proc[p];

		for (uint32_t t = 0; t < proc->cap; t++)
			for (uint32_t k = 0; k < TP_PASS_N; k++)
				free(proc->thread[t].pass[k].call);
		free(proc->thread);
		tp_moments_free(&proc->moments);
	}
	free(memories->proc);
	free(memories->all.of);
	for (uint32_t i = 0; i < memories->cap_ranges; i++)
		free(memories->range[i].of);
	free(memories->range);
}

#define MODULE_MEMORIES(what, bytes_of_params)                                                 \
	{                                                                                      \
		.name = what, .bytes = sizeof(struct tp_module_memories),                      \
		.params_bytes = bytes_of_params, .kinds = TP_FACT_ALL_KINDS, .is_cut = true,   \
		.begin = begin_memories, .event = take_event, .end = end_memories,             \
		.free = free_memories,                                                         \
	}

const struct tp_fact tp_fact_module_memories = MODULE_MEMORIES("tensor memory by module", 0);
const struct tp_fact tp_fact_module_memories_at =
	MODULE_MEMORIES("tensor memory by module and range", sizeof(struct tp_memory_at_params));

static struct tp_module_memory get_best(const struct tp_module_memories *memories, const struct bests *bests,
					uint32_t path, enum tp_module_pass pass)
{
	const struct best *best = path < bests->cap ? &bests->of[path].pass[pass] : NULL;
	const struct tp_moments *moments;

	if (!best || !best->n_calls)
		return (struct tp_module_memory){.n_calls = 0};
	moments = &memories->proc[best->proc].moments;
	return (struct tp_module_memory){
		.n_calls = best->n_calls, .kept_bytes = best->kept_bytes,
		.entry = tp_moments_get(moments, best->entry),
		.peak = tp_moments_get(moments, best->peak),
		.exit = tp_moments_get(moments, best->exit),
		.entry_ns = tp_moments_ns(moments, best->entry),
		.peak_ns = tp_moments_ns(moments, best->peak),
		.exit_ns = tp_moments_ns(moments, best->exit),
	};
}

struct tp_module_memory tp_module_memories_at(const struct tp_module_memories *memories,
					      uint32_t path, enum tp_module_pass pass)
{
	return get_best(memories, &memories->all, path, pass);
}

struct tp_module_memory tp_module_memories_in(const struct tp_module_memories *memories, uint32_t call,
					      uint32_t path, enum tp_module_pass pass)
{
	if (call >= memories->cap_ranges)
		return (struct tp_module_memory){.n_calls = 0};
	return get_best(memories, &memories->range[call], path, pass);
}

const struct tp_module_paths *tp_module_memories_paths(const struct tp_module_memories *memories)
{
	return memories->paths;
}

bool tp_module_memories_has_any(const struct tp_module_memories *memories)
{
	return memories->has_any;
}

bool tp_module_memories_has_categories(const struct tp_module_memories *memories)
{
	return memories->has_categories;
}

bool tp_module_memories_is_incomplete(const struct tp_module_memories *memories)
{
	return memories->is_incomplete;
}

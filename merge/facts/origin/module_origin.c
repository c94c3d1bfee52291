/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_origin.c - where in the program an event comes from
 */
#include "merge/facts/origin/module_origin.h"

#include <stdlib.h>
#include <string.h>

#include "merge/facts/origin/links.h"
#include "merge/kit/grow.h"
#include "merge/kit/need.h"

/* A node of the backward pass that has not ended. */
struct node {
	int64_t end_ns;
	struct tp_origin origin, outside;	/* outside: its thread's, when it began */
};

struct thread {
	struct tp_origin now;	/* as its last STACK said */
	uint32_t window;
	int64_t op_end_ns;	/* of its last outermost operator */
	struct node *node;
	uint32_t n_nodes, cap_nodes;
};

struct proc {
	struct thread *thread;	/* by index in tp_proc.thread */
	uint32_t cap;
};

struct tp_origins {
	struct tp_stacks *stacks;
	struct tp_module_paths *paths;
	struct tp_links links;
	struct proc *proc;	/* by tp_proc.at */
	uint32_t n_procs;
	bool has_any, is_incomplete;
	bool is_outermost;	/* the last operator */
	struct answer {		/* the last one: many ask about the same event */
		const struct tp_proc *proc;	/* NULL: something has happened since */
		const struct tp_thread *thread;
		uint32_t window;
		int64_t begin_ns;
		struct tp_origin origin;
	} last;
};

static void begin_origins(void *state, struct tp_facts *facts, const void *params)
{
	const struct tp_run *run = tp_facts_run(facts);
	struct tp_origins *origins = state;

	origins->n_procs = run->n_procs;
	origins->proc = tp_need(run->n_procs, sizeof(origins->proc[0]));
	origins->stacks = tp_facts_want(facts, &tp_fact_stacks, NULL);
	origins->paths = tp_module_paths_new(run);
	if (tp_links_init(&origins->links, run) || !origins->paths)
		tp_need_failed();
}

static void free_origins(void *state)
{
	struct tp_origins *origins = state;

	for (uint32_t p = 0; p < origins->n_procs; p++) {
		for (uint32_t t = 0; t < origins->proc[p].cap; t++)
			free(origins->proc[p].thread[t].node);
		free(origins->proc[p].thread);
	}
	free(origins->proc);
	tp_links_free(&origins->links);
	tp_module_paths_free(origins->paths);
}

static bool is_same(struct tp_origin a, struct tp_origin b)
{
	return a.stack == b.stack && a.path == b.path;
}

/* NULL: out of memory. What a thread told in one window says nothing about another one. */
static struct thread *thread_of(struct tp_origins *origins, const struct tp_event *event)
{
	struct proc *proc = &origins->proc[event->proc->at];
	uint32_t at = tp_thread_at(event);
	struct thread *thread;

	if (at >= proc->cap &&
	    !tp_grow(&proc->thread, &proc->cap, (uint64_t)at + 1, sizeof(*thread))) {
		origins->is_incomplete = true;
		return NULL;
	}
	thread = &proc->thread[at];
	if (thread->window != event->window) {
		thread->window = event->window;
		thread->now = (struct tp_origin){0};
	}
	while (thread->n_nodes && thread->node[thread->n_nodes - 1].end_ns <= event->begin_ns)
		thread->n_nodes--;
	return thread;
}

static inline struct tp_origin origin_of(const struct thread *thread)
{
	const struct node *node = thread->n_nodes ? &thread->node[thread->n_nodes - 1] : NULL;
	struct tp_origin origin = thread->now;

	if (node && is_same(node->outside, thread->now))
		return node->origin;
	origin.is_backward = node != NULL;
	return origin;
}

static void take_stack(struct tp_origins *origins, const struct tp_event *event)
{
	struct thread *thread = thread_of(origins, event);

	origins->has_any = true;
	if (!thread)
		return;
	thread->now.path = tp_module_paths_of(origins->paths, event);
	thread->now.stack = tp_stacks_of(origins->stacks, event);
}

/* A node of the backward pass begins; it may be made by none that is known. */
static void take_node(struct tp_origins *origins, const struct tp_event *event)
{
	const struct tp_link_op *made_by = tp_links_backward(&origins->links, event);
	struct thread *thread = thread_of(origins, event);
	struct node *node;

	if (!thread)
		return;
	if (!tp_grow(&thread->node, &thread->cap_nodes, (uint64_t)thread->n_nodes + 1,
		     sizeof(*node))) {
		origins->is_incomplete = true;
		return;
	}
	node = &thread->node[thread->n_nodes++];
	*node = (struct node){
		.end_ns = event->end_ns, .outside = thread->now,
		.origin = {.is_backward = true},
	};
	if (made_by) {
		node->origin.stack = made_by->stack;
		node->origin.path = made_by->path;
	}
}

static void note_outermost(struct tp_origins *origins, const struct tp_event *event)
{
	struct thread *thread = thread_of(origins, event);

	origins->is_outermost = thread && event->begin_ns >= thread->op_end_ns;
	if (origins->is_outermost)
		thread->op_end_ns = event->end_ns;
}

static void take_event(void *state, const struct tp_event *event)
{
	struct tp_origins *origins = state;
	const struct thread *thread;
	struct tp_origin origin;

	origins->last.proc = NULL;
	switch (event->kind) {
	case TP_REC_FRAME:
		tp_module_paths_event(origins->paths, event);
		return;
	case TP_REC_NNMODULE:
		tp_module_paths_event(origins->paths, event);
		return;
	case TP_REC_STACK:
		take_stack(origins, event);
		return;
	case TP_REC_OP:
		break;
	default:
		return;
	}
	origins->is_outermost = false;
	if (event->flags & TP_F_ASYNC)
		return;
	note_outermost(origins, event);
	if (event->flags & TP_F_BACKWARD) {
		take_node(origins, event);
	} else {
		thread = thread_of(origins, event);
		origin = thread ? origin_of(thread) : (struct tp_origin){0};
		tp_links_forward_of(&origins->links, event, origin.stack, origin.path);
	}
}

struct tp_origin tp_origins_of(struct tp_origins *origins, const struct tp_event *event)
{
	struct answer *last = &origins->last;
	const struct thread *thread;

	if (last->proc == event->proc && last->thread == event->thread &&
	    last->begin_ns == event->begin_ns && last->window == event->window)
		return last->origin;
	thread = thread_of(origins, event);
	last->proc = event->proc;
	last->thread = event->thread;
	last->window = event->window;
	last->begin_ns = event->begin_ns;
	last->origin = thread ? origin_of(thread) : (struct tp_origin){0};
	return last->origin;
}

bool tp_origins_is_outermost(const struct tp_origins *origins, const struct tp_event *event)
{
	return event->kind == TP_REC_OP && origins->is_outermost;
}

struct tp_stacks *tp_origins_stacks(const struct tp_origins *origins)
{
	return origins->stacks;
}

struct tp_module_paths *tp_origins_paths(const struct tp_origins *origins)
{
	return origins->paths;
}

bool tp_origins_has_any(const struct tp_origins *origins)
{
	return origins->has_any;
}

bool tp_origins_is_incomplete(const struct tp_origins *origins)
{
	return origins->is_incomplete || tp_module_paths_is_incomplete(origins->paths);
}

#define ORIGINS(is_cut_too)                                                                    \
	{                                                                                      \
		.name = "origins", .bytes = sizeof(struct tp_origins),                         \
		.kinds = TP_FACT_KIND(TP_REC_FRAME) | TP_FACT_KIND(TP_REC_NNMODULE) |          \
			 TP_FACT_KIND(TP_REC_STACK) | TP_FACT_KIND(TP_REC_OP),                 \
		.is_cut = is_cut_too, .begin = begin_origins, .event = take_event,             \
		.free = free_origins,                                                          \
	}

const struct tp_fact tp_fact_origins = ORIGINS(false);
const struct tp_fact tp_fact_origins_cut = ORIGINS(true);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_tree.c - the calls of a run as one tree: a node is a path (paths.h) of what is called
 */
#include <stdlib.h>
#include <string.h>

#include "merge/facts/code/call_tree_in.h"
#include "merge/kit/grow.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"

enum {
	/* Nodes and works: so many a process, and all together no more and no fewer than these. */
	NODES_OF_PROC = 1 << 15,
	NODES_LEAST = 1 << 17,
	NODES_MAX = 1 << 19,
	/* A row of the paths: the kind of a node above its value. */
	VALUE_BITS = 29,
	VALUE_MASK = (1 << VALUE_BITS) - 1,
};

/* ---- nodes ---- */

static uint32_t row_of(enum tp_call_kind kind, uint32_t value)
{
	return (uint32_t)kind << VALUE_BITS | (value & VALUE_MASK);
}

/* The node below `parent`, with Python's `stack`; the parent itself when there is no room. */
static uint32_t child_of(struct tp_call_tree *tree, uint32_t parent, uint32_t row, uint32_t stack)
{
	uint32_t n = tree->paths.n, node;

	tree->paths.most = tree->most - tree->n_works;
	node = tp_paths_child(&tree->paths, parent, row);
	if (node == TP_NO_PATH ||
	    !tp_grow(&tree->node, &tree->cap_nodes, (uint64_t)tree->paths.n + 1,
		     sizeof(*tree->node))) {
		/* A full tree loses no time, it tells less of it. */
		tree->is_full = true;
		tree->is_incomplete |= !parent || n < tree->paths.most;
		return parent;
	}
	if (node >= n)
		tree->node[node] = (struct tp_call_node){
			.parent = parent, .value = row & VALUE_MASK, .stack = stack,
			.works_before = tree->n_works, .kind = row >> VALUE_BITS,
		};
	return node;
}

static uint32_t span_below(struct tp_call_tree *tree, uint32_t parent, uint32_t name)
{
	return child_of(tree, parent, row_of(TP_CALL_SPAN, name), tree->node[parent].stack);
}

/* The first thread of its name in its process. */
static uint32_t number_of_thread(const struct tp_event *event)
{
	const struct tp_proc *proc = event->proc;

	for (uint32_t i = 0; i < proc->n_threads; i++)
		if (proc->thread[i].is_main == event->thread->is_main &&
		    (event->thread->is_main || !strcmp(proc->thread[i].name, event->thread->name)))
			return i;
	return 0;
}

/* The node of the event's thread; 0: there is no room. */
static uint32_t thread_of(struct tp_call_tree *tree, const struct tp_event *event)
{
	uint32_t node = child_of(tree, 0, row_of(TP_CALL_PROCESS, event->proc->at), 0);

	return node ? child_of(tree, node, row_of(TP_CALL_THREAD, number_of_thread(event)), 0) : 0;
}

/* Frames of Python below a node. Most stand below their thread's: those are kept by stack, for
 * there are many, and each comes again and again. */
static uint32_t python_below(struct tp_call_tree *tree, uint32_t parent, enum tp_call_kind kind,
			     uint32_t stack)
{
	uint32_t row = row_of(kind, stack), node;
	struct tp_call_python *known;

	tp_need_room(&tree->python, &tree->cap_python, (uint64_t)stack + 1, sizeof(*known));
	known = &tree->python[stack];
	if (known->row == row && known->parent == parent)
		return known->node;
	node = child_of(tree, parent, row, stack);
	/* Not the parent itself, for want of room. */
	if (node != parent)
		*known = (struct tp_call_python){.parent = parent, .row = row, .node = node};
	return node;
}

/* Where the time of work is counted that the calls of a node started. */
static int64_t *work_of(struct tp_call_tree *tree, uint32_t node, uint32_t name)
{
	uint32_t hash = tp_keyed_hash((uint64_t)node << 32 | name), at, i;

	for (i = tp_keyed_first(&tree->works, hash, &at); i != TP_NO_KEYED;
	     i = tp_keyed_next(&tree->works, hash, &at))
		if (tree->work[i].node == node && tree->work[i].name == name)
			return &tree->work[i].ns;
	/* Nodes and works share the room. */
	if (tree->paths.n + tree->n_works >= tree->most ||
	    !tp_grow(&tree->work, &tree->cap_works, (uint64_t)tree->n_works + 1,
		     sizeof(*tree->work)) ||
	    !tp_keyed_add(&tree->works, hash, tree->n_works)) {
		tree->is_full = true;
		tree->is_incomplete |= tree->paths.n + tree->n_works < tree->most;
		return &tree->node[node].ns[TP_TIME_DEVICE];
	}
	tree->work[tree->n_works] = (struct tp_call_work){.node = node, .name = name};
	return &tree->work[tree->n_works++].ns;
}

/* ---- events ---- */

static void close_span(void *ctx, const struct tp_nest_span *span)
{
	struct tp_call_tree *tree = ctx;
	uint32_t at = tree->open[span->slot];
	struct tp_call_node *node = &tree->node[at];

	if (!at)
		return;
	node->calls++;
	node->ns[TP_TIME_HOST] = tp_add(node->ns[TP_TIME_HOST], tp_nest_self_ns(span));
}

/* The node of a span; 0: there is no room. */
static uint32_t node_of(struct tp_call_tree *tree, const struct tp_event *event,
			const struct tp_nest_span *span)
{
	uint32_t node = span->depth ? tree->open[span[-1].slot] : 0;
	struct tp_origin origin;

	if (!node)
		node = thread_of(tree, event);
	origin = tp_origins_of(tree->origins, event);
	if (node && origin.stack && origin.stack != tree->node[node].stack)
		node = python_below(tree, node,
				    origin.is_backward ? TP_CALL_BACKWARD : TP_CALL_PYTHON, origin.stack);
	return node ? span_below(tree, node, span->name) : 0;
}

static void take_span(void *state, const struct tp_event *event)
{
	struct tp_call_tree *tree = state;
	const struct tp_nest_span *span = tp_spans_now(tree->spans);
	uint32_t node;

	if (!span)
		return;
	node = node_of(tree, event, span);
	tp_need_room(&tree->open, &tree->cap_open, (uint64_t)span->slot + 1, sizeof(*tree->open));
	tree->open[span->slot] = node;
	if (event->kind == TP_REC_CALL)
		tp_launch_note(&tree->node_of, event, node);
}

static void take_launched(void *ctx, const struct tp_event *event, struct tp_launch_call *call)
{
	struct tp_call_tree *tree = ctx;
	uint32_t name = tp_names_row(tree->names, event), node;
	int64_t *ns;

	node = tp_launch_noted(&tree->node_of, call);
	if (!node)
		node = child_of(tree, 0, row_of(TP_CALL_UNKNOWN, event->proc->at), 0);
	if (!node || name == TP_NO_NAME)
		return;
	ns = work_of(tree, node, name);
	*ns = tp_add(*ns, event->end_ns - event->begin_ns);
}

static uint32_t most_of(uint32_t n_procs)
{
	return n_procs >= NODES_MAX / NODES_OF_PROC	 ? NODES_MAX
	       : n_procs <= NODES_LEAST / NODES_OF_PROC ? NODES_LEAST
							: n_procs * NODES_OF_PROC;
}

static void begin_tree(void *state, struct tp_facts *facts, const void *params)
{
	struct tp_call_tree *tree = state;

	tree->run = tp_facts_run(facts);
	tree->most = most_of(tree->run->n_procs);
	tp_need_room(&tree->node, &tree->cap_nodes, 1, sizeof(*tree->node));
	tree->origins = tp_facts_want(facts, &tp_fact_origins_cut, NULL);
	tree->launches = tp_facts_want(facts, &tp_fact_launches_cut, NULL);
	tree->node_of = tp_launches_notes(tree->launches);
	tree->spans = tp_facts_want(facts, &tp_fact_spans, NULL);
	tree->names = tp_spans_names(tree->spans);
	tp_spans_read(tree->spans, close_span, tree);
	tp_launches_read(tree->launches, take_launched, NULL, tree);
}

static void free_tree(void *state)
{
	struct tp_call_tree *tree = state;

	for (uint32_t i = 0; tree->title && i < tree->n_titles; i++)
		free(tree->title[i]);
	free(tree->title);
	tp_paths_free(&tree->paths);
	tp_keyed_free(&tree->works);
	free(tree->work);
	free(tree->row);
	free(tree->row_of);
	free(tree->open);
	free(tree->python);
	free(tree->node);
}

const struct tp_fact tp_fact_call_tree = {
	.name = "calls as a tree",
	.bytes = sizeof(struct tp_call_tree),
	.kinds = TP_FACT_KIND(TP_REC_OP) | TP_FACT_KIND(TP_REC_RANGE) | TP_FACT_KIND(TP_REC_CALL),
	.is_cut = true,
	.begin = begin_tree,
	.event = take_span,
	.free = free_tree,
};

const struct tp_call_node *tp_call_tree_nodes(const struct tp_call_tree *tree, uint32_t *n)
{
	*n = tree->paths.n;
	return tree->node;
}

const struct tp_call_work *tp_call_tree_works(const struct tp_call_tree *tree, uint32_t *n)
{
	*n = tree->n_works;
	return tree->work;
}

struct tp_names *tp_call_tree_names(const struct tp_call_tree *tree)
{
	return tree->names;
}

bool tp_call_tree_is_full(const struct tp_call_tree *tree)
{
	return tree->is_full;
}

bool tp_call_tree_is_incomplete(const struct tp_call_tree *tree)
{
	return tree->is_incomplete || tp_origins_is_incomplete(tree->origins);
}

bool tp_call_tree_has_python(const struct tp_call_tree *tree)
{
	return tp_origins_has_any(tree->origins);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_tree.h - the calls of a run as one tree, with what each costs in time: processes, their threads,
 * Python's frames, the operators that they call, the calls and the device work that those start
 *
 * A span's own time is the host's without the spans inside it; of a device, the time of each
 * piece of work. Threads of one name are one: a backward pass has as many as there are devices.
 * Two read it: flame graphs of stacks (tp_call_stacks), without threads, and the page's graph of
 * operators, without Python's frames. One thread.
 *
 * Memory: distinct nodes, up to a limit beyond which a span counts for the one around it.
 */
#ifndef TP_MERGE_CALL_TREE_H
#define TP_MERGE_CALL_TREE_H

#include "merge/facts/time/flame.h"
#include "merge/facts/time/names.h"

enum { TP_TIME_HOST, TP_TIME_DEVICE, TP_TIME_COSTS };

enum tp_call_kind {	/* value */
	TP_CALL_PROCESS,	/* its number */
	TP_CALL_UNKNOWN,	/* the same: its work whose call is not known */
	TP_CALL_THREAD,		/* its number in the process, of several the first */
	TP_CALL_SPAN,		/* a row of tp_call_tree_names */
	TP_CALL_PYTHON,		/* frames: a stack of the origins */
	TP_CALL_BACKWARD,	/* the same, of the forward operator: stands for those of the process */
};

struct tp_call_node {
	uint32_t parent;		/* less than its own number; 0: none, it is of a process */
	uint32_t kind : 3;		/* enum tp_call_kind */
	uint32_t value : 29;
	uint32_t stack;			/* of Python, the innermost of the path; 0: none */
	uint32_t works_before;		/* work that was met before it */
	uint64_t calls;			/* of spans */
	/* Without the nodes below it and their work; of a device what had no room as work. */
	int64_t ns[TP_TIME_COSTS];
};

/* What a device did for the calls of a node. */
struct tp_call_work {
	uint32_t node, name;		/* a row of tp_call_tree_names */
	int64_t ns;
};

struct tp_call_tree;

extern const struct tp_fact tp_fact_call_tree;

/* From [1] on; n counts [0], too. When the pass is over. */
const struct tp_call_node *tp_call_tree_nodes(const struct tp_call_tree *tree, uint32_t *n);
const struct tp_call_work *tp_call_tree_works(const struct tp_call_tree *tree, uint32_t *n);
struct tp_names *tp_call_tree_names(const struct tp_call_tree *tree);
/* Spans that had no room count for those around them. */
bool tp_call_tree_is_full(const struct tp_call_tree *tree);
/* Time is missing: memory is out. */
bool tp_call_tree_is_incomplete(const struct tp_call_tree *tree);
/* Frames of Python are among them: without, stacks are of operators only. */
bool tp_call_tree_has_python(const struct tp_call_tree *tree);

/* The tree as stacks, with names of functions; no rows: none were recorded, or memory is out. Made
 * when first asked for, after the pass. */
const struct tp_flame_rows *tp_call_stacks(struct tp_call_tree *tree);

#endif

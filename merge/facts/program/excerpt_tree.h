/* SPDX-License-Identifier: Apache-2.0 */
/*
 * excerpt_tree.h - the rows of an excerpt folded so that they fit a screen: a tree in order of time
 *
 * What is alike and follows one another is one node; what lies inside is that of the longest of
 * them. What is all that its outer one did is shown with it. A stream's work lies below the
 * calls that started it; each device has its busy and idle times beside. The nodes with most
 * time are shown; what lies in one has no more time than it.
 *
 * Memory: a node for a row at most.
 */
#ifndef TP_MERGE_EXCERPT_TREE_H
#define TP_MERGE_EXCERPT_TREE_H

#include "merge/facts/program/excerpt.h"
#include "merge/kit/sum.h"

enum tp_node_kind {
	TP_NODE_LANE,	/* a thread, what is apart, a device */
	TP_NODE_ROWS,
	TP_NODE_BACKWARD, /* n nodes of autograd, one after another */
	TP_NODE_BUSY,	/* of a device: n pieces of work, without a gap that counts */
	TP_NODE_IDLE,	/* nothing ran */
};

struct tp_excerpt_node {
	uint8_t kind;
	bool is_shown;
	bool is_joined;		/* it is all that its outer one did: shown with that, in one line */
	uint32_t row;		/* LANE: its first; ROWS, BUSY: the longest; IDLE: the innermost that the
				 * host was in for half of the time, or TP_EXCERPT_NONE */
	uint32_t n;		/* rows it stands for */
	uint32_t first_row, last_row;
	int64_t begin_ns;
	int64_t ns, longest_ns;	/* sum; BUSY: how long it lasted */
	int64_t device_ns;	/* LANE of a device: how long anything ran */
	int64_t weight_ns;	/* inside the step */
	uint32_t outer;		/* TP_EXCERPT_NONE: a lane */
	uint32_t first, n_inner, n_shown;
};

struct tp_excerpt_tree {
	const struct tp_excerpt_step *step;
	const struct tp_excerpt_row *row;	/* of the whole excerpt */
	const struct tp_module_paths *paths;
	struct tp_excerpt_node *node;		/* outer ones first, those of one place together */
	uint32_t n_nodes, cap_nodes, n_lanes;
	/* Of the step's rows, less step->first: lists of what lies in each, and in each thread. */
	uint32_t *first_in, *last_in, *next;
	bool is_incomplete;			/* out of memory */
};

void tp_excerpt_tree_make(struct tp_excerpt_tree *tree, const struct tp_excerpt *excerpt,
			  uint32_t step);
void tp_excerpt_tree_free(struct tp_excerpt_tree *tree);
/* So many lines at most (0: all), of nodes that last as long as that at least. */
void tp_excerpt_tree_choose(struct tp_excerpt_tree *tree, uint32_t lines, int64_t least_ns);

/* For excerpt_idle.c: a node behind all others. NULL: out of memory. */
struct tp_excerpt_node *tp_excerpt_tree_add(struct tp_excerpt_tree *tree, uint32_t outer);
/* The device's times: nodes in lane `lane`, whose rows are [first, end). */
void tp_excerpt_idle(struct tp_excerpt_tree *tree, uint32_t lane, uint32_t first, uint32_t end);

/* The node that is joined to it and shown; NULL: none. */
const struct tp_excerpt_node *tp_excerpt_tree_joined(const struct tp_excerpt_tree *tree,
						     const struct tp_excerpt_node *node);

/* Nanoseconds of [begin, end) in the step. */
static inline int64_t tp_excerpt_inside(const struct tp_excerpt_step *step, int64_t begin_ns,
					int64_t end_ns)
{
	int64_t begin = begin_ns > step->begin_ns ? begin_ns : step->begin_ns;
	int64_t end = end_ns < step->end_ns ? end_ns : step->end_ns;

	return end > begin ? tp_sub(end, begin) : 0;
}

#endif

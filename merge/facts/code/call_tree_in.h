/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_tree_in.h - the inside of a call tree, for call_tree.c (its nodes) and call_stacks.c (the same as
 * stacks) only
 */
#ifndef TP_MERGE_CALL_TREE_IN_H
#define TP_MERGE_CALL_TREE_IN_H

#include "merge/facts/code/call_tree.h"
#include "merge/facts/origin/module_origin.h"
#include "merge/facts/time/launches.h"
#include "merge/facts/time/paths.h"
#include "merge/facts/time/spans.h"
#include "merge/kit/keyed.h"

struct tp_call_tree {
	struct tp_origins *origins;
	struct tp_names *names;
	struct tp_spans *spans;
	uint32_t *open;		/* the node of an open span, by tp_nest_span.slot; 0: none */
	uint32_t cap_open;
	struct tp_launches *launches;
	struct tp_launch_notes node_of;	/* of calls */
	struct tp_paths paths;
	struct tp_call_node *node;	/* by number of the path */
	uint32_t cap_nodes;
	/* Work has nothing below it and there is much of it: it is found by its call and its name at
	 * once. */
	struct tp_call_work *work;
	uint32_t n_works, cap_works;
	uint32_t most;		/* nodes and works */
	struct tp_keyed works;
	struct tp_call_python {		/* by stack: the node that it had last */
		uint32_t parent, row, node;
	} *python;
	uint32_t cap_python;
	const struct tp_run *run;
	bool is_full, is_incomplete;
	/* As stacks. */
	bool has_rows;
	struct tp_flame_rows rows;
	struct tp_call_row {
		uint32_t at : 31;
		bool is_work : 1;	/* of the works; else of the nodes */
	} *row;			/* in the order in which they were met */
	uint32_t *row_of;	/* by node: the row around those in it; TP_FLAME_NO_ROW: none */
	char **title;		/* by name: what C++ calls it; NULL: the name itself */
	uint32_t n_titles;
};

#endif

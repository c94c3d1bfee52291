/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.h - what the fused events say: one table of functions per view
 *
 * It wants its facts before the pass, and reads them when it is printed: a view that wants no fact
 * with events costs no pass over them.
 */
#ifndef TP_MERGE_VIEW_H
#define TP_MERGE_VIEW_H

#include "merge/model/fact.h"
#include "merge/model/table.h"

struct tp_fuse_options;
struct tp_view;

enum { TP_VIEWS_MAX = 16 };

struct tp_view_options {
	const struct tp_view *const *all; /* every view that there is, NULL-terminated */
	uint32_t top;		/* rows shown of long tables; 0: all */
	bool has_top;		/* somebody asked for that; else a view may know better */
	const char *steps;	/* only these were asked for; NULL: all */
	bool by_shape;		/* operator: a row per name and input shapes */
	bool by_stack;		/* operator: a row per name and Python stack */
	bool by_grid, by_operator; /* kernel: a row per launch shape, per launching operator */
	const char *at;		/* memory-at: parts of names of ranges, commas between; NULL: all */
	const char *calls;	/* memory-at: only calls of these numbers; NULL: all */
	uint32_t depth;		/* module, memprofiler: modules down to it, 1: outermost; 0: not given */
	const char *sort;	/* a field, for struct tp_out's; NULL: each table's own order */
	const struct tp_fuse_options *chosen;	/* diff: what of this run... */
	const struct tp_fuse_options *compare;	/* ...and the one to compare with; NULL: none */
	const char *fail_if;	/* diff: limits; NULL: none */
	bool *is_worse;		/* diff: set when a limit is passed */
	bool *is_bad;		/* diff: set when the other run could not be read */
};

struct tp_view {
	const char *name;	/* of -v */
	const char *help;
	const struct tp_table_def *const *tables; /* that it may print, NULL-terminated */

	void *(*begin)(struct tp_facts *facts, const struct tp_view_options *options);
	/* Writes the text to `out`, frees state. */
	void (*print)(void *state, const struct tp_run *run, struct tp_out *out);
};

extern const struct tp_view tp_view_overview, tp_view_operator, tp_view_kernel, tp_view_memory,
	tp_view_averages, tp_view_comm, tp_view_module, tp_view_steps, tp_view_trace, tp_view_health,
	tp_view_hot, tp_view_memory_at, tp_view_diff;

#endif

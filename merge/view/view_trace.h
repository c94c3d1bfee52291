/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_trace.h - the parts of the view of a step
 */
#ifndef TP_MERGE_VIEW_TRACE_H
#define TP_MERGE_VIEW_TRACE_H

#include "merge/facts/program/excerpt_show.h"
#include "merge/model/view.h"

extern const struct tp_table_def tp_table_trace;

enum { TP_VIEW_TRACE_LEAST = 1000 };	/* what takes less than this part of the step is worth no line */

/* What the first thread did most, and how busy devices were. */
void tp_view_trace_answer(struct tp_excerpt_show *show, const struct tp_excerpt_tree *tree,
			  struct tp_out *out);

/* A cell: types and shapes of its inputs; NULL: it has none. */
void tp_view_trace_shapes(struct tp_row *r, const struct tp_excerpt_row *row);
/* All events of the step; top: at most so many, 0: all. */
void tp_view_trace_rows(struct tp_excerpt_show *show, const struct tp_excerpt *excerpt,
			const struct tp_run *run, uint32_t at, uint32_t top, struct tp_out *out);

#endif

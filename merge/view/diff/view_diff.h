/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_diff.h - the parts of the diff
 */
#ifndef TP_MERGE_VIEW_DIFF_H
#define TP_MERGE_VIEW_DIFF_H

#include "merge/model/view.h"
#include "merge/view/diff/diff.h"

struct tp_diff_shown {
	const struct tp_diff_side *base, *now;
	const struct tp_view_options *options;
	struct tp_out *out;
	bool has_devices;
};

extern const struct tp_table_def tp_table_diff_places, tp_table_diff_steps, tp_table_diff_memory,
	tp_table_diff_each_step, tp_table_diff_categories, tp_table_diff_parts,
	tp_table_diff_operators, tp_table_diff_kernels, tp_table_diff_modules, tp_table_diff_heap,
	tp_table_diff_heap_peak, tp_table_diff_heap_allocated, tp_table_diff_heap_leaked;

/* A figure of both; the context of its table is the title of what is compared. */
struct tp_diff_figure {
	const char *what;
	double base, now;
	bool is_count;		/* and no time, no bytes */
	bool is_sum;		/* of those above it */
};
void tp_view_diff_bytes(struct tp_row *r, const void *ctx, const void *of);

/* A cell: "+5.2 %"; "new", "gone" */
void tp_view_diff_change(struct tp_row *r, double before, double after);

/* view_diff_places.c: a sentence, how much longer or shorter the median step is and where; then places. */
void tp_view_diff_places(const struct tp_diff_shown *shown);
/* view_diff_steps.c */
void tp_view_diff_steps(const struct tp_diff_shown *shown);
void tp_view_diff_memory(const struct tp_diff_shown *shown);
void tp_view_diff_each_step(const struct tp_diff_shown *shown);
void tp_view_diff_categories(const struct tp_diff_shown *shown);
void tp_view_diff_parts(const struct tp_diff_shown *shown);
/* view_diff_rows.c */
void tp_view_diff_operators(const struct tp_diff_shown *shown);
void tp_view_diff_kernels(const struct tp_diff_shown *shown);
/* view_diff_modules.c; nothing where none was recorded. */
void tp_view_diff_modules(const struct tp_diff_shown *shown);
/* Its path in the side that has it: this run's, where both have. */
const struct tp_module_path *tp_view_diff_path(const struct tp_diff_shown *shown,
					       const struct tp_diff_module *row);
/* view_diff_heap.c: tables of host memory; nothing when neither run recorded any. */
void tp_view_diff_heap(const struct tp_diff_side *base, const struct tp_diff_side *now,
		       uint32_t top, struct tp_out *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff.h - two runs side by side: what each took per step, name by name
 *
 * Everything is per recorded step, so runs of different length compare. A name stands for the
 * same thing in both. One thread.
 */
#ifndef TP_MERGE_DIFF_H
#define TP_MERGE_DIFF_H

#include "merge/heapbook.h"
#include "merge/overview.h"

/* One run's figures. */
struct tp_diff_side {
	struct tp_overview *overview;
	struct tp_names *kernel_names;
	struct tp_overview_row *kernel;	/* by kernel_names' row; self_ns: on the device */
	uint32_t cap_kernels;
	int64_t kernel_ns;
	/* After tp_diff_end. */
	struct tp_overview_sums sums;
	int64_t *step_ns;		/* of all recorded steps, sorted */
	uint32_t n_steps;
	int64_t peak_bytes;		/* most tensor memory in any of them */
	bool is_peak_absolute;
	bool is_incomplete;
	struct tp_heapbook *heapbook;
	const struct tp_heap_rows *heap;	/* host memory by stack; after tp_diff_end */
	double heap_total[TP_HEAP_FIGURES];	/* of all its rows */
};

/* 0 or -ENOMEM. */
int tp_diff_begin(struct tp_diff_side *side, const struct tp_run *run,
		  const struct tp_view_options *options);
void tp_diff_event(struct tp_diff_side *side, const struct tp_event *event);
void tp_diff_end(struct tp_diff_side *side);
void tp_diff_free(struct tp_diff_side *side);

/* A name in one of them or in both; figures of all recorded steps. */
struct tp_diff_row {
	const char *name;
	uint32_t n_name;
	struct tp_overview_row base, now;
	double change_ns;		/* per step: now - base */
};

/* Rows of both, by name; malloc'ed. NULL: none, or out of memory. */
struct tp_diff_row *tp_diff_operators(const struct tp_diff_side *base,
				      const struct tp_diff_side *now, uint32_t *n);
struct tp_diff_row *tp_diff_kernels(const struct tp_diff_side *base,
				    const struct tp_diff_side *now, uint32_t *n);
/* By how much they changed, the most first. */
void tp_diff_sort(struct tp_diff_row *row, uint32_t n);

/* Tables of host memory: view_diff_heap.c. Nothing when neither run recorded any. */
void tp_view_diff_heap(const struct tp_diff_side *base, const struct tp_diff_side *now,
		       uint32_t top, struct tp_out *out);

/* --fail-if "step>5%,heap-peak>10%": is it of that form? */
bool tp_diff_is_limit(const char *text);
/* Says each limit that is passed, or that the runs cannot tell; true: at least one is. */
bool tp_diff_is_worse(const struct tp_diff_side *base, const struct tp_diff_side *now,
		      const char *limits, struct tp_out *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * breakdown.h - where the wall time of each step went, by categories in order of priority
 *
 * At every moment of a step one category counts: the first in the list that is active on
 * any thread or stream of the process. So the categories of a step add up to its wall time,
 * to the nanosecond. Intervals come in begin order; memory: the steps.
 */
#ifndef TP_MERGE_BREAKDOWN_H
#define TP_MERGE_BREAKDOWN_H

#include <stdbool.h>
#include <stdint.h>

enum tp_category {	/* highest priority first */
	TP_CAT_KERNEL,
	TP_CAT_MEMCPY,
	TP_CAT_MEMSET,
	TP_CAT_COMM,
	TP_CAT_RUNTIME,
	TP_CAT_DATA,
	TP_CAT_CPU,
	TP_CAT_OTHER,	/* nothing of the above: never given, only found */
	TP_CAT_N
};

/* "Kernel", "Memcpy" ... "Other" */
const char *tp_category_name(enum tp_category category);

struct tp_step_time {
	uint64_t index;		/* of the step in the run */
	int64_t begin_ns, end_ns;
	int64_t ns[TP_CAT_N];	/* sum: end_ns - begin_ns */
};

struct tp_breakdown {
	int64_t now_ns;			/* the sweep has come this far */
	int64_t reach_ns[TP_CAT_OTHER];	/* greatest end of each category so far */
	bool is_in_step;
	struct tp_step_time *step;
	uint32_t n_steps, cap_steps;
	bool is_incomplete;		/* memory ran out: later steps are missing */
};

void tp_breakdown_init(struct tp_breakdown *breakdown);
void tp_breakdown_step(struct tp_breakdown *breakdown, uint64_t index, int64_t begin_ns,
		       int64_t end_ns);
void tp_breakdown_span(struct tp_breakdown *breakdown, enum tp_category category,
		       int64_t begin_ns, int64_t end_ns);
/* Finishes the last step; breakdown->step is final. */
void tp_breakdown_end(struct tp_breakdown *breakdown);
void tp_breakdown_free(struct tp_breakdown *breakdown);

#endif

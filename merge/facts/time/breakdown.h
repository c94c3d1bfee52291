/* SPDX-License-Identifier: Apache-2.0 */
/*
 * breakdown.h - where the wall time of each step went, by categories in order of priority
 *
 * At every moment of a step one category counts: the first in the list that is active on
 * any thread or stream of the process. So the categories of a step add up to its wall time,
 * to the nanosecond. Intervals come in begin order; memory: the steps.
 *
 * A step that asked devices for work lasts until that work has ended, and the next one begins
 * there: so work counts in the step that asked for it, though the host is ahead, as in
 * torch-tb-profiler. The first step of a window begins when work from before it is over. Of a
 * process without work of devices steps are the program's own.
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
	int64_t begin_ns, end_ns; /* the program's own until tp_breakdown_end() */
	int64_t ns[TP_CAT_N];	/* sum: end_ns - begin_ns */
};

/* A time that may be a step's begin or end, and how much of each category was before it. */
struct tp_breakdown_edge {
	int64_t at_ns, ns[TP_CAT_N];
};

struct tp_step_edges {
	struct tp_breakdown_edge begin, end; /* the program's own */
	struct tp_breakdown_edge lead;	/* of a first step: work from before had ended */
	struct tp_breakdown_edge work;	/* its work has ended; at_ns is INT64_MIN without any */
	bool has_work;
};

struct tp_breakdown {
	int64_t now_ns;			/* the sweep has come this far */
	int64_t reach_ns[TP_CAT_OTHER];	/* latest end of each category so far */
	int64_t lead_ns[TP_CAT_OTHER];	/* latest end of work that no step asked for */
	int64_t sum_ns[TP_CAT_N];	/* up to now */
	bool is_in_step;
	struct tp_step_time *step;
	struct tp_step_edges *edges;	/* parallel to step */
	uint32_t n_steps, cap_steps, cap_edges;
	uint32_t first;		/* step of the window, or of a part without a gap */
	struct tp_breakdown_ahead {	/* edges that the sweep has not come to */
		int64_t at_ns;
		uint32_t step;
		uint8_t which;
	} *ahead;
	uint32_t n_ahead, cap_ahead;
	bool is_incomplete;		/* memory ran out: later steps are missing */
};

void tp_breakdown_init(struct tp_breakdown *breakdown);
void tp_breakdown_step(struct tp_breakdown *breakdown, uint64_t index, int64_t begin_ns,
		       int64_t end_ns);
void tp_breakdown_span(struct tp_breakdown *breakdown, enum tp_category category,
		       int64_t begin_ns, int64_t end_ns);
/* Of a device; called_ns: when it was asked for, INT64_MIN: not known. */
void tp_breakdown_work(struct tp_breakdown *breakdown, enum tp_category category,
		       int64_t begin_ns, int64_t end_ns, int64_t called_ns);
/* Finishes the last step; breakdown->step is final. */
void tp_breakdown_end(struct tp_breakdown *breakdown);
void tp_breakdown_free(struct tp_breakdown *breakdown);

#endif

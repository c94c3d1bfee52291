/* SPDX-License-Identifier: Apache-2.0 */
/*
 * no_work.h - windows in which kernels and graphs were launched whose work was not recorded
 *
 * In a stream that is captured launches start nothing, so windows with a capture are not judged, nor
 * are a few launches in many: one at a window's edge may have lost its work.
 */
#ifndef TP_MERGE_NO_WORK_H
#define TP_MERGE_NO_WORK_H

#include "merge/model/fact.h"

struct tp_no_work {
	const struct tp_run *run;
	struct tp_no_work_window {
		uint64_t n_launches, n_without, n_captures;
	} *of;			/* by run->window */
	uint32_t last;		/* window that was looked up last */
};

extern const struct tp_fact tp_fact_no_work;

/* The first window from `*i` on that lacks work, and `*i` behind it; NULL: no more. */
const struct tp_no_work_window *tp_no_work_next(const struct tp_no_work *missing, uint32_t *i);

/* "12 of 12 launches of window 0 (rank 1) have no work that was recorded..." */
const char *tp_no_work_show(char buf[200], const struct tp_no_work *missing, uint32_t window);

#endif

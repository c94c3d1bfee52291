/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapcurve.h - host memory of a process over time, as counters that a viewer can draw
 *
 * Programs allocate a million times a second: a millisecond becomes its end, and its least and
 * largest value where they differ by more than a two-hundredth. Points come up to a millisecond
 * late, or at the end. Memory: blocks alive.
 */
#ifndef TP_MERGE_HEAPCURVE_H
#define TP_MERGE_HEAPCURVE_H

#include "merge/facts/heap/hostmem.h"

/* A COUNTER: bytes alive, or allocations a millisecond. */
typedef void tp_heapcurve_fn(void *ctx, const struct tp_event *counter);

struct tp_heapcurve {
	const struct tp_run *run;
	tp_heapcurve_fn *each;
	void *ctx;
	struct tp_hostmem *mem;		/* what is alive: has had each event before the curve */
	struct tp_heapcurve_proc {
		bool has_any;
		int64_t ms;		/* that is being taken; of the run */
		int64_t shown;		/* the last point */
		struct tp_heapcurve_value {
			int64_t ns, bytes;
		} least, most, last;
		uint64_t n_allocs, n_now; /* before this millisecond; by now */
		bool is_rate_shown;	/* the last rate is not 0 */
	} *proc;			/* by tp_proc.at */
};

void tp_heapcurve_init(struct tp_heapcurve *curve, const struct tp_run *run, struct tp_hostmem *mem,
		       tp_heapcurve_fn *each, void *ctx);
void tp_heapcurve_fini(struct tp_heapcurve *curve);
/* HEAPALLOC, HEAPFREE; others are ignored. */
void tp_heapcurve_event(struct tp_heapcurve *curve, const struct tp_event *event);
/* No more events: the last points. Processes, each with its peak; NULL when there is none. */
const struct tp_hostmem_proc *tp_heapcurve_end(struct tp_heapcurve *curve, uint32_t *n);

#endif

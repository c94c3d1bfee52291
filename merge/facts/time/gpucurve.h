/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpucurve.h - how busy each device was over time, as counters that a viewer can draw
 *
 * The time in windows is cut into pieces: of 1, 2 or 5 times a power of ten ns, the shortest of
 * which a process has at most TP_GPUCURVE_PIECES (and one more a window). A point is the mean of a
 * piece, at its start; the figures are gpu_time.h's. Points come at the end, those of a process in
 * order of time. Memory: 150 bytes for each piece and device, and the work that runs at a time.
 */
#ifndef TP_MERGE_GPUCURVE_H
#define TP_MERGE_GPUCURVE_H

#include "merge/facts/time/gpu_time.h"

enum { TP_GPUCURVE_PIECES = 1000 };

/* A COUNTER in percent (TP_F_DOUBLE), its link the device's id. */
typedef void tp_gpucurve_fn(void *ctx, const struct tp_event *counter);

struct tp_gpucurve {		/* zeroed is empty */
	struct tp_gpu_time *time;	/* NULL: no work yet */
};

void tp_gpucurve_fini(struct tp_gpucurve *curve);
/* KERNEL or GRAPH, in begin order; others change nothing and are ignored. */
void tp_gpucurve_event(struct tp_gpucurve *curve, const struct tp_run *run,
		       const struct tp_event *event);
/* No more events: all points. */
void tp_gpucurve_end(struct tp_gpucurve *curve, tp_gpucurve_fn *each, void *ctx);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampled.h - what the kernel and the allocators said of a process, at points in time that somebody remembers
 *
 * RSS and VMS are those of the nearest sample, PSS and the allocators' totals what was said last before.
 */
#ifndef TP_MERGE_SAMPLED_H
#define TP_MERGE_SAMPLED_H

#include "merge/model/fact.h"

/* Bytes; 0: not known. */
struct tp_sampled {
	uint64_t rss, vms, pss;
	int64_t ns;		/* when RSS and VMS were looked at */
	uint64_t allocated, reserved;	/* by PyTorch's allocator, on all devices */
};

/* Of one process. All zero: nothing was said yet. */
struct tp_sampled_process {
	struct tp_sampled now;
	struct tp_sampled_device {	/* what its allocator said last */
		uint32_t device;
		uint64_t allocated, reserved;
	} *device;
	uint32_t n_devices, cap_devices;
	uint32_t *waiting;		/* points, until the first sample after them */
	uint32_t n_waiting, cap_waiting;
	uint32_t n_given;		/* of them: the last sample's RSS; its VMS follows */
};

/* What a point has so far, and when it is. */
typedef struct tp_sampled *(*tp_sampled_point_fn)(void *ctx, uint32_t point, int64_t *ns);

/* A point is now, in the order of events: it has `now`, and may get a nearer sample from the next events. */
void tp_sampled_wait(struct tp_sampled_process *process, uint32_t point);
/* A COUNTER or TOTALS of the process. */
void tp_sampled_event(struct tp_sampled_process *process, const struct tp_event *event,
		      tp_sampled_point_fn point, void *ctx);
void tp_sampled_free(struct tp_sampled_process *process);

#endif

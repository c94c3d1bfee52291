/* SPDX-License-Identifier: Apache-2.0 */
/*
 * occupancy.h - how much of a multiprocessor a kernel can fill, from its launch and its device
 *
 * The rules are those of the CUDA C++ Programming Guide (compute capabilities) and of the
 * occupancy calculator; checked in tests against NVIDIA's own cuda_occupancy.h. Clusters and
 * named barriers are not counted, as in torch.profiler.
 *
 *	blocks    = blocks of the grid / multiprocessors
 *	warps     = blocks * threads of a block / threads of a warp
 *	estimated = min(blocks, blocks_per_sm) * threads of a block / most threads
 */
#ifndef TP_MERGE_OCCUPANCY_H
#define TP_MERGE_OCCUPANCY_H

#include "merge/model/device.h"

struct tp_occupancy {
	uint32_t blocks_per_sm;		/* resident at a time, by the limits below; 0: not known,
					 * or the launch cannot run on such a device */
	double theoretical;		/* resident warps / most warps, 0..1 */
	double blocks;			/* blocks of the grid / multiprocessors: torch's "blocks per SM" */
	double warps;			/* warps of the grid / multiprocessors: "warps per SM" */
	double estimated;		/* torch's "est. achieved occupancy", 0..1: theoretical, and
					 * less where the grid is too small to fill the device.
					 * torch.profiler itself says 0 for blocks of over 48 KiB of
					 * shared memory: this does not */
	bool is_known;			/* estimated */
	bool is_reported;		/* by the profiler of which the trace is, not by these rules */
	const char *limit;		/* "threads", "registers", "shared memory", "blocks", "grid", "" */
};

/* device may be NULL: all zero. */
struct tp_occupancy tp_occupancy(const struct tp_device *device, const struct tp_launch *launch);

/* Of a KERNEL; what the device's properties do not tell, as the trace's own profiler computed it. */
struct tp_occupancy tp_occupancy_kernel(const struct tp_device *device, const struct tp_event *kernel);

/* The newest launches' occupancies: programs launch the same all the time. Zeroed is empty. */
enum { TP_OCCUPANCIES = 1024 };	/* a power of two */
struct tp_occupancies {
	struct tp_occupancy_known {
		const struct tp_device *device;
		uint32_t same;	/* tp_string.same of the event's detail */
		struct tp_occupancy occupancy;
	} known[TP_OCCUPANCIES];
};

/* Of a KERNEL; valid until the next one. */
const struct tp_occupancy *tp_occupancy_of(struct tp_occupancies *all, const struct tp_device *device,
					   const struct tp_event *kernel);

#endif

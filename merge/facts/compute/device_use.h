/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_use.h - work that leaves most of a device unused: kernels of few blocks, products in float32
 * without tensor cores; and copies, by their direction
 *
 * Sums over all work of the windows, in steps or not: parts of the kernels' time are what they tell.
 * Calls need not be known: a host that is far ahead made them before.
 * Memory: names of kernels.
 */
#ifndef TP_MERGE_DEVICE_USE_H
#define TP_MERGE_DEVICE_USE_H

#include "merge/facts/time/names.h"

/* Kernels of a name that last a while and have blocks for less than half of the multiprocessors. */
struct tp_few_blocks {
	uint64_t n;
	int64_t ns;
	int64_t lost_ns;	/* by the part of the multiprocessors that had no block */
};

struct tp_device_use {
	int64_t kernel_ns;	/* all kernels */
	int64_t float32_ns;	/* products without tensor cores, by their names */
	int64_t to_device_ns, to_host_ns;	/* copies, but those of memory that is not pinned */
	struct tp_few_blocks *few;	/* by names' row */
	uint32_t cap_few;
};

/* What of a piece of work counts as which. */
struct tp_device_used {
	int64_t float32_ns, lost_ns, copy_ns;
};

/* A KERNEL or MEMCPY; its name is one of `names`. */
struct tp_device_used tp_device_use_take(struct tp_device_use *use, struct tp_names *names,
					 const struct tp_event *event);
void tp_device_use_free(struct tp_device_use *use);
/* The name's row on which most is lost; TP_NO_NAME: there is none. */
uint32_t tp_device_use_fewest(const struct tp_device_use *use);

#endif

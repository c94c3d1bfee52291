/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_clocks.h - how fast the devices' clocks ran while windows were recorded, and what held them down
 *
 * By the counters "GPU SM clock" and "throttled by ..." that NVML gave: each value holds until the next
 * one of its window, or the window's end.
 */
#ifndef TP_MERGE_DEVICE_CLOCKS_H
#define TP_MERGE_DEVICE_CLOCKS_H

#include <stdint.h>

#include "merge/model/fact.h"

enum tp_throttle {
	TP_THROTTLE_POWER,
	TP_THROTTLE_HEAT,
	TP_THROTTLE_HARDWARE,
	TP_THROTTLE_SETTING,
	TP_THROTTLE_N,
};

struct tp_device_clock {			/* of a device, as one process saw it */
	const struct tp_proc *proc;
	uint32_t device;
	int64_t known_ns;		/* of the windows: that the clock is known for */
	double mhz;			/* on average over that; 0: not known */
	int64_t told_ns;		/* that the reasons are known for */
	int64_t held_ns[TP_THROTTLE_N];	/* of that */
};

struct tp_device_clocks;

const struct tp_device_clocks *tp_device_clocks_want(struct tp_facts *facts);
/* Once the pass is over. NULL: nothing is known of that device. */
const struct tp_device_clock *tp_device_clocks_of(const struct tp_device_clocks *clocks,
						  const struct tp_proc *proc, uint32_t device);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devmem_curve.h - memory of a device below the framework, at every allocation
 *
 * The trace has the sum of all live blocks as a counter, sampled ("GPU memory known"), and each
 * block's allocation and free: together they are that counter at its every change.
 */
#ifndef TP_MERGE_DEVMEM_CURVE_H
#define TP_MERGE_DEVMEM_CURVE_H

#include "merge/model/model.h"

struct tp_devmem_curve {
	struct tp_devmem_sum {
		uint32_t proc, device;
		int64_t bytes;
	} *sum;
	uint32_t n_sums, cap_sums;
	const struct tp_string *name;	/* of the counter; NULL: not met yet */
};

void tp_devmem_curve_fini(struct tp_devmem_curve *curve);

/* COUNTER: what the trace knows. Others are ignored. */
void tp_devmem_curve_counter(struct tp_devmem_curve *curve, const struct tp_event *event);
/* DEVALLOC, DEVFREE: *counter becomes the COUNTER that it makes. False: it makes none, its kind
 * takes no memory of a device (or no counter was met: the sum is not known). */
bool tp_devmem_curve_change(struct tp_devmem_curve *curve, const struct tp_event *event,
			    struct tp_event *counter);

#endif

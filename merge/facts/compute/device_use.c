/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_use.c - work that leaves most of a device unused, one piece after the other
 */
#include "merge/facts/compute/device_use.h"

#include <stdlib.h>

#include "merge/facts/time/gpu_time.h"
#include "merge/facts/time/habits.h"
#include "merge/facts/time/tensor_cores.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"
#include "merge/model/device.h"

enum { FEW_LEAST_NS = 50000 };	/* shorter ones cost their launches, however many blocks they have */
static const double few = 0.5;	/* blocks for each multiprocessor */

/* 1: as many blocks as multiprocessors, or more; or it is not known. */
static double part_used(const struct tp_event *event)
{
	const struct tp_device *device = tp_device_of(event->proc, event->queue->device);
	const struct tp_launch launch = tp_device_launch(event);
	const double blocks = (double)launch.grid[0] * launch.grid[1] * launch.grid[2];

	if (!device || !device->n_sms || blocks <= 0 || blocks >= device->n_sms)
		return 1;
	return blocks / device->n_sms;
}

static int64_t take_few(struct tp_device_use *use, struct tp_names *names, const struct tp_event *event,
			int64_t ns)
{
	const double used = ns < FEW_LEAST_NS || tp_gpu_is_communication(event) ? 1 : part_used(event);
	const int64_t lost = (int64_t)((1 - used) * (double)ns);
	struct tp_few_blocks *of;
	uint32_t row;

	if (used >= few)
		return 0;
	row = tp_names_row(names, event);
	if (row == TP_NO_NAME)
		return 0;
	tp_need_room(&use->few, &use->cap_few, (uint64_t)row + 1, sizeof(*use->few));
	of = &use->few[row];
	of->n++;
	of->ns = tp_add(of->ns, ns);
	of->lost_ns = tp_add(of->lost_ns, lost);
	return lost;
}

struct tp_device_used tp_device_use_take(struct tp_device_use *use, struct tp_names *names,
					 const struct tp_event *event)
{
	const int64_t ns = tp_sub(event->end_ns, event->begin_ns);
	struct tp_device_used used = {0, 0, 0};

	if (event->kind == TP_REC_MEMCPY && !tp_habits_is_pageable(event)) {
		const uint32_t kind = tp_device_transfer(event).copy_kind;

		used.copy_ns = ns;
		if (kind == TP_COPY_HTOD)
			use->to_device_ns = tp_add(use->to_device_ns, ns);
		else if (kind == TP_COPY_DTOH)
			use->to_host_ns = tp_add(use->to_host_ns, ns);
	} else if (event->kind == TP_REC_KERNEL) {
		use->kernel_ns = tp_add(use->kernel_ns, ns);
		used.lost_ns = take_few(use, names, event, ns);
		used.float32_ns = tp_names_of(names, event)->is_float32_product ? ns : 0;
		use->float32_ns = tp_add(use->float32_ns, used.float32_ns);
	}
	return used;
}

void tp_device_use_free(struct tp_device_use *use)
{
	free(use->few);
}

uint32_t tp_device_use_fewest(const struct tp_device_use *use)
{
	uint32_t most = TP_NO_NAME;

	for (uint32_t i = 0; i < use->cap_few; i++)
		if (use->few[i].lost_ns > (most == TP_NO_NAME ? 0 : use->few[most].lost_ns))
			most = i;
	return most;
}

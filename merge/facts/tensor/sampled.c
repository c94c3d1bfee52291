/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampled.c - what the kernel and the allocators said of a process, at points in time
 */
#include "merge/facts/tensor/sampled.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"
#include "runtime/trace/counter_names.h"

/*
 * A sample after a point belongs to it when it is nearer than the one before and not later than this: where
 * none was taken for the point (TRAINPROF_MEMORY_AT), an equal value is recorded only once, and the next one
 * may be of long after.
 */
enum { LATE_NS = 10000000 };

void tp_sampled_wait(struct tp_sampled_process *process, uint32_t point)
{
	if (!tp_grow(&process->waiting, &process->cap_waiting, (uint64_t)process->n_waiting + 1,
		     sizeof(*process->waiting)))
		tp_need_failed();
	process->n_given = 0;
	process->waiting[process->n_waiting++] = point;
}

static uint64_t counted(const struct tp_event *event)
{
	double value;

	if (!(event->flags & TP_F_DOUBLE))
		return event->arg;
	memcpy(&value, &event->arg, sizeof(value));
	return value > 0 ? (uint64_t)value : 0;
}

/* RSS was sampled: those that wait have it if it is the nearer one, and wait no longer. */
static void give_rss(struct tp_sampled_process *process, tp_sampled_point_fn point_of, void *ctx)
{
	process->n_given = 0;
	for (uint32_t i = 0; i < process->n_waiting; i++) {
		int64_t ns, late;
		struct tp_sampled *point = point_of(ctx, process->waiting[i], &ns);

		late = tp_sub(process->now.ns, ns);
		if (late > LATE_NS || (point->rss && tp_sub(ns, point->ns) <= late))
			continue;
		point->rss = process->now.rss;
		point->ns = process->now.ns;
		process->waiting[process->n_given++] = process->waiting[i];
	}
	process->n_waiting = 0;
}

/* The sample's other value comes behind RSS. */
static void give_vms(struct tp_sampled_process *process, int64_t now, tp_sampled_point_fn point_of, void *ctx)
{
	int64_t ns;

	for (uint32_t i = 0; i < process->n_given && now == process->now.ns; i++)
		point_of(ctx, process->waiting[i], &ns)->vms = process->now.vms;
}

static struct tp_sampled_device *device_of(struct tp_sampled_process *process, uint32_t number)
{
	for (uint32_t i = 0; i < process->n_devices; i++)
		if (process->device[i].device == number)
			return &process->device[i];
	if (!tp_grow(&process->device, &process->cap_devices, (uint64_t)process->n_devices + 1,
		     sizeof(*process->device)))
		tp_need_failed();
	process->device[process->n_devices] = (struct tp_sampled_device){.device = number};
	return &process->device[process->n_devices++];
}

static void take_totals(struct tp_sampled_process *process, const struct tp_event *event)
{
	struct tp_sampled_device *device;

	/* The host's allocator reserves nothing. */
	if (event->link == TP_DEVICE_CPU)
		return;
	device = device_of(process, event->link);
	device->allocated = event->len;
	device->reserved = event->arg;
	process->now.allocated = process->now.reserved = 0;
	for (uint32_t i = 0; i < process->n_devices; i++) {
		process->now.allocated += process->device[i].allocated;
		process->now.reserved += process->device[i].reserved;
	}
}

void tp_sampled_event(struct tp_sampled_process *process, const struct tp_event *event,
		      tp_sampled_point_fn point, void *ctx)
{
	const char *name = event->name->bytes;

	if (event->kind == TP_REC_TOTALS) {
		take_totals(process, event);
	} else if (!strcmp(name, TP_COUNTER_RSS)) {
		process->now.rss = counted(event);
		process->now.ns = event->begin_ns;
		give_rss(process, point, ctx);
	} else if (!strcmp(name, TP_COUNTER_VIRTUAL)) {
		process->now.vms = counted(event);
		give_vms(process, event->begin_ns, point, ctx);
	} else if (!strcmp(name, TP_COUNTER_PSS)) {
		process->now.pss = counted(event);
	}
}

void tp_sampled_free(struct tp_sampled_process *process)
{
	free(process->device);
	free(process->waiting);
}

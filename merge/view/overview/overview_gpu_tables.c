/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_gpu_tables.c - part of the overview: what each device and each of its streams did, for
 * programs and for the page
 */
#include "merge/view/overview/overview.h"

#include <stdio.h>

#include "merge/model/label.h"

const char *tp_overview_gpu_who(char buf[96], const struct tp_run *run,
				const struct tp_gpu_device *d)
{
	char who[64];

	if (tp_label_is_needed(run))
		snprintf(buf, 96, "%s: %u", tp_label_proc(who, run, d->proc), d->id);
	else
		snprintf(buf, 96, "%u", d->id);
	return buf;
}

static uint32_t depth_of(const struct tp_gpu_device *d)
{
	uint32_t depth = 0;

	for (uint32_t k = 0; k < d->n_queues; k++)
		if (d->queue[k].depth_most > depth)
			depth = d->queue[k].depth_most;
	return depth;
}

/* What the lines below it say of all devices together, of each. */
static void put_times(struct tp_row *r, const void *ctx, const void *of)
{
	const struct tp_gpu_device *d = of;
	const struct tp_gpu_figures *f = of ? &d->total : NULL;
	char who[96];

	TP_TEXT(r, "gpu", "GPU", 0, "number", "%s", tp_overview_gpu_who(who, ctx, d));
	TP_NS(r, "time_ns", "time", 0, "recorded time", f->all_ns);
	TP_NS(r, "busy_ns", "busy", 0, "time with any work", f->busy_ns);
	TP_NS(r, "kernel_ns", "kernels", 0, "time with a kernel", f->kernel_ns);
	TP_NS(r, "compute_ns", "computing", 0, "time with a compute kernel", f->compute_ns);
	TP_NS(r, "communication_ns", "communication", 0, "time with a communication kernel", f->comm_ns);
	TP_NS(r, "compute_communication_ns", "both", 0, "time with both", f->compute_comm_ns);
	TP_NS(r, "copy_ns", "copies", 0, "time with a copy", f->copy_ns);
	TP_NS(r, "compute_copy_ns", "and computing", 0, "time with a copy and a compute kernel", f->compute_copy_ns);
	TP_NS(r, "idle_copy_ns", "waits: copy", 0, "idle (no kernel), waiting for a copy", f->idle_ns[TP_IDLE_COPY]);
	TP_NS(r, "idle_host_ns", "host", 0, "idle (no kernel), starved by the host", f->idle_ns[TP_IDLE_HOST]);
	TP_NS(r, "idle_queue_ns", "stream", 0, "idle (no kernel), waiting for its turn in a stream", f->idle_ns[TP_IDLE_QUEUE]);
	TP_NS(r, "idle_other_ns", "else", 0, "idle (no kernel), for another reason", f->idle_ns[TP_IDLE_OTHER]);
	TP_COUNT(r, "launches", "launches", 0, "number of launches", d->delay.n);
	TP_NS(r, "delay_p50_ns", "delay p50", 0, "median launch delay, from the call to the start of its work",
	      tp_spread_percentile(&d->delay, 50));
	TP_NS(r, "delay_p99_ns", "p99", 0, "99th percentile of that time",
	      tp_spread_percentile(&d->delay, 99));
	TP_COUNT(r, "depth_most", "waiting", 0, "highest launch queue depth of a stream",
		 depth_of(d));
}

const struct tp_table_def tp_table_gpu_time = {
	.name = "gpu_time", .columns = put_times,
	.help = "time of each device: busy, and idle by cause",
};

void tp_overview_gpu_times(const struct tp_run *run, const struct tp_gpu_time *gpu,
			   struct tp_out *out)
{
	struct tp_table *table;

	if (!tp_out_is_full(out))
		return;
	tp_out_title(out, "What each GPU did");
	table = tp_table_begin(&tp_table_gpu_time, run, TP_TOP_ASKED, out);
	for (uint32_t i = 0; i < tp_gpu_time_count(gpu); i++)
		tp_table_add(table, tp_gpu_time_at(gpu, i));
	tp_table_end(table);
}

/* What waited in each stream for its turn. */
struct stream {
	const struct tp_gpu_device *device;
	uint32_t at;
};

static void put_stream(struct tp_row *r, const void *ctx, const void *of)
{
	const struct stream *row = of;
	char who[96];

	TP_TEXT(r, "gpu", "GPU", 0, "number", "%s", tp_overview_gpu_who(who, ctx, row->device));
	TP_COUNT(r, "context", "context", 0, "number of the context",
		 row->device->queue[row->at].queue->context);
	TP_COUNT(r, "stream", "stream", 0, "number of the stream",
		 row->device->queue[row->at].queue->stream);
	TP_COUNT(r, "launches", "launches", 0, "number of launches",
		 row->device->queue[row->at].n_launches);
	TP_NS(r, "wait_ns", "waited", 0, "sum of launch delays",
	      row->device->queue[row->at].wait_ns);
	TP_COUNT(r, "depth_most", "most waiting", 0, "highest launch queue depth",
		 row->device->queue[row->at].depth_most);
}

const struct tp_table_def tp_table_gpu_streams = {
	.name = "gpu_streams", .columns = put_stream, .row_bytes = sizeof(struct stream),
	.help = "launch queue of each stream of each device",
};

void tp_overview_gpu_streams(const struct tp_run *run, const struct tp_gpu_time *gpu,
			     struct tp_out *out)
{
	struct tp_table *table;

	if (!tp_out_is_full(out))
		return;
	tp_out_title(out, "What waited in each stream");
	table = tp_table_begin(&tp_table_gpu_streams, run, TP_TOP_ASKED, out);
	for (uint32_t i = 0; i < tp_gpu_time_count(gpu); i++)
		for (uint32_t k = 0; k < tp_gpu_time_at(gpu, i)->n_queues; k++)
			tp_table_add(table, &(struct stream){tp_gpu_time_at(gpu, i), k});
	tp_table_end(table);
}

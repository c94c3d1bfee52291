/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_steps_row.c - part of the view of steps: what is said of a step
 */
#include "merge/view/view_steps.h"

#include <stdio.h>

#include "merge/model/label.h"
#include "runtime/trace/ring_layout.h"

bool tp_view_steps_is_slow(const struct tp_steps_shown *steps, const struct tp_step_row *row)
{
	const int64_t median = steps->median[row - steps->row];

	return median > 0 && row->dur_ns / TP_STEPS_SLOW_PERCENT > median / 100;
}

/* What the devices did in a recorded step; of others nothing is known. */
static void put_gpu(struct tp_row *r, const struct tp_steps_shown *steps, const struct tp_step_row *row)
{
	struct tp_step_gpu gpu;
	bool is_known = row && tp_step_gpus_of(steps->gpus, row, &gpu);
	const struct tp_gpu_figures *of = &gpu.figures;

#define KNOWN(unit, field, title, less, help, put)                                                 \
	TP_CELL(r, field, title, unit, less, help, is_known ? put : (void)0)
	KNOWN(TP_UNIT_PERCENT, "gpu_busy_percent", "GPU busy", 0, "share of it with a device busy",
	      tp_row_percent(r, (double)of->busy_ns, (double)of->all_ns));
	KNOWN(TP_UNIT_NS, "kernel_ns", "kernels", TP_LESS(3), "time with a kernel",
	      tp_row_integer(r, of->kernel_ns));
	KNOWN(TP_UNIT_NS, "communication_ns", "comm", TP_LESS(4), "time with communication",
	      tp_row_integer(r, of->comm_ns));
	KNOWN(TP_UNIT_NS, "copy_ns", "copies", TP_LESS(5), "time with a copy",
	      tp_row_integer(r, of->copy_ns));
	KNOWN(TP_UNIT_COUNT, "launched", "launched", TP_LESS(6), "operations launched on devices in it",
	      tp_row_count(r, gpu.n_launched));
#undef KNOWN
}

/* Known of the last step of each second only. */
static void put_process(struct tp_row *r, const struct tp_step_row *row)
{
	bool is_known = row && row->resident;

	TP_CELL(r, "rss_bytes", NULL, TP_UNIT_BYTES, 0, "RSS of the process after it, about once per second",
		is_known ? tp_row_integer(r, (int64_t)row->resident) : (void)0);
	TP_CELL(r, "vms_bytes", NULL, TP_UNIT_BYTES, 0, "VMS of the process at that time",
		is_known ? tp_row_integer(r, (int64_t)row->virtual) : (void)0);
}

static void put_mark(struct tp_row *r, const struct tp_steps_shown *steps, const struct tp_step_row *row)
{
	const int64_t median = steps->median[row - steps->row];
	char a[32], mark[64] = "";
	int n = 0;

	if (tp_view_steps_is_slow(steps, row))
		n = snprintf(mark, sizeof(mark), "slow %.1fx", (double)row->dur_ns / (double)median);
	if (row->flags & TP_F_SKIPPED)
		n += snprintf(mark + n, sizeof(mark) - (size_t)n, "%soptimizer skipped",
			      n ? ", " : "");
	if (row->dropped)
		snprintf(mark + n, sizeof(mark) - (size_t)n, "%s%s lost", n ? ", " : "",
			 tp_show_count(a, row->dropped));
	tp_row_text(r, "%s", mark);
}

static const char *style_of(const struct tp_steps_shown *steps, const struct tp_step_row *row)
{
	return row->dropped		       ? "red"
	       : tp_view_steps_is_slow(steps, row)	       ? "yellow"
	       : row->phase != TP_PHASE_ACTIVE ? "dim"
					       : NULL;
}

static void put_columns(struct tp_row *r, const void *ctx, const void *of)
{
	const struct tp_steps_shown *steps = ctx;
	const struct tp_step_row *row = of;

	TP_COUNT(r, "step", "step", 0, "number", row->index);
	TP_TEXT(r, "epoch_and_step", "epoch/n", TP_TO_RIGHT | TP_LESS(1),
		"epoch, and number of the step in the epoch", "%u/%u", row->epoch, row->in_epoch);
	TP_TEXT(r, "phase", "phase", 0, "phase of the schedule", "%s", tp_label_phase(row->phase));
	TP_NS(r, "time_ns", "time", 0, "duration", row->dur_ns);
	TP_NS(r, "data_wait_ns", "data", 0, "time of the training thread in the data loader",
	      row->data_wait_ns);
	TP_NS(r, "optimizer_ns", "optimizer", TP_LESS(2), "time in the optimizer's step",
	      row->optimizer_ns);
	TP_WHEN(r, steps->gpus)
		put_gpu(r, steps, row);
	TP_WHEN(r, steps->has_memory) {
		TP_BYTES(r, "memory_bytes", "host mem.", TP_LESS(3), "tensor bytes on the host at its end",
			 row->live_bytes);
		TP_BYTES(r, "peak_bytes", "host peak", 0, "peak of tensor bytes on the host in it", row->peak_bytes);
	}
	TP_WHEN(r, steps->has_device_memory)
		TP_BYTES(r, "device_peak_bytes", "GPU peak", 0, "peak of tensor bytes on devices in it",
			 row->device_peak);
	put_process(r, row);
	TP_NUMBER(r, "batches", "batches", TP_LESS(4), "batches fetched in it", row->batches);
	TP_CELL(r, NULL, "", TP_UNIT_TEXT, 0, "", put_mark(r, steps, row));
	TP_STYLE(r, style_of(steps, row));
}

const struct tp_table_def tp_table_steps = {
	.name = "steps", .columns = put_columns, .help = "steps of the run, inside and outside windows",
};

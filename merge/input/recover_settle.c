/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recover_settle.c - steps and open spans of rings, once the clocks are one: rows of the run
 */
#include <errno.h>

#include "merge/input/run.h"
#include "merge/kit/grow.h"

static int settle_steps(struct tp_run_in *run, struct tp_proc_in *proc)
{
	uint32_t hint = 0;

	for (uint32_t i = 0; i < proc->n_ring_steps; i++) {
		const struct tp_ring_step *from = &proc->ring_step[i];
		struct tp_step_row *row;
		int64_t begin;

		if (!tp_grow(&run->pub.step, &run->cap_steps, run->pub.n_steps + 1, sizeof(*row)))
			return -ENOMEM;
		if (from->begin >> 62 || from->duration >> 62)
			continue;
		row = &run->pub.step[run->pub.n_steps++];
		/* CLOCK_MONOTONIC, as in the ledger's other rows. */
		begin = tp_align_ns(&proc->map, &hint, from->begin);
		*row = (struct tp_step_row){
			.proc = &proc->pub,
			.index = from->index - 1,
			.epoch = from->epoch,
			.in_epoch = from->in_epoch,
			.batches = from->batches,
			.begin_ns = begin,
			.dur_ns = tp_align_ns(&proc->map, &hint, from->begin + from->duration) -
				  begin,
			.live_bytes = from->live_bytes,
			.peak_bytes = from->peak_bytes,
			.device_live = from->device_live,
			.device_peak = from->device_peak,
			.dropped = from->dropped,
			.phase = from->phase,
			.source = from->source,
			.flags = from->flags,
		};
		row->data_wait_ns = tp_align_ns(&proc->map, &hint, from->begin + from->data_wait) -
				    begin;
		row->optimizer_ns = tp_align_ns(&proc->map, &hint, from->begin + from->optimizer) -
				    begin;
	}
	return 0;
}

static int settle_open(struct tp_run_in *run, struct tp_proc_in *proc)
{
	int64_t seen_ns;
	uint32_t hint = 0;

	if (!proc->n_ring_open || proc->seen_ticks >> 62)
		return 0;
	seen_ns = tp_run_ns(proc, &hint, proc->seen_ticks);
	for (uint32_t i = 0; i < proc->n_ring_open; i++) {
		const struct tp_ring_open *from = &proc->ring_open[i];
		const struct tp_string *name = tp_ids_get(&proc->ids, from->span.name);

		if (from->has_ended || from->span.time >> 62)
			continue;
		if (!tp_grow(&run->pub.open, &run->cap_open, run->pub.n_open + 1,
			     sizeof(run->pub.open[0])))
			return -ENOMEM;
		run->pub.open[run->pub.n_open++] = (struct tp_open_at_end){
			.proc = &proc->pub,
			.thread = &proc->pub.thread[from->thread],
			.name = name ? name : &run->strings.none,
			.kind = (uint8_t)from->span.kind,
			.begin_ns = tp_run_ns(proc, &hint, from->span.time),
			.seen_ns = seen_ns,
			.depth = from->depth,
		};
	}
	return 0;
}

int tp_recover_settle(struct tp_run_in *run)
{
	int err = 0;

	for (uint32_t i = 0; i < run->pub.n_procs && !err; i++) {
		struct tp_proc_in *proc = (struct tp_proc_in *)run->pub.proc[i];

		if (!proc->map.n_knots)
			continue;
		err = settle_steps(run, proc);
		if (!err)
			err = settle_open(run, proc);
	}
	return err;
}

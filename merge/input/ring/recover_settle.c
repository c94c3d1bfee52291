/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recover_settle.c - steps and open spans of rings, once the clocks are one: rows of the run
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "merge/input/run.h"
#include "merge/kit/grow.h"
#include "merge/kit/show.h"
#include "merge/model/label.h"
#include "runtime/base/clock.h"
#include "runtime/base/process.h"

/* How long it was from ticks on. */
static int64_t length_of(const struct tp_proc_in *proc, uint32_t *hint, uint64_t ticks,
			 uint64_t length)
{
	return tp_sub(tp_align_ns(&proc->map, hint, ticks + length),
		      tp_align_ns(&proc->map, hint, ticks));
}

static int settle_steps(struct tp_run_in *run, struct tp_proc_in *proc)
{
	uint32_t hint = 0;

	for (uint32_t i = 0; i < proc->n_ring_steps; i++) {
		const struct tp_ring_step *from = &proc->ring_step[i];
		struct tp_step_row *row;

		if (!tp_grow(&run->pub.step, &run->cap_steps, run->pub.n_steps + 1, sizeof(*row)))
			return -ENOMEM;
		if (from->begin >> 62 || from->duration >> 62)
			continue;
		row = &run->pub.step[run->pub.n_steps++];
		/* begin_ns is of CLOCK_MONOTONIC, as in the ledger's other rows. */
		*row = (struct tp_step_row){
			.proc = &proc->pub,
			.index = from->index - 1,
			.epoch = from->epoch,
			.in_epoch = from->in_epoch,
			.batches = from->batches,
			.begin_ns = tp_align_ns(&proc->map, &hint, from->begin),
			.dur_ns = length_of(proc, &hint, from->begin, from->duration),
			.data_wait_ns = length_of(proc, &hint, from->begin, from->data_wait),
			.optimizer_ns = length_of(proc, &hint, from->begin, from->optimizer),
			.live_bytes = from->live_bytes,
			.peak_bytes = from->peak_bytes,
			.device_live = from->device_live,
			.device_peak = from->device_peak,
			.dropped = from->dropped,
			.heap_bytes = from->heap_bytes,
			.phase = from->phase,
			.source = from->source,
			.flags = from->flags,
		};
	}
	return 0;
}

/* The last sign of life; of a process that lives on this machine, now. */
static int64_t find_seen(const struct tp_run_in *run, const struct tp_proc_in *proc)
{
	uint32_t hint = 0;
	uint64_t here[2];

	tp_process_boot_id(here);
	if (!proc->is_live || here[0] != proc->pub.boot_id[0] || here[1] != proc->pub.boot_id[1])
		return tp_run_ns(proc, &hint, proc->seen_ticks);
	return tp_run_mono_ns(run, proc, (int64_t)tp_clock_mono_ns());
}

/* "FILE:LINE FUNCTION"; false: it has no name, or not so much room. */
static bool put_place(const struct tp_proc_in *proc, uint32_t id, uint32_t line, char *text, size_t cap)
{
	const struct tp_string *name = tp_ids_get(&proc->ids, id);
	const char *end =
		name && name->kind == TP_STRING_PYFRAME ? memchr(name->bytes, 0, name->n_bytes) : NULL;
	char function[200], file[400];
	int n;

	if (!end)
		return false;
	tp_show_text(function, sizeof(function), name->bytes, (uint32_t)(end - name->bytes));
	tp_show_text(file, sizeof(file), end + 1, name->n_bytes - (uint32_t)(end + 1 - name->bytes));
	n = snprintf(text, cap, "%s:%u %s", file, line, function);
	return n > 0 && (size_t)n < cap;
}

/* Outermost first, as many of the inner ones as a line has room for. */
static void settle_stand(struct tp_run_in *run, struct tp_proc_in *proc, int64_t seen_ns)
{
	enum { STOOD_HEAD = 64 };	/* more than its age and key take */
	static const char between[] = " > ";
	char text[TP_STOOD_BYTES - STOOD_HEAD] = "", place[sizeof(text)], fact[TP_STOOD_BYTES];
	const size_t n_between = strlen(between);
	uint32_t hint = 0;
	int64_t age_ns = tp_sub(seen_ns, tp_run_ns(proc, &hint, proc->stand.time));

	for (uint32_t i = 0; i < TP_RING_STAND && proc->stand.place[i].name; i++) {
		const size_t n = strlen(text), n_gap = n ? n_between : 0;

		if (!put_place(proc, proc->stand.place[i].name, proc->stand.place[i].line, place,
			       sizeof(text) - n - n_gap))
			break;
		memmove(text + strlen(place) + n_gap, text, n + 1);
		memcpy(text, place, strlen(place));
		memcpy(text + strlen(place), between, n_gap);
	}
	snprintf(fact, sizeof(fact), "stood=%lld %s", (long long)(age_ns > 0 ? age_ns : 0), text);
	if (text[0])
		tp_run_fact(run, &proc->pub, fact);
}

static int settle_open(struct tp_run_in *run, struct tp_proc_in *proc)
{
	int64_t seen_ns;
	uint32_t hint = 0;

	if ((!proc->n_ring_open && !proc->stand.time) || proc->seen_ticks >> 62)
		return 0;
	seen_ns = find_seen(run, proc);
	if (!tp_run_is_time(seen_ns))
		return 0;
	if (proc->stand.time)
		settle_stand(run, proc, seen_ns);
	for (uint32_t i = 0; i < proc->n_ring_open; i++) {
		const struct tp_ring_open *from = &proc->ring_open[i];
		const struct tp_string *name = tp_ids_get(&proc->ids, from->span.name);
		int64_t begin_ns;

		if (from->has_ended || from->span.time >> 62)
			continue;
		begin_ns = tp_run_ns(proc, &hint, from->span.time);
		if (!tp_run_is_time(begin_ns))
			continue;
		if (!tp_grow(&run->pub.open, &run->cap_open, run->pub.n_open + 1,
			     sizeof(run->pub.open[0])))
			return -ENOMEM;
		run->pub.open[run->pub.n_open++] = (struct tp_open_at_end){
			.proc = &proc->pub,
			.thread = &proc->pub.thread[from->thread],
			.name = name ? name : &run->strings.none,
			.kind = (uint8_t)from->span.kind,
			.begin_ns = begin_ns,
			/* Where the rate of its clock is a guess, `now` may be earlier. */
			.seen_ns = seen_ns > begin_ns ? seen_ns : begin_ns,
			.depth = from->depth,
		};
	}
	return 0;
}

static int settle_each(struct tp_run_in *run,
		       int (*settle)(struct tp_run_in *run, struct tp_proc_in *proc))
{
	int err = 0;

	for (uint32_t i = 0; i < run->pub.n_procs && !err; i++) {
		struct tp_proc_in *proc = (struct tp_proc_in *)run->pub.proc[i];

		if (proc->map.n_knots)
			err = settle(run, proc);
	}
	return err;
}

int tp_recover_settle_steps(struct tp_run_in *run)
{
	return settle_each(run, settle_steps);
}

int tp_recover_settle_open(struct tp_run_in *run)
{
	return settle_each(run, settle_open);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window_records.c - records of a window, out of the ring and into the file that is open for it
 *
 * A record is given back to the ring only after the kernel took the block that holds it (or
 * refused it for good: then it is counted as lost). So the process may be killed at any point
 * and everything that was published is in one of the two places; see ring_layout.h for which.
 *
 * What devices did comes long after their window. Such records lie in the drain thread's own slot,
 * in any order and among records of the next window, so of that slot each record is looked at.
 */
#include "runtime/engine/window_records.h"

#include "runtime/base/clock.h"
#include "runtime/base/own_table.h"
#include "runtime/engine/open_spans.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/engine/told.h"
#include "runtime/engine/window_file.h"
#include "runtime/trace/kinds.h"
#include "runtime/trace/writer.h"

enum { NO_WINDOW = 0 };

static struct {
	const struct tp_probe *const *probes;
	uint64_t last_end;	/* of the window before; 0: none */
	uint64_t n_late;
} state;

/* What one pass over the ring wants. */
struct pass {
	uint32_t window;	/* being written; records of later ones stay */
	bool is_final;
	bool is_before;		/* the window had not begun when the pass did */
	struct tp_writer *writer;	/* NULL: no file is open */
	const struct tp_ring_slot *own;	/* the drain thread's */
};

void tp_window_records_init(const struct tp_probe *const *probes)
{
	state.probes = probes;
	state.last_end = 0;
	state.n_late = 0;
}

/* A record that needs another word in its flags, or another begin or end. */
static void write_changed(struct tp_writer *writer, uint16_t slot, const struct tp_rec *rec, uint64_t begin,
			  uint64_t end)
{
	struct tp_rec copy = *rec;

	if (copy.time < begin && copy.kind == TP_REC_FRAME)
		copy.time = begin;
	else if (copy.time < begin)
		copy.flags |= TP_F_EARLY;
	if (end && tp_rec_end(rec) > end) {
		copy.flags |= TP_F_OPEN;
		tp_rec_set_len(&copy, end - copy.time);
	}
	tp_window_file_wrote(tp_writer_events(writer, &copy, 1, slot));
}

/* Ended after the window: stays in the ring (the next window may want it), but what lay
 * inside the window is written, open-ended. */
static void write_crossing(struct tp_writer *writer, uint16_t slot, const struct tp_rec *rec, uint32_t n,
			   uint64_t begin, uint64_t end)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!tp_kind_is_span[rec[i].kind] || rec[i].time >= end || tp_rec_end(&rec[i]) <= end ||
		    rec[i].kind == TP_REC_STEP || tp_rec_is_whole(&rec[i]))
			continue;
		tp_open_spans_mark_known(slot, &rec[i]);
		write_changed(writer, slot, &rec[i], begin, end);
	}
}

/* Our own records are in no order: pick_record looks at each. */
static bool is_own(const struct pass *pass, uint32_t slot)
{
	return pass->own == &tp_ring.slots[slot];
}

/* Warm-up, or too late. */
static void leave_out(const struct tp_rec *rec)
{
	/* Kind NONE: picked earlier. */
	state.n_late += rec->kind && (tp_rec_end(rec) <= state.last_end || tp_rec_is_after(rec));
}

/* Of our own records behind one that stays: those of the window, which is over, and of before: when
 * they are met with the next window's they would seem to be late. */
static bool pick_record(void *ctx, uint32_t slot, const struct tp_rec *rec)
{
	const struct pass *pass = ctx;
	uint64_t begin = tp_ring_window_begin_of(pass->window), end = tp_ring_window_end_of(pass->window);

	if (tp_rec_end(rec) < begin && rec->kind != TP_REC_FRAME) {
		leave_out(rec);
		return true;
	}
	if (!tp_rec_is_after(rec) && (tp_rec_end(rec) < begin || tp_rec_end(rec) > end)) {
		if (pass->is_final && pass->writer && is_own(pass, slot))
			write_crossing(pass->writer, (uint16_t)slot, rec, 1, begin, end);
		return false;
	}
	if (!pass->writer)
		__atomic_fetch_add(&tp_ring.head->dropped, 1, __ATOMIC_RELAXED);
	else
		write_changed(pass->writer, (uint16_t)slot, rec, begin, 0);
	return true;
}

static void show_records(uint32_t window, uint32_t slot, const struct tp_rec *rec, uint32_t n)
{
	for (const struct tp_probe *const *probe = state.probes; *probe; probe++)
		if ((*probe)->see)
			(*probe)->see(window, slot, rec, n);
}

static void show_waiting(void *ctx, uint32_t slot, const struct tp_rec *rec, uint32_t n)
{
	show_records(*(const uint32_t *)ctx, slot, rec, n);
}

void tp_window_records_show(void)
{
	uint32_t window = tp_ring.head ? tp_ring.head->windows_written : 0;

	tp_ring_show(show_waiting, &window);
}

static uint32_t take_records(void *ctx, uint32_t slot, const struct tp_rec *rec, uint32_t n)
{
	const struct pass *pass = ctx;
	struct tp_writer *writer = pass->writer;
	/* Read for each chunk, after its count of records: a thread stores a boundary before it
	 * publishes what comes after. The turn first: while it is odd, a window may have begun, and
	 * these be its first records. */
	bool is_unsettled = __atomic_load_n(&tp_ring.head->window_turn, __ATOMIC_ACQUIRE) & 1;
	bool is_begun = pass->window < __atomic_load_n(&tp_ring.head->windows_begun,
						       __ATOMIC_ACQUIRE);
	uint64_t begin = is_begun ? tp_ring_window_begin_of(pass->window) : UINT64_MAX;
	uint64_t end = is_begun ? tp_ring_window_end_of(pass->window) : 0;
	uint32_t i, run = 0;	/* records [run, i) are to be written as they are */

	/* Or it began in the middle of this pass: the next one has a file for it. */
	if (is_begun ? pass->is_before : is_unsettled)
		return 0;
	if (writer && !tp_told_has(slot))
		tp_told_tell(writer, slot);
	for (i = 0; i < n; i++) {
		uint64_t rec_end = tp_rec_end(&rec[i]);
		/* The thread may not know of the begin yet, or it was moved: what comes in the
		 * window needs the stacks from before. */
		bool is_kept = is_begun && rec[i].kind == TP_REC_FRAME;
		bool is_early = rec_end < begin && !is_kept;

		if (end && rec_end > end)
			break;
		if (!is_early && writer && rec[i].time >= begin)
			continue;
		if (run < i)
			tp_window_file_wrote(tp_writer_events(writer, &rec[run], i - run,
						    (uint16_t)slot));
		run = i + 1;
		if (is_early) {
			leave_out(&rec[i]);
		} else if (writer) {
			write_changed(writer, (uint16_t)slot, &rec[i], begin, 0);
		} else {
			__atomic_fetch_add(&tp_ring.head->dropped, 1, __ATOMIC_RELAXED);
		}
	}
	if (run < i)
		tp_window_file_wrote(tp_writer_events(writer, &rec[run], i - run, (uint16_t)slot));
	if (i && writer && !is_own(pass, slot))
		show_records(pass->window, slot, rec, i);
	if (i < n && pass->is_final && writer && !is_own(pass, slot))
		write_crossing(writer, (uint16_t)slot, &rec[i], n - i, begin, end);
	return i;
}

/* What is open yet at the window's end, and who made it all. */
static void write_open(struct tp_writer *writer, uint32_t window)
{
	uint64_t begin = tp_ring_window_begin_of(window), end = tp_ring_window_end_of(window);
	const struct tp_open_span *span;
	uint16_t slot;

	for (uint32_t i = 0; (span = tp_open_spans_next(&i, &slot));) {
		struct tp_rec rec = {
			.time = span->time, .kind = (uint8_t)span->kind,
			.name = span->name, .link = TP_NO_SEQ,
		};

		if (!tp_told_has(slot))
			tp_told_tell(writer, slot);
		tp_rec_set_len(&rec, end + 1 - rec.time);
		write_changed(writer, slot, &rec, begin, end);
	}
	tp_told_again(writer);
}

/* One pass over the ring: what belongs to the window goes to its file. */
static int do_pass(void *arg)
{
	struct pass *pass = arg;
	struct tp_writer *writer = pass->writer;
	uint32_t window = pass->window;

	if (writer) {
		tp_clock_take_anchor(&writer->anchor);
		writer->dropped = tp_ring_dropped();
	}
	tp_ring_take(take_records, pass);
	if (window < __atomic_load_n(&tp_ring.head->windows_begun, __ATOMIC_ACQUIRE) &&
	    tp_ring_window_end_of(window))
		tp_ring_pick(pick_record, pass);
	if (pass->is_final && writer)
		write_open(writer, window);
	if (writer)
		tp_window_file_wrote(tp_writer_flush(writer));
	if (writer && !tp_ring_is_cut())
		tp_window_file_keep();
	tp_ring_release(writer ? window + 1 : NO_WINDOW, writer ? writer->n_bytes : 0);
	return 0;
}

/* One call of own_table.h, with all that it writes; but records of the drain thread's own are
 * picked by itself. */
static void run_pass(struct pass pass)
{
	pass.writer = tp_window_file_writer();
	pass.own = tp_ring_self.slot;
	if (tp_ring_self.generation == tp_ring.generation)
		do_pass(&pass);
	else
		tp_own_table_call(do_pass, &pass);
}

void tp_window_records_before(uint32_t window)
{
	run_pass((struct pass){.window = window, .is_before = true});
}

void tp_window_records_take(uint32_t window)
{
	tp_ring_reap(false);
	run_pass((struct pass){.window = window});
}

void tp_window_records_last(uint32_t window)
{
	/* Before the last pass: see write_crossing. */
	tp_open_spans_take(tp_ring_window_end_of(window));
	run_pass((struct pass){.window = window, .is_final = true});
	state.last_end = tp_ring_window_end_of(window);
}

uint64_t tp_window_records_late(void)
{
	return state.n_late;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window.c - one window after the other, out of the ring and into its trace file
 *
 * A record is given back to the ring only after the kernel took the block that holds it (or
 * refused it for good: then it is counted as lost). So the process may be killed at any point
 * and everything that was published is in one of the two places; see ring_layout.h for which.
 *
 * When a window ends, a thread may still be between reading the clock and publishing its
 * record. The file is therefore finished a moment after the end, not at once; what comes
 * still later is counted ("late"), not kept. Before that each probe is asked for what it has
 * to add (settle): a device's records come long after their window. They lie in the drain
 * thread's own slot, in any order and among records of the next window, so of that slot
 * each record is looked at.
 */
#include "runtime/engine/window.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "runtime/base/clock.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "runtime/base/own_table.h"
#include "runtime/base/thread.h"
#include "runtime/engine/facts.h"
#include "runtime/engine/intern.h"
#include "runtime/engine/open_spans.h"
#include "runtime/engine/ring.h"
#include "runtime/engine/session.h"
#include "runtime/engine/step/step.h"
#include "runtime/engine/told.h"
#include "runtime/engine/trigger/trigger.h"
#include "runtime/trace/kinds.h"
#include "runtime/trace/writer.h"

enum {
	GRACE_NS = 2000000,	/* a preempted thread is back within a time slice or two */
	CALIBRATE_NS = 20000000,/* apart, two anchors give the frequency to 2 parts in a million */
	META_BYTES = 16384,
	TOTALS_BYTES = 16384,
	NO_WINDOW = 0,
};

static struct {
	struct tp_window_spec spec;
	struct tp_naming naming;
	struct tp_writer writer;
	struct tp_clock_anchor start;
	uint32_t window;		/* of the file that is open */
	bool is_open;			/* the file */
	uint32_t n_failed, failed_at;	/* windows not written since the last whole one; the newest */
	uint64_t cpu_ns;		/* of our threads when the file was opened */
	uint64_t last_end;		/* of the window before; 0: none */
	uint64_t n_late;
	uint32_t n_settled;		/* probes that have nothing to add to the window */
	bool is_closing;
} state;

/* What one pass over the ring wants. */
struct pass {
	uint32_t window;	/* being written; records of later ones stay */
	bool is_final;
	bool is_before;	/* the window had not begun when the pass did */
	const struct tp_ring_slot *own;	/* the drain thread's */
};

/* Of our threads. */
static uint64_t read_cpu_ns(void)
{
	return tp_thread_cpu_ns() + tp_own_table_cpu_ns();
}

static struct tp_ring_window *window_at(uint32_t window)
{
	return &tp_ring.head->windows[window % TP_RING_WINDOWS];
}

static uint64_t begin_of(uint32_t window)
{
	return __atomic_load_n(&window_at(window)->begin, __ATOMIC_ACQUIRE);
}

/* 0: it is not over. */
static uint64_t end_of_window(uint32_t window)
{
	return __atomic_load_n(&window_at(window)->end, __ATOMIC_ACQUIRE);
}

int tp_window_init(const struct tp_window_spec *spec)
{
	memset(&state, 0, sizeof(state));
	state.spec = *spec;
	state.naming = *spec->naming;
	memcpy(&state.start, &tp_ring.head->anchor[0], sizeof(state.start));
	if (tp_open_spans_init(spec->arena) ||
	    tp_writer_init(&state.writer, spec->arena,
			   (uint32_t)(tp_ring.head->names_bytes / 8), tp_intern_get, NULL))
		return -ENOMEM;
	state.writer.folder = spec->folder;
	return 0;
}

void tp_window_abandon(void)
{
	if (state.is_open)
		tp_writer_abandon(&state.writer);
	state.is_open = false;
}

/* Ticks of `ns`, by the anchors at the start and now; waits if those are too close. */
static uint64_t to_ticks(uint64_t ns)
{
	struct tp_clock_anchor now;

	tp_clock_take_anchor(&now);
	if (!tp_clock_is_tsc)
		return ns;
	if (now.mono_ns - state.start.mono_ns < CALIBRATE_NS) {
		struct timespec wait = {.tv_nsec = CALIBRATE_NS};

		nanosleep(&wait, NULL);
		tp_clock_take_anchor(&now);
	}
	return (uint64_t)((double)ns * (double)(now.ticks - state.start.ticks) /
			  (double)(now.mono_ns - state.start.mono_ns));
}

/* ---- records ---- */

/* Said once as long as it lasts: a disk that is full is full for every window. */
static void note_failed(const char *verb, const char *path, int err, uint32_t window)
{
	if (!state.n_failed)
		tp_warn("cannot %s '%s.part': %s; windows are lost until it can be done again", verb,
			path, tp_file_error(err));
	if (!state.n_failed || state.failed_at != window)
		state.n_failed++;
	state.failed_at = window;
}

static void note_written(const char *path)
{
	if (state.n_failed)
		tp_warn("'%s' could be written again; %u windows before it are lost, whole or in part",
			path, state.n_failed);
	state.n_failed = 0;
}

static void note_write(int err)
{
	if (err)
		note_failed("write", state.writer.path, err, state.window);
}

/* A record that needs another word in its flags, or another begin or end. */
static void write_changed(uint16_t slot, const struct tp_rec *rec, uint64_t begin, uint64_t end)
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
	note_write(tp_writer_events(&state.writer, &copy, 1, slot));
}

/* Ended after the window: stays in the ring (the next window may want it), but what lay
 * inside the window is written, open-ended. */
static void write_crossing(uint16_t slot, const struct tp_rec *rec, uint32_t n, uint64_t begin,
			   uint64_t end)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!tp_kind_is_span[rec[i].kind] || rec[i].time >= end || tp_rec_end(&rec[i]) <= end ||
		    rec[i].kind == TP_REC_STEP || tp_rec_is_whole(&rec[i]))
			continue;
		tp_open_spans_mark_known(slot, &rec[i]);
		write_changed(slot, &rec[i], begin, end);
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
	uint64_t begin = begin_of(pass->window), end = end_of_window(pass->window);

	if (tp_rec_end(rec) < begin && rec->kind != TP_REC_FRAME) {
		leave_out(rec);
		return true;
	}
	if (!tp_rec_is_after(rec) && (tp_rec_end(rec) < begin || tp_rec_end(rec) > end)) {
		if (pass->is_final && state.is_open && is_own(pass, slot))
			write_crossing((uint16_t)slot, rec, 1, begin, end);
		return false;
	}
	if (!state.is_open)
		__atomic_fetch_add(&tp_ring.head->dropped, 1, __ATOMIC_RELAXED);
	else
		write_changed((uint16_t)slot, rec, begin, 0);
	return true;
}

static void show_records(uint32_t window, uint32_t slot, const struct tp_rec *rec, uint32_t n)
{
	for (const struct tp_probe *const *probe = state.spec.probes; *probe; probe++)
		if ((*probe)->see)
			(*probe)->see(window, slot, rec, n);
}

static void show_waiting(void *ctx, uint32_t slot, const struct tp_rec *rec, uint32_t n)
{
	show_records(*(const uint32_t *)ctx, slot, rec, n);
}

void tp_window_show(void)
{
	uint32_t window = tp_ring.head ? tp_ring.head->windows_written : 0;

	tp_ring_show(show_waiting, &window);
}

static uint32_t take_records(void *ctx, uint32_t slot, const struct tp_rec *rec, uint32_t n)
{
	const struct pass *pass = ctx;
	/* Read for each chunk, after its count of records: a thread stores a boundary before it
	 * publishes what comes after. The turn first: while it is odd, a window may have begun, and
	 * these be its first records. */
	bool is_unsettled = __atomic_load_n(&tp_ring.head->window_turn, __ATOMIC_ACQUIRE) & 1;
	bool is_begun = pass->window < __atomic_load_n(&tp_ring.head->windows_begun,
						       __ATOMIC_ACQUIRE);
	uint64_t begin = is_begun ? begin_of(pass->window) : UINT64_MAX;
	uint64_t end = is_begun ? end_of_window(pass->window) : 0;
	uint32_t i, run = 0;	/* records [run, i) are to be written as they are */

	/* Or it began in the middle of this pass: the next one has a file for it. */
	if (is_begun ? pass->is_before : is_unsettled)
		return 0;
	if (state.is_open && !tp_told_has(slot))
		tp_told_tell(&state.writer, slot);
	for (i = 0; i < n; i++) {
		uint64_t rec_end = tp_rec_end(&rec[i]);
		/* The thread may not know of the begin yet, or it was moved: what comes in the
		 * window needs the stacks from before. */
		bool is_kept = is_begun && rec[i].kind == TP_REC_FRAME;
		bool is_early = rec_end < begin && !is_kept;

		if (end && rec_end > end)
			break;
		if (!is_early && state.is_open && rec[i].time >= begin)
			continue;
		if (run < i)
			note_write(tp_writer_events(&state.writer, &rec[run], i - run,
						    (uint16_t)slot));
		run = i + 1;
		if (is_early) {
			leave_out(&rec[i]);
		} else if (state.is_open) {
			write_changed((uint16_t)slot, &rec[i], begin, 0);
		} else {
			__atomic_fetch_add(&tp_ring.head->dropped, 1, __ATOMIC_RELAXED);
		}
	}
	if (run < i)
		note_write(tp_writer_events(&state.writer, &rec[run], i - run, (uint16_t)slot));
	if (i && state.is_open && !is_own(pass, slot))
		show_records(pass->window, slot, rec, i);
	if (i < n && pass->is_final && state.is_open && !is_own(pass, slot))
		write_crossing((uint16_t)slot, &rec[i], n - i, begin, end);
	return i;
}

/* One pass over the ring: what belongs to the window goes to its file. */
static int do_pass(void *arg)
{
	struct pass *pass = arg;
	uint32_t window = pass->window;

	tp_clock_take_anchor(&state.writer.anchor);
	state.writer.dropped = tp_ring_dropped();
	tp_ring_take(take_records, pass);
	if (window < __atomic_load_n(&tp_ring.head->windows_begun, __ATOMIC_ACQUIRE) &&
	    end_of_window(window))
		tp_ring_pick(pick_record, pass);
	if (pass->is_final && state.is_open) {
		uint64_t begin = begin_of(window), end = end_of_window(window);
		const struct tp_open_span *span;
		uint16_t slot;

		for (uint32_t i = 0; (span = tp_open_spans_next(&i, &slot));) {
			struct tp_rec rec = {
				.time = span->time, .kind = (uint8_t)span->kind,
				.name = span->name, .link = TP_NO_SEQ,
			};

			if (!tp_told_has(slot))
				tp_told_tell(&state.writer, slot);
			tp_rec_set_len(&rec, end + 1 - rec.time);
			write_changed(slot, &rec, begin, end);
		}
		tp_told_again(&state.writer);
	}
	if (state.is_open)
		note_write(tp_writer_flush(&state.writer));
	tp_ring_release(state.is_open ? window + 1 : NO_WINDOW, state.writer.n_bytes);
	return 0;
}

/* One call of own_table.h, with all that it writes; but records of the drain thread's own are
 * picked by itself. */
static void run_pass(struct pass pass)
{
	pass.own = tp_ring_self.slot;
	if (tp_ring_self.generation == tp_ring.generation)
		do_pass(&pass);
	else
		tp_own_table_call(do_pass, &pass);
}

/* ---- windows ---- */

static void note_path(const char *path)
{
	struct tp_text text;

	tp_text_init(&text, tp_ring.head->trace_path, sizeof(tp_ring.head->trace_path));
	tp_text_str(&text, path);
}

static const char *step_source_text(void)
{
	return tp_session_is_follower() ? "its rank" : tp_step_source_text();
}

/*
 * The process group came after the session. Files have the rank from here on; another process may
 * have it in its names since the beginning, so ours have the pid, too.
 */
static void take_rank(struct tp_file_head *head)
{
	const struct tp_rank *rank = &state.naming.rank;
	struct tp_ring_head *ring = tp_ring.head;

	if (!tp_rank_take(&state.naming.rank))
		return;
	state.naming.add_pid = true;
	head->rank = ring->rank = rank->rank;
	head->world_size = ring->world_size = rank->world_size;
	head->node_rank = ring->node_rank = rank->node_rank;
	tp_log_set_rank(rank->rank);
	tp_facts_add_i64("group_rank", rank->rank);
	tp_facts_add_i64("group_size", rank->world_size);
}

static const char *const opened_by[] = {
	[TP_OPENED_SCHEDULE] = "schedule", [TP_OPENED_TRIGGER] = "trigger", [TP_OPENED_RECORDER] = "recorder",
};

/* Opens the file of the window; the folder is made anew when it is gone. 0 or -errno, said. */
static int open_file(uint32_t window)
{
	const struct tp_ring_window *facts = window_at(window);
	struct tp_file_head head;
	char path[512], meta[META_BYTES];
	struct tp_text text;
	int err;

	take_rank(&state.spec.file_head);
	head = state.spec.file_head;
	state.naming.window = head.window = window;
	state.naming.epoch = facts->epoch;
	state.naming.batch = facts->first_step;
	state.naming.batch_in_epoch = facts->in_epoch;
	state.naming.real_ns = tp_clock_real_ns();
	err = tp_naming_trace_path(&state.naming, state.spec.folder->path, state.spec.config->trace_name,
				   path, sizeof(path));
	if (err)
		goto out;
	tp_text_init(&text, meta, sizeof(meta));
	state.spec.describe(&text);
	tp_text_fmt(&text, "window=%u\nepoch=%u\nfirst_step=%lu\nstep_source=%s\nopened_by=%s\n",
		    window, facts->epoch, facts->first_step, step_source_text(),
		    opened_by[facts->opened_by]);
	if (facts->opened_by != TP_OPENED_SCHEDULE)
		tp_text_fmt(&text, "opened_why=%s\n", facts->opened_by == TP_OPENED_TRIGGER
							      ? tp_trigger_why(facts->first_step)
							      : tp_session_fired_why(window));
	tp_clock_take_anchor(&state.writer.anchor);
	state.writer.dropped = tp_ring_dropped();
	state.writer.long_ticks = to_ticks(TP_LONG_NS);
	err = tp_writer_open(&state.writer, path, &head, meta, (uint32_t)text.len);
	if (err == -ENOENT) {
		/* Else it is a folder that only this window's name asks for. */
		bool is_gone;

		err = tp_folder_make(state.spec.folder, path, &is_gone);
		if (!err)
			err = tp_writer_open(&state.writer, path, &head, meta, (uint32_t)text.len);
		if (!err && is_gone)
			tp_warn("folder '%s' is gone: it is made again, what was in it is lost",
				state.spec.folder->path);
		if (!err)
			tp_ring_relink();
	}
out:
	if (err) {
		note_failed("open", path, err, window);
		return err;
	}
	tp_told_forget();
	state.is_open = true;
	state.window = window;
	state.cpu_ns = read_cpu_ns();
	note_path(path);
	return 0;
}

/* Of the many workers of a run, only those that did something in a window leave a file. */
static bool is_idle_worker(void)
{
	return state.is_open && tp_session_is_follower() && !state.writer.n_events &&
	       !state.writer.n_lost;
}

static void write_totals(struct tp_text *out, uint32_t window)
{
	const struct tp_ring_window *facts = window_at(window);
	uint64_t stall = tp_session_stall(window);
	struct tp_clock_anchor now;

	tp_clock_take_anchor(&now);
	stall = tp_clock_to_mono(&state.start, &now, state.start.ticks + stall) - state.start.mono_ns;
	tp_text_fmt(out, "window=%u\nbegin=%lu\nend=%lu\nfirst_step=%lu\nsteps=%lu\n", window,
		    begin_of(window), end_of_window(window), facts->first_step,
		    facts->end_step - facts->first_step);
	tp_text_fmt(out, "epoch=%u\nin_epoch=%lu\nstep_source=%s\nlate=%lu\nnames_lost=%lu\n",
		    facts->epoch, facts->in_epoch, step_source_text(), state.n_late,
		    __atomic_load_n(&tp_ring.head->names_lost, __ATOMIC_RELAXED));
	tp_text_fmt(out, "names_cut=%u\nwindows_lost=%u\nstall_ns=%lu\n", tp_intern_cut(),
		    tp_session_windows_lost(), stall);
	tp_text_fmt(out, "keep.removed=%lu\n", tp_naming_removed());
	if (tp_ring.head->recorder_overwritten)
		tp_text_fmt(out, "recorder.overwritten=%lu\n", tp_ring.head->recorder_overwritten);
	tp_trigger_report(out);
	for (const struct tp_probe *const *probe = state.spec.probes; *probe; probe++)
		if ((*probe)->report)
			(*probe)->report(out);
	tp_text_fmt(out, "drain_cpu_ns=%lu\n", read_cpu_ns() - state.cpu_ns);
	tp_log_unsaid(out, "unsaid=");
}

/* Whether no probe has more for the window, which is over. */
static bool is_settled(uint32_t window)
{
	/* None of those that are asked records for the flight recorder. */
	if (window_at(window)->opened_by == TP_OPENED_RECORDER)
		return true;
	for (const struct tp_probe *const *probe; *(probe = &state.spec.probes[state.n_settled]);
	     state.n_settled++)
		if ((*probe)->settle &&
		    !(*probe)->settle(end_of_window(window), state.is_closing))
			return false;
	return true;
}

/* What the trace says about devices and code: in each file, whether an event names it or not. */
static void write_loose(void)
{
	const uint32_t *id;
	uint32_t n = tp_intern_loose(&id);

	for (uint32_t i = 0; i < n; i++)
		note_write(tp_writer_string(&state.writer, id[i]));
}

static bool has_steps(uint32_t window)
{
	return window_at(window)->end_step > window_at(window)->first_step;
}

/* The window is over, and nothing more comes for it. */
static void finish_window(uint32_t window)
{
	char totals[TOTALS_BYTES];
	struct tp_text text;
	int err;

	if (state.is_open)
		write_loose();
	/* Before the last pass: see write_crossing. */
	tp_open_spans_take(end_of_window(window));
	run_pass((struct pass){.window = window, .is_final = true});
	state.last_end = end_of_window(window);
	if (is_idle_worker()) {
		tp_writer_discard(&state.writer);
		state.is_open = false;
	}
	if (state.is_open) {
		tp_text_init(&text, totals, sizeof(totals));
		write_totals(&text, window);
		state.writer.dropped = tp_ring_dropped();
		err = tp_writer_close(&state.writer, totals, (uint32_t)text.len);
		state.is_open = false;
		if (err)
			note_failed("finish", state.writer.path, err, window);
		else
			tp_naming_keep(&state.naming, state.writer.path, state.spec.config->keep,
				       has_steps(window));
		if (!err && !state.writer.error)
			note_written(state.writer.path);
		tp_info("window %u: %lu events, %lu lost, %lu bytes in '%s'", window,
			state.writer.n_events, state.writer.n_lost, state.writer.n_bytes,
			state.writer.path);
	}
	/* Release: a reader of the dead looks for this window in files only from here on. */
	__atomic_store_n(&tp_ring.head->windows_written, window + 1, __ATOMIC_RELEASE);
	tp_ring.head->trace_path[0] = '\0';
	state.n_settled = 0;
}

/* So full that records will soon be dropped. */
static bool is_half_used(void)
{
	return tp_ring_chunks_used() * 2 >= tp_ring.head->n_chunks;
}

/* A worker's file waits until something has to be written: there may be nothing at all. */
static bool is_file_due(uint32_t window)
{
	return !tp_session_is_follower() || end_of_window(window) || is_half_used() ||
	       tp_ring_waiting() >= TP_BLOCK_EVENTS_MAX;
}

/* No window has begun. */
static void make_room(uint32_t window)
{
	/* Else warm-up, or leftovers: nobody wants them. */
	if (!tp_session_recorder_trim() && is_half_used())
		run_pass((struct pass){.window = window, .is_before = true});
}

bool tp_window_serve(void)
{
	struct tp_ring_head *head = tp_ring.head;

	for (;;) {
		uint32_t window = head->windows_written;

		if (window == __atomic_load_n(&head->windows_begun, __ATOMIC_ACQUIRE)) {
			if (is_half_used() || tp_ring_is_short_of_slots())
				make_room(window);
			return true;
		}
		if (!state.is_open && is_file_due(window))
			open_file(window);
		if (!end_of_window(window)) {
			if (is_half_used() ||
			    (state.is_open && tp_ring_waiting() >= TP_BLOCK_EVENTS_MAX)) {
				tp_ring_reap(false);
				run_pass((struct pass){.window = window});
			}
			return true;
		}
		if (tp_clock_now() - end_of_window(window) < to_ticks(GRACE_NS))
			return false;
		if (!is_settled(window)) {
			if (is_half_used()) {
				tp_ring_reap(false);
				run_pass((struct pass){.window = window});
			}
			return false;
		}
		finish_window(window);
		if (window + 1 == __atomic_load_n(&head->windows_begun, __ATOMIC_ACQUIRE)) {
			if (window_at(window)->opened_by != TP_OPENED_RECORDER)
				tp_ring_forget_spans();
			tp_ring_reap(!tp_session_is_armed());
		}
	}
}

void tp_window_finish(void)
{
	struct timespec grace = {.tv_nsec = GRACE_NS};

	state.is_closing = true;
	nanosleep(&grace, NULL);
	while (!tp_window_serve())
		nanosleep(&grace, NULL);
	if (state.n_failed > 1)
		tp_warn("%u windows are lost, whole or in part: they could not be written",
			state.n_failed);
}

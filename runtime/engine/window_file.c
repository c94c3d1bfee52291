/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window_file.c - the trace file of a window: its name, what stands around the records, failures to write
 */
#include "runtime/engine/window_file.h"

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
#include "runtime/engine/ring/ring.h"
#include "runtime/engine/session.h"
#include "runtime/engine/step/step.h"
#include "runtime/engine/told.h"
#include "runtime/engine/trigger/trigger.h"
#include "runtime/engine/window_records.h"

enum {
	CALIBRATE_NS = 20000000,/* apart, two anchors give the frequency to 2 parts in a million */
	META_BYTES = 16384,
	TOTALS_BYTES = 16384,
};

static struct {
	struct tp_window_spec spec;
	struct tp_naming naming;
	struct tp_writer writer;
	struct tp_clock_anchor start;
	uint32_t window;		/* of the file that is open */
	bool is_open;			/* the file */
	uint64_t kept_bytes;		/* of it, from a ring that was whole */
	uint32_t n_failed, failed_at;	/* windows not written since the last whole one; the newest */
	uint64_t cpu_ns;		/* of our threads when the file was opened */
} state;

/* Of our threads. */
static uint64_t read_cpu_ns(void)
{
	return tp_thread_cpu_ns() + tp_own_table_cpu_ns();
}

int tp_window_file_init(const struct tp_window_spec *spec)
{
	memset(&state, 0, sizeof(state));
	state.spec = *spec;
	state.naming = *spec->naming;
	memcpy(&state.start, &tp_ring.head->anchor[0], sizeof(state.start));
	if (tp_writer_init(&state.writer, spec->arena, (uint32_t)(tp_ring.head->names_bytes / 8),
			   tp_intern_get, NULL))
		return -ENOMEM;
	state.writer.folder = spec->folder;
	return 0;
}

void tp_window_file_keep(void)
{
	state.kept_bytes = state.writer.n_bytes;
}

void tp_window_file_lose(void)
{
	if (state.is_open)
		(void)tp_own_fd_truncate(&state.writer.file, state.kept_bytes);
	tp_window_file_abandon();
}

void tp_window_file_abandon(void)
{
	if (state.is_open)
		tp_writer_abandon(&state.writer);
	state.is_open = false;
}

struct tp_writer *tp_window_file_writer(void)
{
	return state.is_open ? &state.writer : NULL;
}

uint64_t tp_window_file_ticks(uint64_t ns)
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

/* ---- failures ---- */

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

void tp_window_file_wrote(int err)
{
	if (err)
		note_failed("write", state.writer.path, err, state.window);
}

void tp_window_file_say_lost(void)
{
	if (state.n_failed > 1)
		tp_warn("%u windows are lost, whole or in part: they could not be written",
			state.n_failed);
}

/* ---- the beginning ---- */

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

/* The folder is made anew when it is gone. */
void tp_window_file_open(uint32_t window)
{
	const struct tp_ring_window *facts = tp_ring_window_at(window);
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
	state.writer.long_ticks = tp_window_file_ticks(TP_LONG_NS);
	err = tp_writer_open(&state.writer, path, &head, meta, (uint32_t)text.len);
	if (err == -ENOENT) {
		/* Else it is a folder that only this window's name asks for. */
		bool is_gone;

		err = tp_folder_make(state.spec.folder, path, &is_gone);
		if (!err)
			err = tp_writer_open(&state.writer, path, &head, meta, (uint32_t)text.len);
		if (!err && is_gone)
			tp_warn("folder '%s' was removed: it is created again, the files in it are lost",
				state.spec.folder->path);
		if (!err)
			tp_ring_relink();
	}
out:
	if (err) {
		note_failed("open", path, err, window);
		return;
	}
	tp_told_forget();
	state.is_open = true;
	tp_window_file_keep();
	state.window = window;
	state.cpu_ns = read_cpu_ns();
	note_path(path);
}

/* ---- the end ---- */

/* Of the many workers of a run, only those that did something in a window leave a file. */
static bool is_idle_worker(void)
{
	return state.is_open && tp_session_is_follower() && !state.writer.n_events &&
	       !state.writer.n_lost;
}

static void write_totals(struct tp_text *out, uint32_t window)
{
	const struct tp_ring_window *facts = tp_ring_window_at(window);
	uint64_t stall = tp_session_stall(window);
	struct tp_clock_anchor now;

	tp_clock_take_anchor(&now);
	stall = tp_clock_to_mono(&state.start, &now, state.start.ticks + stall) - state.start.mono_ns;
	tp_text_fmt(out, "window=%u\nbegin=%lu\nend=%lu\nfirst_step=%lu\nsteps=%lu\n", window,
		    tp_ring_window_begin_of(window), tp_ring_window_end_of(window), facts->first_step,
		    facts->end_step - facts->first_step);
	tp_text_fmt(out, "epoch=%u\nin_epoch=%lu\nstep_source=%s\nlate=%lu\nnames_lost=%lu\n",
		    facts->epoch, facts->in_epoch, step_source_text(), tp_window_records_late(),
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

void tp_window_file_loose(void)
{
	const uint32_t *id;
	uint32_t n = state.is_open ? tp_intern_loose(&id) : 0;

	for (uint32_t i = 0; i < n; i++)
		tp_window_file_wrote(tp_writer_string(&state.writer, id[i]));
}

static bool has_steps(uint32_t window)
{
	return tp_ring_window_at(window)->end_step > tp_ring_window_at(window)->first_step;
}

void tp_window_file_close(uint32_t window)
{
	char totals[TOTALS_BYTES];
	struct tp_text text;
	int err;

	if (is_idle_worker()) {
		tp_writer_discard(&state.writer);
		state.is_open = false;
	}
	/* Else the next round says so. */
	if (tp_ring_is_cut())
		tp_window_file_lose();
	if (!state.is_open)
		return;
	tp_text_init(&text, totals, sizeof(totals));
	write_totals(&text, window);
	state.writer.dropped = tp_ring_dropped();
	err = tp_writer_close(&state.writer, totals, (uint32_t)text.len);
	state.is_open = false;
	if (err)
		note_failed("finish", state.writer.path, err, window);
	else
		tp_naming_keep(&state.naming, state.writer.path, state.spec.config->keep, has_steps(window));
	if (!err && !state.writer.error)
		note_written(state.writer.path);
	tp_info("window %u: %lu events, %lu lost, %lu bytes in '%s'", window, state.writer.n_events,
		state.writer.n_lost, state.writer.n_bytes, state.writer.path);
}

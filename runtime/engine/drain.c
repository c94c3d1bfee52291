/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain.c - the one thread that we start: when it wakes, and what it does then
 *
 * It takes no lock that a guest thread could wait for, except in tp_intern (a spin lock for one
 * append), so that a fork never finds one held by it for long.
 */
#include "runtime/engine/drain.h"

#include <linux/futex.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/own_table.h"
#include "runtime/base/text.h"
#include "runtime/base/thread.h"
#include "runtime/engine/ledger_file.h"
#include "runtime/engine/range_memory.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/engine/ring/ring_guard.h"
#include "runtime/engine/session.h"
#include "runtime/engine/step/step.h"
#include "runtime/engine/trigger/trigger.h"
#include "runtime/engine/window.h"

enum {
	WINDOW_PERIOD_MS = 100,	/* of the check for full blocks: 16 K records take longer */
	IDLE_PERIOD_MS = 1000,	/* of the ledger */
	WATCH_PERIOD_MS = 950,	/* a round that is a little early is not to be the next but one */
	RING_PERIOD_MS = 50,	/* of the question whether the ring is still there */
	GRACE_MS = 1,		/* until a window that just ended is looked at again */
	MAX_PROBES = 24,
};

/* Of the thread. */
enum { RUNNING, DONE, ABANDONED };

static struct {
	struct tp_window_spec spec;
	const char *ledger_path;
	struct tp_ledger_file ledger;
	bool is_closing;	/* atomic */
	uint32_t tid;		/* atomic; 0: it does not run yet */
	uint32_t end;		/* atomic; futex word */
	bool was_armed, has_ledger;
	bool is_prompt;		/* the thread is not patient */
	uint32_t ticked_in;		/* windows that had begun at the last tick */
	uint64_t tick_due[MAX_PROBES];	/* mono ns */
	uint64_t ring_due;
	uint64_t ledger_due, watch_due;
} drain;

/* Where threads of the program may wait for a sample (range_memory.h), it is to come before all else. */
static void set_prompt(bool is_prompt)
{
	if (is_prompt != drain.is_prompt)
		tp_thread_set_patient(!is_prompt);
	drain.is_prompt = is_prompt;
}

static void wait_for_bell(uint32_t seen, uint64_t ns)
{
	struct timespec wait = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	syscall(SYS_futex, &tp_ring_bell, FUTEX_WAIT_PRIVATE, seen, &wait, NULL, 0);
}

/* A worker looks at its rank meanwhile. */
static void wait_for_work(uint32_t seen, uint64_t ns)
{
	const uint64_t look_ns = TP_SESSION_FOLLOW_MS * 1000000ull;

	while (tp_session_is_follower() && ns > look_ns) {
		wait_for_bell(seen, look_ns);
		if (__atomic_load_n(&tp_ring_bell, __ATOMIC_ACQUIRE) != seen ||
		    tp_session_follow())
			return;
		ns -= look_ns;
	}
	wait_for_bell(seen, ns);
}

/* A reader of the dead must not take half an anchor: the bracket says when it is whole. */
static void keep_anchor(const struct tp_clock_anchor *anchor)
{
	uint64_t *kept = &tp_ring.head->anchor[4];

	__atomic_store_n(&kept[3], UINT64_MAX, __ATOMIC_RELAXED);
	__atomic_store_n(&kept[0], anchor->ticks, __ATOMIC_RELEASE);
	__atomic_store_n(&kept[1], anchor->mono_ns, __ATOMIC_RELEASE);
	__atomic_store_n(&kept[2], anchor->real_ns, __ATOMIC_RELEASE);
	__atomic_store_n(&kept[3], anchor->bracket_ticks, __ATOMIC_RELEASE);
}

/* Lets the probes tick that are due; returns when the next one is. */
static uint64_t tick_probes(uint64_t now_ns)
{
	bool is_armed = tp_session_is_armed();
	uint32_t n_begun = __atomic_load_n(&tp_ring.head->windows_begun, __ATOMIC_RELAXED);
	uint64_t next = UINT64_MAX;

	/* Once at least in each warm-up and in each window, also where they are shorter than a period. */
	if (is_armed && (!drain.was_armed || n_begun != drain.ticked_in))
		memset(drain.tick_due, 0, sizeof(drain.tick_due));
	drain.ticked_in = n_begun;
	drain.was_armed = is_armed;
	for (uint32_t i = 0; is_armed && i < MAX_PROBES && drain.spec.probes[i]; i++) {
		const struct tp_probe *probe = drain.spec.probes[i];
		uint64_t period_ns;

		if (!probe->tick || !probe->period_ms)
			continue;
		period_ns = (uint64_t)probe->period_ms() * 1000000u;
		if (!period_ns)
			continue;
		if (now_ns >= drain.tick_due[i]) {
			probe->tick(tp_clock_now());
			drain.tick_due[i] = now_ns + period_ns;
		}
		if (drain.tick_due[i] < next)
			next = drain.tick_due[i];
	}
	return next;
}

static void let_probes_watch(uint64_t now_ns)
{
	bool is_due = now_ns >= drain.watch_due;

	if (is_due)
		drain.watch_due = now_ns + WATCH_PERIOD_MS * 1000000ull;
	for (uint32_t i = 0; drain.spec.probes[i]; i++) {
		const struct tp_probe *probe = drain.spec.probes[i];

		if (probe->watch && (is_due || (probe->is_urgent && probe->is_urgent())))
			probe->watch(now_ns);
	}
}

/* Outside windows; returns in how long the next look is due. */
static uint64_t let_probes_look(uint64_t now)
{
	uint64_t next = UINT64_MAX;

	for (uint32_t i = 0; !drain.was_armed && drain.spec.probes[i]; i++) {
		const struct tp_probe *probe = drain.spec.probes[i];
		uint64_t ns = probe->look ? probe->look(now) : UINT64_MAX;

		next = ns < next ? ns : next;
	}
	return next;
}

/* Longest sleep that lets a step that is bounded by the clock end in time. */
static uint64_t step_period_ns(void)
{
	const struct tp_step_spec *step = &drain.spec.config->step;
	uint64_t ms = step->source == TP_STEP_CLOCK ? step->clock_ms / 8 : IDLE_PERIOD_MS;

	if (ms < 5)
		ms = 5;
	return ms * 1000000u;
}

static bool is_closing(void)
{
	return __atomic_load_n(&drain.is_closing, __ATOMIC_ACQUIRE);
}

static void open_ledger(void)
{
	const struct tp_window_spec *spec = &drain.spec;
	struct tp_ledger_head head = {
		.run_id = spec->file_head.run_id,
		.boot_id = {spec->file_head.boot_id[0], spec->file_head.boot_id[1]},
		.rank = spec->file_head.rank, .local_rank = spec->file_head.local_rank,
		.world_size = spec->file_head.world_size, .node_rank = spec->file_head.node_rank,
		.pid = spec->file_head.pid, .restart = spec->file_head.restart,
		.pid_ns = spec->file_head.pid_ns, .parent_pid = tp_ring.head->ppid,
		.fork_ns = spec->naming->fork_ns,
	};
	struct tp_clock_anchor start;
	struct tp_text host, job;

	memcpy(&start, &tp_ring.head->anchor[0], sizeof(start));
	head.mono_ns = start.mono_ns;
	head.real_ns = start.real_ns;
	tp_text_init(&host, head.host, sizeof(head.host));
	tp_text_str(&host, spec->naming->host);
	tp_text_init(&job, head.job, sizeof(head.job));
	tp_text_str(&job, spec->naming->job ? spec->naming->job : "");
	/* Its failure is no reason not to record. */
	tp_ledger_file_open(&drain.ledger, spec->folder, drain.ledger_path, &spec->naming->ledger,
			    &head, &start);
}

/* A worker's session has no steps, and no ledger, before it leads. */
static void need_ledger(void)
{
	if (drain.has_ledger || tp_session_is_follower())
		return;
	drain.has_ledger = true;
	open_ledger();
}

/* Before a round: somebody may have cut the ring's file, and then what is gone must not be touched
 * any more, by us nor by the program's threads. In the middle of a round it is read as zeros. */
static bool has_ring(void)
{
	tp_ring_guard_watch();
	if (!tp_ring_is_cut())
		return true;
	tp_ring_lose();
	tp_session_lose();
	tp_warn("buffer file '%s' was truncated: recording ends, and records that are not in a trace "
		"yet are lost", tp_ring.path);
	return false;
}

/* Samples are taken in rounds of a few milliseconds, and to ask costs as much as half of one. */
static bool has_ring_for_round(void)
{
	const uint64_t now_ns = tp_clock_mono_ns();

	if (now_ns < drain.ring_due && !tp_ring_guard_has_met())
		return true;
	drain.ring_due = now_ns + RING_PERIOD_MS * 1000000ull;
	return has_ring();
}

static void drain_ledger(const struct tp_clock_anchor *now, bool is_last)
{
	char lines[TP_LEDGER_NOTES];
	struct tp_text notes;

	tp_ledger_file_drain(&drain.ledger, now);
	tp_text_init(&notes, lines, sizeof(lines));
	for (uint32_t i = 0; drain.spec.probes[i]; i++)
		if (drain.spec.probes[i]->note)
			drain.spec.probes[i]->note(&notes, is_last);
	if (notes.len)
		tp_ledger_file_note(&drain.ledger, lines);
}

/* Ends with the files as they are, but for what a pass wrote that met the cut ring. */
static void lose_files(void)
{
	tp_window_lose();
	tp_ledger_file_close(&drain.ledger);
}

static void finish_files(void)
{
	struct tp_clock_anchor anchor;

	tp_window_finish();
	if (!has_ring()) {
		lose_files();
		return;
	}
	need_ledger();
	tp_clock_take_anchor(&anchor);
	keep_anchor(&anchor);
	drain_ledger(&anchor, true);
	tp_ledger_file_end(&drain.ledger);
	tp_ledger_file_close(&drain.ledger);
}

/* One round; returns how long there is nothing to do. */
static uint64_t do_round(void)
{
	struct tp_clock_anchor anchor;
	uint64_t next, wait_ns, n_rows, look_ns, probe_ns;
	bool is_settled;

	tp_clock_take_anchor(&anchor);
	keep_anchor(&anchor);
	tp_session_follow();
	need_ledger();
	if (!tp_session_is_follower())
		tp_step_clock(anchor.ticks);
	let_probes_watch(anchor.mono_ns);
	set_prompt(false);
	look_ns = tp_trigger_look(anchor.mono_ns);
	next = tick_probes(anchor.mono_ns);
	probe_ns = let_probes_look(anchor.ticks);
	is_settled = tp_window_serve();
	/* Programs that make a thread for each task have many of them between two windows. */
	if (!drain.was_armed && is_settled && tp_ring_is_short_of_slots())
		tp_ring_reap(!tp_session_is_armed());
	n_rows = __atomic_load_n(&tp_ring.head->steps_done, __ATOMIC_RELAXED) -
		 tp_ring.head->steps_drained;
	if (anchor.mono_ns >= drain.ledger_due || n_rows >= TP_RING_STEPS / 2) {
		drain_ledger(&anchor, false);
		drain.ledger_due = anchor.mono_ns + IDLE_PERIOD_MS * 1000000ull;
	}

	wait_ns = (drain.was_armed ? WINDOW_PERIOD_MS : IDLE_PERIOD_MS) * 1000000ull;
	if (!is_settled)
		wait_ns = GRACE_MS * 1000000ull;
	if (next < anchor.mono_ns + wait_ns)
		wait_ns = next - anchor.mono_ns;
	if (step_period_ns() < wait_ns)
		wait_ns = step_period_ns();
	if (probe_ns < wait_ns)
		wait_ns = probe_ns;
	return look_ns < wait_ns ? look_ns : wait_ns;
}

static void *run(void *unused)
{
	bool is_whole;

	tp_thread_introduce("trainprof", true);
	__atomic_store_n(&drain.tid, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	for (uint32_t i = 0; drain.spec.probes[i]; i++)
		if (drain.spec.probes[i]->warm)
			drain.spec.probes[i]->warm();
	while ((is_whole = has_ring_for_round()) && !is_closing()) {
		uint32_t seen = __atomic_load_n(&tp_ring_bell, __ATOMIC_ACQUIRE);
		uint64_t wait_ns = do_round();

		set_prompt(tp_range_memory_is_on && drain.was_armed);
		if (!is_closing())
			wait_for_work(seen, wait_ns);
	}
	set_prompt(false);
	is_whole ? finish_files() : lose_files();
	/* A process ends when its last thread does. */
	if (__atomic_exchange_n(&drain.end, DONE, __ATOMIC_ACQ_REL) == ABANDONED || !is_whole)
		tp_own_table_stop();
	syscall(SYS_futex, &drain.end, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	return NULL;
}

int tp_drain_start(const struct tp_window_spec *spec, const char *ledger_path)
{
	int err;

	memset(&drain, 0, sizeof(drain));
	drain.spec = *spec;
	drain.ledger_path = ledger_path;
	err = tp_window_init(spec);
	if (err)
		return err;
	need_ledger();
	return tp_thread_start(run);
}

bool tp_drain_stop(uint32_t timeout_ms)
{
	uint64_t end_ns = tp_clock_mono_ns() + timeout_ms * 1000000ull;

	__atomic_store_n(&drain.is_closing, true, __ATOMIC_RELEASE);
	tp_ring_ring_bell();
	while (__atomic_load_n(&drain.end, __ATOMIC_ACQUIRE) == RUNNING) {
		uint64_t now_ns = tp_clock_mono_ns();
		struct timespec wait;

		if (now_ns >= end_ns)
			return __atomic_exchange_n(&drain.end, ABANDONED, __ATOMIC_ACQ_REL) == DONE;
		wait.tv_sec = (time_t)((end_ns - now_ns) / 1000000000u);
		wait.tv_nsec = (long)((end_ns - now_ns) % 1000000000u);
		syscall(SYS_futex, &drain.end, FUTEX_WAIT_PRIVATE, RUNNING, &wait, NULL, 0);
	}
	/* Of a process whose threads end one by one the kernel says the last one's status: that must
	 * not be ours. */
	tp_thread_await_gone(__atomic_load_n(&drain.tid, __ATOMIC_ACQUIRE));
	return true;
}

void tp_drain_forked(void)
{
	tp_window_abandon();
	tp_ledger_file_close(&drain.ledger);
}

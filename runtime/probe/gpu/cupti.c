/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti.c - the probe: windows switch CUPTI's records on and off, the drain thread reads them
 *
 * What CUPTI is asked for is cupti_hold.c's; here is when. Buffers come back late: when they are
 * full, when CUPTI is asked for them, and those with work in them that is not done only after
 * it is. So after a window the drain asks again and again, and after SETTLE_NS by force: then
 * records of unfinished work come without an end, and are counted.
 *
 * A process without CUDA pays for a look at the number of loaded objects when a window is armed, and each
 * half second while it is open.
 */
#include "runtime/probe/gpu/cupti.h"

#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/text.h"
#include "runtime/engine/config/config.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/engine/session.h"
#include "runtime/probe/gpu/cupti_buffers.h"
#include "runtime/probe/gpu/cupti_calls.h"
#include "runtime/probe/gpu/cupti_clock.h"
#include "runtime/probe/gpu/cupti_decode.h"
#include "runtime/probe/gpu/cupti_hold.h"
#include "runtime/probe/gpu/cupti_kinds.h"
#include "runtime/probe/gpu/cupti_lib.h"
#include "runtime/probe/gpu/cupti_queue.h"
#include "runtime/probe/gpu/cupti_share.h"
#include "runtime/probe/gpu/cupti_yield.h"

enum {
	PERIOD_MS = 50,		/* 32 MB hold some 200,000 kernels with their calls */
	HURRY_MS = 2,		/* full buffers wait */
	LOOK_MS = 500,		/* CUDA may come within a window, and nobody tell */
	RECORDS_MOST = 16384,	/* made in one go: then the window's writer has a look */
};
/* Asking takes CUPTI's locks, which launches need, too. What a killed process loses is as old. */
#define FLUSH_NS 250000000u
#define SETTLE_FLUSH_NS 5000000u
#define SETTLE_NS 700000000u

static struct {
	pid_t pid;		/* whose all this is */
	uint64_t armed_at;	/* atomic; ticks, last */
	/* Drain thread. */
	struct tp_cupti_batch batch;
	uint8_t *buffer;	/* being decoded */
	bool has_more;
	uint64_t flushed_ns;
	uint64_t settling;	/* end of the window that is; 0: none */
	uint64_t settling_ns;	/* since when, or since a later one ended */
	uint32_t n_over;	/* of those, and it */
	bool is_forced;
	uint32_t n_given;	/* buffers decoded; counts on */
	struct stop {		/* how far a window that settles had come */
		bool is_set;
		uint32_t n_given, n_kept;
		size_t at;
	} stop;
	uint32_t n_kept;	/* buffers that CUPTI did not give back in time */
} probe;

/* ---- buffers into records ---- */

static struct tp_cupti_span read_window(uint32_t window)
{
	const struct tp_ring_window *facts = tp_ring_window_at(window);

	return (struct tp_cupti_span){
		.begin = __atomic_load_n(&facts->begin, __ATOMIC_ACQUIRE),
		.end = __atomic_load_n(&facts->end, __ATOMIC_ACQUIRE),
	};
}

static struct tp_cupti_wanted get_window(void)
{
	uint32_t window = tp_ring.head->windows_written;
	struct tp_cupti_wanted wanted = {.has_window = false};
	uint32_t n_begun = __atomic_load_n(&tp_ring.head->windows_begun, __ATOMIC_ACQUIRE);
	struct tp_cupti_span span;

	if (window == n_begun)
		return wanted;
	span = read_window(window);
	wanted.begin = span.begin;
	wanted.end = span.end;
	wanted.has_window = true;
	while (++window < n_begun)
		wanted.later[wanted.n_later++] = span = read_window(window);
	wanted.has_next = span.end && __atomic_load_n(&probe.armed_at, __ATOMIC_RELAXED) >= span.end;
	return wanted;
}

/* As many as the ring takes without being emptied in between. */
static uint32_t records_at_once(void)
{
	uint32_t most = tp_ring.head->n_chunks * (uint32_t)TP_CHUNK_RECORDS / 4;

	return most < RECORDS_MOST ? most : RECORDS_MOST;
}

/* False: there is more. */
static bool decode(void)
{
	size_t left = (size_t)records_at_once() * sizeof(CUpti_ActivityAPI), before;

	while (left) {
		struct tp_cupti_wanted wanted;

		if (!probe.buffer) {
			probe.buffer = tp_cupti_buffer_take(&probe.batch.n_bytes);
			if (!probe.buffer)
				return true;
			probe.batch.bytes = probe.buffer;
			probe.batch.at = 0;
		}
		/* After it came back: what is in it was recorded in a window that is known now. */
		wanted = get_window();
		before = probe.batch.at;
		if (!tp_cupti_decode(&probe.batch, &wanted,
				     (uint32_t)(left / sizeof(CUpti_ActivityAPI)) + 1))
			return false;	/* enough, or the ring is to be drained first */
		tp_cupti_buffer_give(probe.buffer);
		probe.buffer = NULL;
		probe.n_given++;
		before = probe.batch.at - before;
		left -= before < left ? before : left;
	}
	return !tp_cupti_buffers_full();
}

/* ---- while a window is open ---- */

/* Not in a child of fork that has no CUDA of its own: not even the time is asked for there. */
static bool is_at_work(void)
{
	return tp_cupti_cuda_is_here() && probe.pid == getpid();
}

static uint32_t get_period_ms(void)
{
	if (!tp_cupti_hold_config() || probe.pid != getpid())
		return 0;
	if (!tp_cupti_cuda_is_here())
		return LOOK_MS;
	return probe.has_more || tp_cupti_buffers_full() ? HURRY_MS : PERIOD_MS;
}

/* Another thread has the turn, and will switch: what the window lacks until then is marked. */
static void note_if_late(void)
{
	enum tp_cupti_state state = tp_cupti_hold_state();

	if (!tp_cupti_cuda_is_here() || state == TP_CUPTI_ON || state == TP_CUPTI_OFF)
		return;
	tp_cupti_gap_late();
	if (tp_cupti_hold_state() == TP_CUPTI_ON)
		tp_cupti_gap_over();
}

/* The driver tells us as it begins, but not where a debugger has its place. */
static bool find_cuda(void)
{
	if (tp_cupti_cuda_is_here())
		return true;
	tp_cupti_look_for_cuda();
	note_if_late();
	return tp_cupti_cuda_is_here();
}

static void tick(uint64_t now)
{
	uint64_t now_ns = tp_clock_mono_ns();
	struct tp_cupti_wanted window;

	if (!find_cuda())
		return;
	tp_cupti_look_for_bindings();
	tp_cupti_follow();
	tp_cupti_say_off();
	tp_cupti_buffers_warm();
	tp_cupti_clock_read();
	/* Not at the first look: the thread that arms needs the turn just then. */
	if (now_ns - probe.flushed_ns >= 2 * FLUSH_NS)
		probe.flushed_ns = now_ns;
	else if (now_ns - probe.flushed_ns >= FLUSH_NS && tp_cupti_flush(false))
		probe.flushed_ns = now_ns;
	probe.has_more = !decode();
	window = get_window();
	tp_cupti_yield_mark(&window);
}

/* ---- after it ---- */

static void begin_settling(uint64_t end, uint64_t now_ns)
{
	probe.settling = end;
	probe.settling_ns = now_ns;
	probe.flushed_ns = 0;
	probe.is_forced = false;
	probe.n_over = 0;
	probe.stop.is_set = false;
}

/*
 * CUPTI's buffers hold the work of all windows that are over, and come back when all of it is done: so
 * each of them that ends gives the device its time anew. (There are TP_RING_WINDOWS at most.)
 */
static void wait_for_later(uint64_t now_ns)
{
	struct tp_cupti_wanted window = get_window();
	uint32_t n_over = 1;

	for (uint32_t i = 0; i < window.n_later; i++)
		n_over += window.later[i].end != 0;
	if (n_over > probe.n_over)
		probe.settling_ns = now_ns;
	probe.n_over = n_over;
}

/*
 * What is to be put waits for the drain, which was here since and found nothing of this window to take:
 * what fills the ring is of later ones, and leaves it only when this one is finished. So it must be.
 */
static bool is_stuck(void)
{
	struct stop stop = {true, probe.n_given, tp_cupti_place_n_kept(), probe.batch.at};
	bool is_same = probe.stop.is_set && stop.n_given == probe.stop.n_given &&
		       stop.n_kept == probe.stop.n_kept && stop.at == probe.stop.at;

	probe.stop = stop;
	return is_same;
}

/* Nothing of before `end` is still with CUPTI, or it will not give it back. */
static bool has_all(uint64_t end)
{
	if (tp_cupti_hold_state() == TP_CUPTI_OFF)
		return true;
	return tp_session_is_armed() ? !tp_cupti_buffers_held_since(end) :
				       !tp_cupti_buffers_held();
}

static bool settle(uint64_t end, bool is_closing)
{
	uint64_t now_ns = tp_clock_mono_ns();
	struct tp_cupti_wanted window;
	bool has_stuck;

	if (!is_at_work())
		return true;
	if (probe.settling != end)
		begin_settling(end, now_ns);
	wait_for_later(now_ns);
	tp_cupti_follow();
	tp_cupti_clock_read();
	if (now_ns - probe.flushed_ns >= SETTLE_FLUSH_NS && tp_cupti_flush(false))
		probe.flushed_ns = now_ns;
	has_stuck = !decode();
	if (has_stuck && !is_stuck())
		return false;
	if (!has_stuck && !has_all(end)) {
		bool is_late = is_closing || now_ns - probe.settling_ns >= SETTLE_NS;

		if (!is_late)
			return false;
		/* By force while the next window is warmed up, its records would be cut, too. */
		if (!probe.is_forced && (is_closing || !tp_session_is_armed())) {
			probe.is_forced = tp_cupti_flush(true) || is_closing;
			if (!decode())
				return false;
		}
	}
	window = get_window();
	if (!tp_cupti_place_kept(&window, true, !has_stuck)) {
		if (!is_stuck())
			return false;
		tp_cupti_place_kept(&window, true, false);
	}
	probe.n_kept = tp_session_is_armed() ? tp_cupti_buffers_held_since(end) :
					       tp_cupti_buffers_held();
	tp_cupti_say_off();
	tp_cupti_yield_mark(&window);
	probe.has_more = false;
	return true;
}

static void report(struct tp_text *totals)
{
	uint64_t yielded_ns, unready_ns;
	uint32_t times, n_unready;

	if (!tp_cupti.version || probe.pid != getpid())
		return;
	tp_text_fmt(totals, "cupti.version=%u\ncupti.path=%s\n", tp_cupti.version, tp_cupti.path);
	tp_cupti_decode_report(totals);
	tp_cupti_yielded(&times, &yielded_ns);
	tp_cupti_unready(&n_unready, &unready_ns);
	const struct {
		const char *name;
		uint64_t value;
	} counts[] = {
		{"dropped", tp_cupti_dropped() + tp_cupti_share_lost()},
		{"refused", tp_cupti_buffers_refused()},
		{"trashed_bytes", tp_cupti_buffers_trashed_bytes()},
		{"buffers_kept", probe.n_kept},
		{"errors", tp_cupti_errors()},
		{"yielded", times},
		{"yielded_ns", yielded_ns},
		{"unready", n_unready},
		{"unready_ns", unready_ns},
	};
	for (uint32_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		if (counts[i].value)
			tp_text_fmt(totals, "cupti.%s=%lu\n", counts[i].name, counts[i].value);
}

/* ---- the session ---- */

static void forget_parent(void)
{
	memset(&probe, 0, sizeof(probe));
	tp_cupti_hold_forked();
	tp_cupti_yield_forked();
	tp_cupti_kinds_forget();
	tp_cupti_calls_forked();
	tp_cupti_buffers_forked();
	tp_cupti_decode_forked();
	tp_cupti_queue_forked();
}

static int open_cupti(const struct tp_config *config)
{
	if (!tp_cupti_hold_config())
		return 0;
	/* A fork before there was a session told nobody. */
	if (probe.pid && probe.pid != getpid())
		forget_parent();
	probe.pid = getpid();
	tp_cupti_clock_reset();
	tp_cupti_look_for_cuda();
	tp_cupti_look_for_bindings();
	tp_cupti_follow();
	tp_cupti_say_off();
	return 0;
}

static void warm(void)
{
	if (!is_at_work())
		return;
	tp_cupti_buffers_warm();
	tp_cupti_clock_read();
}

static void arm(void)
{
	if (!tp_cupti_hold_config() || probe.pid != getpid())
		return;
	tp_cupti_look_for_cuda();
	tp_cupti_look_for_bindings();
	tp_cupti_yield_look();
	__atomic_store_n(&probe.armed_at, tp_clock_now(), __ATOMIC_RELAXED);
	tp_cupti_want_records(true);
	tp_cupti_follow();
	note_if_late();
	tp_cupti_say_off();
}

static void disarm(void)
{
	tp_cupti_want_records(false);
	tp_cupti_follow();
}

const struct tp_probe tp_cupti_probe = {
	.name = "cuda",
	.open = open_cupti,
	.warm = warm,
	.arm = arm,
	.disarm = disarm,
	.period_ms = get_period_ms,
	.tick = tick,
	.settle = settle,
	.report = report,
	.forked = forget_parent,
	.close = tp_cupti_hold_close,
};

void tp_cupti_allow(const struct tp_config *config)
{
	probe.pid = getpid();
	tp_cupti_hold_init(config);
}

void tp_cupti_injection_taken(const char *path)
{
	tp_cupti_hold_taken(path);
}

void tp_cupti_inject(void)
{
	tp_cupti_cuda_came();
}

void tp_cupti_ask_queues(void)
{
	if (!is_at_work() || tp_cupti_hold_state() != TP_CUPTI_ON)
		return;
	tp_cupti_queue_begin();
	tp_cupti_flush(true);
}

void tp_cupti_end(void)
{
	tp_cupti_hold_end();
}

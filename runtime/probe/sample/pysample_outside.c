/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_outside.c - samples outside windows, of slow steps and of the run: see pysample_outside.h
 */
#include "runtime/probe/sample/pysample_outside.h"

#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/thread.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/engine/session.h"
#include "runtime/probe/sample/pysample.h"
#include "runtime/probe/sample/pysample_gc.h"
#include "runtime/probe/sample/pysample_picture.h"
#include "runtime/probe/sample/pysample_rate.h"
#include "runtime/probe/sample/pysample_read.h"
#include "runtime/probe/sample/pysample_slow.h"
#include "runtime/probe/sample/pysample_stand.h"
#include "runtime/probe/sample/pysample_threads.h"
#include "runtime/trace/ledger.h"

enum {
	LOOK_MS = 100,
	LOOK_EARLY_MS = 1000,	/* before enough steps have ended: a worker has none */
	SAMPLES_MOST = 1000,	/* of one step: that may hang for days */
	NOTES_FREELY = 64,	/* then a line of the ledger each time steps are an eighth more */
	NOTE_BYTES = 480,
};

static struct {
	struct tp_slow slow;
	struct tp_pysample_rate rate;
	uint64_t steps;		/* that have ended */
	uint64_t step_begin;	/* of the one that runs, in ticks */
	uint32_t n_notes;
	uint64_t next_note;	/* the first step that may be told of */
	char text[4 * NOTE_BYTES];	/* that are not in the ledger yet */
	struct tp_text notes;
	struct tp_pysample_look look;
	struct tp_picture picture;
	struct tp_pysample_rate picture_rate;
	uint64_t picture_due, drawn;	/* ns of CLOCK_MONOTONIC */
} outside;

void tp_pysample_outside_open(uint64_t slow_hz, uint64_t picture_hz)
{
	memset(&outside, 0, sizeof(outside));
	tp_text_init(&outside.notes, outside.text, sizeof(outside.text));
	tp_pysample_rate_init(&outside.rate, slow_hz);
	tp_pysample_rate_init(&outside.picture_rate, picture_hz);
	/* Nothing for free: on a busy machine every other step is slow. */
	outside.rate.spent_ns = TP_PYSAMPLE_FIRST_NS;
}

void tp_pysample_outside_forked(void)
{
	outside.notes.len = 0;
	outside.steps = outside.slow.n_steps = 0;
	memset(&outside.picture, 0, sizeof(outside.picture));
	tp_slow_reset(&outside.slow);
}

/* The slow step has ended. */
static void tell(uint64_t step)
{
	char where[NOTE_BYTES - 64];
	struct tp_text out;

	if (step < outside.next_note)
		return;
	for (uint32_t n = TP_SLOW_TOLD; n; n--) {
		tp_text_init(&out, where, sizeof(where));
		if (!tp_slow_tell(&outside.slow, n, tp_pysample_name_of, &out))
			return;
		if (!out.is_cut)
			break;
	}
	if (out.is_cut || outside.notes.len + NOTE_BYTES > sizeof(outside.text))
		return;
	tp_text_fmt(&outside.notes, TP_LEDGER_SLOW "%lu=%u %s\n", (unsigned long)step, outside.slow.n_samples, where);
	if (++outside.n_notes >= NOTES_FREELY)
		outside.next_note = step + step / 8;
}

static bool is_recorded(const struct tp_ring_step *step)
{
	return step->phase == TP_PHASE_WARMUP || step->phase == TP_PHASE_ACTIVE;
}

/* Steps that have ended since. Recording makes steps longer. */
static void follow_steps(void)
{
	const uint64_t steps = __atomic_load_n(&tp_ring.head->steps_done, __ATOMIC_ACQUIRE);
	uint64_t at = outside.steps;

	if (steps == at)
		return;
	/* A few of a short slow step count with the next one's. */
	if (outside.slow.n_samples >= TP_SLOW_SAMPLES) {
		tell(at);
		tp_slow_reset(&outside.slow);
	}
	if (steps - at > TP_SLOW_STEPS)
		at = steps > TP_SLOW_STEPS ? steps - TP_SLOW_STEPS : 0;
	for (; at < steps; at++) {
		struct tp_ring_step step;

		if (!tp_ring_step(at, &step))
			continue;
		if (!is_recorded(&step))
			tp_slow_step(&outside.slow, step.duration);
		outside.step_begin = step.begin + step.duration;
	}
	outside.steps = steps;
}

/* Steps end on the process's first thread. */
static void take_sample(void)
{
	const uint64_t begin_ns = tp_thread_cpu_ns();
	struct tp_pysample_thread *trainer = tp_pysample_thread_of((uint32_t)getpid());
	struct tp_pysample_gc gc;

	outside.look.digest = 0;
	tp_pysample_gc_read(&gc);
	if (trainer && tp_pysample_look(trainer->state, &trainer->kernel, &trainer->hint, &outside.look) ==
			       TP_PYSAMPLE_NAMED) {
		tp_pysample_stand_note(&outside.look, tp_clock_now());
		tp_slow_take(&outside.slow, &outside.look,
			     gc.is_collecting && trainer->state == tp_pysample_lock_holder(),
			     tp_pysample_name_of);
	}
	tp_pysample_rate_note(&outside.rate, tp_thread_cpu_ns() - begin_ns);
}

/* ---- the run ---- */

/* One that trains counts as it stands, the others where they run. */
static void take_picture(void)
{
	const uint64_t begin_ns = tp_thread_cpu_ns();
	const uint32_t pid = (uint32_t)getpid();
	struct tp_pysample_thread *thread;
	struct tp_pysample_gc gc;
	const char *holder;
	bool is_whole;
	uint32_t n;

	thread = tp_pysample_threads(&n, &is_whole);
	holder = tp_pysample_gc_read(&gc) && gc.is_collecting ? tp_pysample_lock_holder() : NULL;
	for (uint32_t i = 0; i < n; i++) {
		const bool is_other = thread[i].kernel.tid != pid;

		if (!thread[i].kernel.tid || (is_other && !thread[i].kernel.ran_ns))
			continue;
		outside.look.digest = 0;
		if (tp_pysample_look(thread[i].state, &thread[i].kernel, &thread[i].hint, &outside.look) ==
			    TP_PYSAMPLE_NAMED && outside.look.n) {
			if (!is_other)
				tp_pysample_stand_note(&outside.look, tp_clock_now());
			tp_picture_take(&outside.picture, &outside.look, is_other,
					holder && thread[i].state == holder, tp_pysample_name_of);
		}
	}
	tp_pysample_rate_note(&outside.picture_rate, tp_thread_cpu_ns() - begin_ns);
}

/* In how many ns the next one is due. */
static uint64_t follow_run(void)
{
	const uint64_t now_ns = tp_clock_mono_ns();

	/* A worker's is its rank's time. */
	if (tp_session_is_follower())
		return UINT64_MAX;
	if (now_ns >= outside.picture_due) {
		if (outside.picture_due)
			take_picture();
		outside.picture_due =
			now_ns + tp_pysample_rate_draw_ms(tp_pysample_rate_outside_ms(&outside.picture_rate),
							  &outside.drawn) * 1000000;
	}
	return outside.picture_due - now_ns;
}

/* ---- slow steps ---- */

/* In how many ns the next look is due. */
static uint64_t look_at_step(uint64_t now)
{
	uint64_t limit;

	follow_steps();
	limit = tp_slow_limit(&outside.slow);
	if (limit == UINT64_MAX)
		return LOOK_EARLY_MS * 1000000ull;
	if (now < outside.step_begin || now - outside.step_begin <= limit ||
	    outside.slow.n_samples >= SAMPLES_MOST)
		return LOOK_MS * 1000000ull;
	take_sample();
	return tp_pysample_rate_ms(&outside.rate) * 1000000;
}

uint64_t tp_pysample_outside_look(uint64_t now)
{
	uint64_t step_ns, run_ns;

	if (!tp_pysample_is_ready())
		return UINT64_MAX;
	step_ns = look_at_step(now);
	run_ns = follow_run();
	return step_ns < run_ns ? step_ns : run_ns;
}

void tp_pysample_outside_note(struct tp_text *facts, bool is_last)
{
	if (tp_picture_is_due(&outside.picture, outside.steps, is_last))
		tp_picture_tell(&outside.picture, outside.steps, tp_pysample_name_of, facts);
	tp_text_bytes(facts, outside.notes.buf, outside.notes.len);
	outside.notes.len = 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample.c - a round of samples: the threads, their stacks, a record each
 *
 * Drain thread, but for open, arm and disarm.
 */
#include "runtime/probe/sample/pysample.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/text.h"
#include "runtime/base/thread.h"
#include "runtime/engine/config/config.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/engine/session.h"
#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/python/pyframe_layout.h"
#include "runtime/probe/python/pystack_check.h"
#include "runtime/probe/sample/pysample_gc.h"
#include "runtime/probe/sample/pysample_names.h"
#include "runtime/probe/sample/pysample_outside.h"
#include "runtime/probe/sample/pysample_rate.h"
#include "runtime/probe/sample/pysample_read.h"
#include "runtime/probe/sample/pysample_stand.h"
#include "runtime/probe/sample/pysample_threads.h"
#include "runtime/probe/stack/stack_tree.h"

/* Of a frame and the sample that names it: readers sort by time (stack_tree.c). */
enum { FRAME_BEFORE = 64 };
enum { RENAMED = 32 };	/* rounds, after which names are read again though the frames are the same */
enum { SOON_NS = 150000, LOOKS = 3 };	/* of one look; that are made for one sample */

static struct {
	bool can_read, is_on;
	const char *why_no_gc;	/* of garbage nothing is known; NULL: it is */
	struct tp_pysample_rate rate;
	uint64_t drawn;
	uint32_t ring_generation;
	uint32_t pid;		/* of this round */
	uint32_t window;	/* of the last round */
	uint64_t last_ns;	/* its time */
	bool counts_garbage;	/* between arm and disarm */
	struct tp_pysample_gc gc;	/* as it was counted last */
	uint64_t collections[TP_PYSAMPLE_GENERATIONS];	/* of the window that ends */
	uint64_t n_samples, n_idle, n_discarded, n_broken, n_cut, n_dropped, n_rounds, n_kept, ticks;
	struct tp_pysample_state *asked[TP_PYSAMPLE_THREADS];
	struct tp_pysample_look look;
} sampler;

struct round {
	uint64_t begin;		/* before it was asked who has run */
	uint64_t since_ns;	/* after the one before; 0: the first of a window */
	const char *lock_holder;
	const char *collecting;	/* the state of the thread that collects garbage; NULL: none does */
};

const char *tp_pysample_init(void)
{
	const struct tp_pyframe_layout *layout;
	const char *why = tp_pyapi_find();

	if (why)
		return why;
	layout = tp_pyframe_layout(&why);
	if (!why)
		why = tp_pystack_check(layout);
	if (!why)
		why = tp_pysample_threads_init();
	if (!why)
		why = tp_pysample_read_init(layout);
	sampler.can_read = !why;
	if (why)
		return why;
	tp_pysample_state_init();
	sampler.why_no_gc = tp_pysample_gc_init(tp_pysample_threads_interpreter());
	return NULL;
}

bool tp_pysample_can_read(void)
{
	return sampler.can_read;
}

static int open_sampler(const struct tp_config *config)
{
	sampler.is_on = sampler.can_read && config->record & TP_RECORD_SAMPLES;
	tp_pysample_rate_init(&sampler.rate, config->sample_hz);
	tp_pysample_outside_open(config->sample_hz, config->outside_hz);
	if (!sampler.is_on)
		return 0;
	tp_pysample_threads_from_here();
	if (sampler.why_no_gc)
		tp_probe_off_quietly("garbage collection", sampler.why_no_gc);
	return 0;
}

static void arm(void)
{
	if (!sampler.is_on)
		return;
	tp_pysample_threads_from_here();
	sampler.counts_garbage = tp_pysample_gc_read(&sampler.gc);
}

static void count_collections(void)
{
	const struct tp_pysample_gc before = sampler.gc;

	if (!sampler.counts_garbage || !tp_pysample_gc_read(&sampler.gc))
		return;
	for (uint32_t i = 0; i < TP_PYSAMPLE_GENERATIONS; i++)
		if (sampler.gc.collections[i] > before.collections[i])
			sampler.collections[i] += sampler.gc.collections[i] - before.collections[i];
}

static void disarm(void)
{
	count_collections();
	sampler.counts_garbage = false;
}

/* Drawn anew each time: half to one and a half. */
static uint32_t get_period_ms(void)
{
	if (!sampler.is_on)
		return 0;
	return (uint32_t)tp_pysample_rate_draw_ms(tp_pysample_rate_ms(&sampler.rate), &sampler.drawn);
}

/* The number of the stack; 0: none, or dropped. */
static uint32_t number_stack(const struct tp_pysample_look *look, uint64_t time, uint32_t *generation)
{
	struct tp_stack_tree *tree = tp_stack_tree(time, generation);
	uint32_t stack = 0;

	for (uint32_t i = look->n; tree && i-- > 0;) {
		const struct tp_pysample_frame *frame = &look->frame[i];
		uint32_t flags = TP_FRAME_PYTHON;

		if (frame->is_hidden)
			continue;
		if (look->is_cut && i == look->n - 1)
			flags |= TP_FRAME_CUT;
		stack = tp_stack_tree_child(tree, stack, flags, frame->string, frame->line, time);
		if (!stack)
			break;
	}
	return stack;
}

static void record(const struct tp_pysample_thread *thread, uint64_t time, const struct round *round)
{
	const int32_t waits_in = thread->kernel.waits_in;
	struct tp_rec *rec = tp_ring_reserve();

	if (!rec) {
		sampler.n_dropped++;
		return;
	}
	memset(rec, 0, sizeof(*rec));
	rec->time = time;
	tp_rec_set_len(rec, round->since_ns);
	rec->kind = TP_REC_SAMPLE;
	rec->flags = waits_in != TP_PYSAMPLE_NOT_KNOWN ? TP_SAMPLE_STATE : 0;
	rec->flags |= thread->state == round->lock_holder ? TP_SAMPLE_HAS_LOCK : 0;
	rec->flags |= thread->state == round->collecting ? TP_SAMPLE_COLLECTS : 0;
	rec->flags |= waits_in > 0 && thread->kernel.wants_lock ? TP_SAMPLE_WANTS_LOCK : 0;
	rec->link = thread->stack;
	rec->arg = TP_ARG_SAMPLE(thread->kernel.tid, waits_in > 0 ? waits_in : 0);
	tp_ring_commit();
	sampler.n_samples++;
}

/* Is the number of its last stack still one? */
static bool has_stack(const struct tp_pysample_thread *thread, uint64_t time)
{
	uint32_t generation;

	return thread->is_idle ||
	       (thread->stack && tp_stack_tree(time, &generation) && generation == thread->generation);
}

static bool is_first(const struct tp_pysample_thread *thread)
{
	return thread->kernel.tid == sampler.pid;
}

/* A look that takes long, for this thread had no core meanwhile, may have frames of one time and names of
 * another, and is made again. The last one counts: a stack may be that deep. */
static enum tp_pysample_found look_soon(struct tp_pysample_thread *thread, bool is_kept)
{
	enum tp_pysample_found found;
	uint64_t begin_ns;
	uint32_t n = 0;

	do {
		begin_ns = tp_clock_mono_ns();
		sampler.look.digest = is_kept ? thread->digest : 0;
		found = tp_pysample_look(thread->state, &thread->kernel, &thread->hint, &sampler.look);
	} while (++n < LOOKS && tp_clock_mono_ns() - begin_ns > SOON_NS);
	return found;
}

/* Its stack, by another look, at sampler.look.time; false: that was discarded. */
static bool look_at(struct tp_pysample_thread *thread, bool is_kept)
{
	const struct tp_pysample_look *look = &sampler.look;
	enum tp_pysample_found found = look_soon(thread, is_kept);

	if (found == TP_PYSAMPLE_DISCARDED) {
		thread->looked_ns = thread->digest = 0;
		thread->stack = 0;
		thread->is_idle = false;
		sampler.n_discarded++;
		return false;
	}
	if (is_first(thread) && found == TP_PYSAMPLE_NAMED)
		tp_pysample_stand_note(look, look->time);
	else if (is_first(thread))
		tp_pysample_stand_again(look->time);
	if (found == TP_PYSAMPLE_NAMED) {
		thread->is_idle = !look->n;
		thread->stack = look->n ? number_stack(look, look->time, &thread->generation) : 0;
		thread->digest = thread->stack && !look->is_fleeting ? look->digest : 0;
	}
	thread->looked_ns = thread->kernel.cpu_ns;
	return true;
}

static void sample_thread(struct tp_pysample_thread *thread, const struct round *round)
{
	uint64_t time = tp_clock_now();
	const bool is_kept = has_stack(thread, time);

	/* One that had not run since its stack was taken stood where it stood: by now it may be elsewhere. */
	if (is_kept && thread->kernel.cpu_ns && thread->kernel.cpu_ns == thread->looked_ns) {
		sampler.n_kept++;
		time = round->begin;
		if (is_first(thread))
			tp_pysample_stand_again(time);
	} else if (look_at(thread, is_kept && sampler.n_rounds % RENAMED)) {
		time = sampler.look.time;
	} else {
		return;
	}
	if (thread->stack)
		record(thread, time + FRAME_BEFORE, round);
	else if (thread->is_idle)
		sampler.n_idle++;
	else
		sampler.n_dropped++;
}

/* What the last round says nothing of: the window before, and before the first. */
static uint64_t get_since(void)
{
	uint64_t now_ns = tp_clock_mono_ns();
	uint32_t window = __atomic_load_n(&tp_ring.head->windows_begun, __ATOMIC_ACQUIRE);
	uint64_t since = sampler.last_ns && sampler.window == window ? now_ns - sampler.last_ns : 0;

	if (!since)
		tp_pysample_rate_window(&sampler.rate);
	sampler.window = window;
	sampler.last_ns = now_ns;
	return since;
}

bool tp_pysample_is_ready(void)
{
	if (!sampler.is_on || tp_pyapi_is_ending())
		return false;
	if (sampler.ring_generation != tp_ring.generation) {
		sampler.ring_generation = tp_ring.generation;
		tp_pysample_forget();
		tp_pysample_stand_forget();
	}
	return true;
}

static void ask_of(struct tp_pysample_thread *thread, uint32_t n)
{
	const char *holder = tp_pysample_lock_holder();

	for (uint32_t i = 0; i < n; i++) {
		thread[i].kernel.is_asked = holder && holder != thread[i].state && is_first(&thread[i]);
		sampler.asked[i] = &thread[i].kernel;
	}
}

static void sample(uint64_t now)
{
	const uint64_t begin_ns = tp_thread_cpu_ns();
	struct tp_pysample_thread *thread;
	struct tp_pysample_gc gc;
	struct round round;
	uint32_t n;
	bool is_whole;

	if (!tp_pysample_is_ready())
		return;
	sampler.pid = (uint32_t)getpid();
	round.begin = now;
	round.since_ns = get_since();
	thread = tp_pysample_threads(&n, &is_whole);
	sampler.n_broken += !is_whole;
	sampler.n_cut += tp_pysample_threads_is_cut();
	if (tp_pysample_threads_is_cut())
		tp_warn_once("more than %d threads run Python: samples are taken of the one that trains and "
			     "of those that began last", TP_PYSAMPLE_THREADS);
	ask_of(thread, n);
	tp_pysample_states(sampler.asked, n, round.since_ns);
	round.lock_holder = tp_pysample_lock_holder();
	round.collecting = tp_pysample_gc_read(&gc) && gc.is_collecting ? round.lock_holder : NULL;
	for (uint32_t i = 0; i < n && tp_session_is_armed(); i++)
		if (thread[i].kernel.tid)
			sample_thread(&thread[i], &round);
	sampler.n_rounds++;
	sampler.ticks += tp_clock_now() - now;
	tp_pysample_rate_note(&sampler.rate, tp_thread_cpu_ns() - begin_ns);
}

static void report(struct tp_text *totals)
{
	static const char *const generation[TP_PYSAMPLE_GENERATIONS] = {"gc.gen0", "gc.gen1", "gc.full"};

	if (!sampler.is_on)
		return;
	tp_text_fmt(totals, "samples.taken=%lu\nsamples.rounds=%lu\nsamples.discarded=%lu\n"
		    "samples.broken=%lu\nsamples.cut=%lu\nsamples.dropped=%lu\nsamples.idle=%lu\n"
		    "samples.kept=%lu\nsamples.ticks=%lu\n",
		    (unsigned long)sampler.n_samples, (unsigned long)sampler.n_rounds,
		    (unsigned long)sampler.n_discarded, (unsigned long)sampler.n_broken,
		    (unsigned long)sampler.n_cut, (unsigned long)sampler.n_dropped,
		    (unsigned long)sampler.n_idle, (unsigned long)sampler.n_kept,
		    (unsigned long)sampler.ticks);
	/* A window that the end of the process ends. */
	count_collections();
	for (uint32_t i = 0; i < TP_PYSAMPLE_GENERATIONS; i++)
		tp_text_fmt(totals, "%s=%lu\n", generation[i], (unsigned long)sampler.collections[i]);
	memset(sampler.collections, 0, sizeof(sampler.collections));
}

static void forked(void)
{
	sampler.is_on = false;
	tp_pysample_outside_forked();
	sampler.last_ns = sampler.n_samples = sampler.n_rounds = sampler.n_discarded = 0;
	sampler.n_broken = sampler.n_cut = sampler.n_dropped = sampler.n_idle = sampler.n_kept = 0;
	sampler.ticks = 0;
	sampler.counts_garbage = false;
	memset(sampler.collections, 0, sizeof(sampler.collections));
}

const struct tp_probe tp_pysample_probe = {
	.name = "samples",
	.open = open_sampler,
	.arm = arm,
	.disarm = disarm,
	.period_ms = get_period_ms,
	.tick = sample,
	.look = tp_pysample_outside_look,
	.note = tp_pysample_outside_note,
	.report = report,
	.forked = forked,
};

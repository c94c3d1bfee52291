/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_lib.c - the reader of other threads' Python stacks as a library, for pysample_check.py
 *
 * Built by tests/flow/328-samples-versions.sh together with runtime/probe/sample/pysample_*.c and
 * pystack_lib.c, which keeps the strings. Never shipped.
 */
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "runtime/base/clock.h"
#include "runtime/base/own_table.h"
#include "runtime/engine/intern.h"
#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/python/pyframe_layout.h"
#include "runtime/probe/python/pystack_check.h"
#include "runtime/probe/sample/pysample_gc.h"
#include "runtime/probe/sample/pysample_read.h"
#include "runtime/probe/sample/pysample_threads.h"

#define EXPORT __attribute__((visibility("default")))

enum { MOST_STRINGS = 1 << 13 };	/* as in pystack_lib.c */

static struct {
	struct tp_pysample_thread *thread;
	uint32_t n;
	const char *lock_holder;
	bool is_told[MOST_STRINGS];	/* by string: a look that was not discarded had it */
	struct tp_pysample_look look;
	uint64_t n_looks, n_discarded, n_rounds, n_broken, n_kept;
} round;

int tp_own_table_call(int (*fn)(void *arg), void *arg)
{
	return fn(arg);
}

/* The time of a look is nobody's here. */
bool tp_clock_is_tsc;

uint64_t tp_clock_mono_ns(void)
{
	return 0;
}

EXPORT const char *sample_init(void);
EXPORT const char *sample_init(void)
{
	const struct tp_pyframe_layout *layout = NULL;
	const char *why = tp_pyapi_find();

	if (!why)
		layout = tp_pyframe_layout(&why);
	if (!why)
		why = tp_pystack_check(layout);
	if (!why)
		why = tp_pysample_threads_init();
	if (!why)
		why = tp_pysample_read_init(layout);
	if (!why)
		tp_pysample_state_init();
	if (!why)
		why = tp_pysample_gc_init(tp_pysample_threads_interpreter());
	return why ? why : "";
}

/* What a look at the garbage collector finds: collections of the three generations; does it collect? */
EXPORT int32_t sample_gc(uint64_t collections[TP_PYSAMPLE_GENERATIONS]);
EXPORT int32_t sample_gc(uint64_t collections[TP_PYSAMPLE_GENERATIONS])
{
	struct tp_pysample_gc gc;

	if (!tp_pysample_gc_read(&gc))
		return -1;
	memcpy(collections, gc.collections, sizeof(gc.collections));
	return gc.is_collecting;
}

/* Looks once a millisecond, so many times: in how many it collects. */
EXPORT uint32_t sample_gc_often(uint32_t n);
EXPORT uint32_t sample_gc_often(uint32_t n)
{
	const struct timespec pause = {0, 1000000};
	struct tp_pysample_gc gc;
	uint32_t found = 0;

	for (uint32_t i = 0; i < n; i++) {
		found += tp_pysample_gc_read(&gc) && gc.is_collecting;
		nanosleep(&pause, NULL);
	}
	return found;
}

static uint32_t asked_tid;

/* From now on it is asked of this thread each time what it waits for. */
EXPORT void sample_ask(uint32_t tid);
EXPORT void sample_ask(uint32_t tid)
{
	asked_tid = tid;
}

/* Threads, what they do, who has the lock. How many there are. */
EXPORT uint32_t sample_threads(void);
EXPORT uint32_t sample_threads(void)
{
	static struct tp_pysample_state *asked[TP_PYSAMPLE_THREADS];
	static uint64_t last_ns;
	struct timespec now;
	uint64_t now_ns, since_ns;
	bool is_whole;

	clock_gettime(CLOCK_MONOTONIC, &now);
	now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	since_ns = last_ns ? now_ns - last_ns : 0;
	last_ns = now_ns;
	round.thread = tp_pysample_threads(&round.n, &is_whole);
	for (uint32_t i = 0; i < round.n; i++) {
		round.thread[i].kernel.is_asked = round.thread[i].kernel.tid == asked_tid;
		asked[i] = &round.thread[i].kernel;
	}
	tp_pysample_states(asked, round.n, since_ns);
	round.lock_holder = tp_pysample_lock_holder();
	round.n_rounds++;
	round.n_broken += !is_whole;
	return round.n;
}

/* Threads of the last round. */
EXPORT uint32_t sample_n(void);
EXPORT uint32_t sample_n(void)
{
	return round.n;
}

/* Of thread `at`: its tid, and what else was found. */
EXPORT uint32_t sample_tid(uint32_t at, int32_t *waits_in, uint32_t *has_lock, uint32_t *wants_lock);
EXPORT uint32_t sample_tid(uint32_t at, int32_t *waits_in, uint32_t *has_lock, uint32_t *wants_lock)
{
	const struct tp_pysample_thread *thread = &round.thread[at];

	*waits_in = thread->kernel.waits_in;
	*has_lock = thread->state == round.lock_holder;
	*wants_lock = thread->kernel.wants_lock;
	return thread->kernel.tid;
}

/* Its frames; -1: the look was discarded. */
EXPORT int32_t sample_look(uint32_t at);
EXPORT int32_t sample_look(uint32_t at)
{
	struct tp_pysample_thread *thread = &round.thread[at];

	round.n_looks++;
	round.look.digest = 0;	/* with names each time */
	if (tp_pysample_look(thread->state, &thread->kernel, &thread->hint, &round.look) ==
	    TP_PYSAMPLE_DISCARDED) {
		round.n_discarded++;
		return -1;
	}
	for (uint32_t i = 0; i < round.look.n; i++)
		if (!round.look.frame[i].is_hidden)
			round.is_told[round.look.frame[i].string] = true;
	return (int32_t)round.look.n;
}

/* A look had it that was not discarded. */
EXPORT uint32_t sample_is_told(uint32_t string);
EXPORT uint32_t sample_is_told(uint32_t string)
{
	return round.is_told[string];
}

/* The frame's string in pystack_lib.c's book, 0: it is the interpreter's own. */
EXPORT uint32_t sample_frame(uint32_t at, uint32_t *line);
EXPORT uint32_t sample_frame(uint32_t at, uint32_t *line)
{
	*line = round.look.frame[at].line;
	return round.look.frame[at].is_hidden ? 0 : round.look.frame[at].string;
}

/* Rounds until so many looks were made, or so many seconds have gone by; processor time in ns. */
EXPORT uint64_t sample_many(uint64_t n_looks, double seconds, uint32_t us_between);
EXPORT uint64_t sample_many(uint64_t n_looks, double seconds, uint32_t us_between)
{
	const struct timespec pause = {0, us_between * 1000};
	struct timespec begin, end, cpu_begin, cpu_end;
	uint64_t wanted = round.n_looks + round.n_kept + n_looks;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu_begin);
	do {
		uint32_t n = sample_threads();

		for (uint32_t i = 0; i < n; i++) {
			struct tp_pysample_thread *thread = &round.thread[i];

			if (thread->kernel.cpu_ns && thread->kernel.cpu_ns == thread->looked_ns) {
				round.n_kept++;
				continue;
			}
			thread->looked_ns = sample_look(i) >= 0 ? thread->kernel.cpu_ns : 0;
		}
		if (us_between)
			nanosleep(&pause, NULL);
		clock_gettime(CLOCK_MONOTONIC, &end);
	} while (round.n_looks + round.n_kept < wanted &&
		 (double)(end.tv_sec - begin.tv_sec) < seconds);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu_end);
	return (uint64_t)((cpu_end.tv_sec - cpu_begin.tv_sec) * 1000000000ll + cpu_end.tv_nsec -
			  cpu_begin.tv_nsec);
}

EXPORT uint64_t sample_count(uint32_t which);
EXPORT uint64_t sample_count(uint32_t which)
{
	const uint64_t count[] = {round.n_looks, round.n_discarded, round.n_rounds, round.n_broken,
				  round.n_kept};

	return count[which];
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h - the one clock of host events, in ticks
 *
 * A tick is one TSC cycle where the TSC is invariant and the kernel itself keeps time with
 * it, else one nanosecond of CLOCK_MONOTONIC (1.3 times as dear, and then nothing has to be
 * calibrated). Which one it is does not change in the life of a process. Ticks become
 * nanoseconds only outside the hot path, between two anchors; the frequency is measured
 * there, never read.
 *
 * Threads: tp_clock_init once, before any other call; the rest from any thread, any context
 * (also inside malloc and signal handlers): no lock, no allocation.
 */
#ifndef TP_BASE_CLOCK_H
#define TP_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum tp_clock_source {
	TP_CLOCK_AUTO = 0, /* TSC when it can be trusted */
	TP_CLOCK_TSC = 1,
	TP_CLOCK_MONOTONIC = 2,
};

/* The same moment on three clocks. bracket_ticks is the time that reading all three took:
 * the readings belong together to within +- half of it. */
struct tp_clock_anchor {
	uint64_t ticks;
	uint64_t mono_ns;	/* CLOCK_MONOTONIC */
	uint64_t real_ns;	/* CLOCK_REALTIME */
	uint64_t bracket_ticks;
};

/* Set by tp_clock_init; read-only afterwards. True: a tick is a TSC cycle. */
extern bool tp_clock_is_tsc __attribute__((visibility("hidden")));

/*
 * Chooses the source. TP_CLOCK_TSC on a machine whose TSC cannot be trusted falls back to
 * MONOTONIC. Returns the source in use.
 */
enum tp_clock_source tp_clock_init(enum tp_clock_source wanted);

/* Why the source is what it is, for the trace's metadata: "tsc: invariant, clocksource tsc". */
const char *tp_clock_reason(void);

uint64_t tp_clock_mono_ns(void);
uint64_t tp_clock_real_ns(void);

/* Best of a few tries (smallest bracket). About 1 us. */
void tp_clock_take_anchor(struct tp_clock_anchor *anchor);

/* ticks -> CLOCK_MONOTONIC ns on the line through two anchors (a < b in ticks). Also valid
 * outside the two; exact to the anchors' brackets between them. a == b: ticks are ns. */
uint64_t tp_clock_to_mono(const struct tp_clock_anchor *a, const struct tp_clock_anchor *b,
			  uint64_t ticks);

/*
 * The time, not before all that this thread has stored can be seen by all others: a thread that reads
 * a later time, and then looks, sees it. A fence alone does not do that: the processor reads
 * the counter while the store still waits for its cache line, some 300 ns too early. About 150 ns.
 */
uint64_t tp_clock_after_stores(void);

static inline uint64_t tp_clock_now(void)
{
#if defined(__x86_64__)
	if (__builtin_expect(tp_clock_is_tsc, 1))
		return __rdtsc();
#endif
	return tp_clock_mono_ns();
}

#endif

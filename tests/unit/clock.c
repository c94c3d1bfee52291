/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.c - both sources of time, and ticks to nanoseconds
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/base/clock.h"

static const struct timespec short_while = {.tv_nsec = 20000000};

/* On either source: two anchors, and what lies between them comes out right. */
static void check_source(const char *what)
{
	struct tp_clock_anchor a, b;
	uint64_t before, now, after, got, slack, last = 0;

	tp_clock_take_anchor(&a);
	nanosleep(&short_while, NULL);
	before = tp_clock_mono_ns();
	now = tp_clock_now();
	after = tp_clock_mono_ns();
	nanosleep(&short_while, NULL);
	tp_clock_take_anchor(&b);
	cr_assert_gt(b.ticks, a.ticks, "%s", what);
	cr_assert_geq(b.mono_ns, a.mono_ns + 2 * (uint64_t)short_while.tv_nsec);
	cr_assert_geq(b.real_ns, a.real_ns + 1000000);
	got = tp_clock_to_mono(&a, &b, now);
	/* The anchors are good to their brackets, which a busy machine makes wide. */
	slack = 20000 + tp_clock_to_mono(&a, &b, b.ticks + a.bracket_ticks + b.bracket_ticks) - b.mono_ns;
	cr_assert(got + slack >= before && got <= after + slack, "%s: %lu not in %lu..%lu",
		  what, (unsigned long)got, (unsigned long)before, (unsigned long)after);
	for (int i = 0; i < 10000; i++) {
		now = tp_clock_now();
		cr_assert_geq(now, last);
		last = now;
	}
}

Test(clock, of_nanoseconds_always_works)
{
	struct tp_clock_anchor anchor;

	cr_assert_eq(tp_clock_init(TP_CLOCK_MONOTONIC), TP_CLOCK_MONOTONIC);
	cr_assert_not(tp_clock_is_tsc);
	cr_assert_str_eq(tp_clock_reason(), "monotonic: requested");
	tp_clock_take_anchor(&anchor);
	cr_assert_eq(anchor.ticks, anchor.mono_ns);
	check_source("monotonic");
}

Test(clock, is_the_tsc_only_when_the_kernel_trusts_it)
{
	enum tp_clock_source source = tp_clock_init(TP_CLOCK_AUTO);

	if (source == TP_CLOCK_TSC)
		cr_assert_str_eq(tp_clock_reason(), "tsc: invariant, clocksource tsc");
	else
		cr_assert_eq(strncmp(tp_clock_reason(), "monotonic: tsc ", 15), 0, "%s",
			     tp_clock_reason());
	cr_assert_eq(tp_clock_is_tsc, source == TP_CLOCK_TSC);
	cr_assert_eq(tp_clock_init(TP_CLOCK_TSC), source,
		     "asking for it does not make it better");
	check_source("automatic");
}

Test(clock, draws_a_line_through_two_anchors)
{
	static const struct {
		uint64_t a_ticks, a_ns, b_ticks, b_ns, ticks, ns;
	} row[] = {
	    {100, 1000, 300, 1100, 100, 1000},
	    {100, 1000, 300, 1100, 300, 1100},
	    {100, 1000, 300, 1100, 200, 1050},
	    {100, 1000, 300, 1100, 500, 1200}, /* outside */
	    {100, 1000, 300, 1100, 0, 950},
	    {100, 10, 300, 110, 0, 0},	       /* before the clock began */
	    {100, 1000, 100, 1000, 130, 1030}, /* one anchor: ticks are ns */
	    {100, 1000, 100, 1000, 70, 970},
	    {300, 1000, 100, 1100, 310, 1010}, /* no line */
	    {100, 1000, 300, 900, 310, 1210},
	    {0, 0, 1, UINT64_MAX, UINT64_MAX, UINT64_MAX},
	    {UINT64_MAX - 1, 5, UINT64_MAX, 6, 0, 0},
	    /* Three days of a 2.1 GHz clock, to the nanosecond. */
	    {0, 0, 2100000000, 1000000000, 544320000000000, 259200000000000},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct tp_clock_anchor a = {.ticks = row[i].a_ticks,
					    .mono_ns = row[i].a_ns};
		struct tp_clock_anchor b = {.ticks = row[i].b_ticks,
					    .mono_ns = row[i].b_ns};

		cr_assert_eq(tp_clock_to_mono(&a, &b, row[i].ticks), row[i].ns,
			     "row %zu: %lu", i,
			     (unsigned long)tp_clock_to_mono(&a, &b, row[i].ticks));
	}
}

/* ---- stores, and the time after them ---- */

enum { STORES = 3000000 };

static uint64_t stored, *stored_at, *seen_at;

/* The last time at which each number was still to be seen: the time is read before the number. */
static void *look(void *is_over)
{
	while (!__atomic_load_n((bool *)is_over, __ATOMIC_ACQUIRE)) {
		uint64_t now = tp_clock_now();

#if defined(__x86_64__)
		__builtin_ia32_lfence();
#endif
		seen_at[__atomic_load_n(&stored, __ATOMIC_ACQUIRE)] = now;
	}
	return NULL;
}

/*
 * On one processor it shows nothing. A host that moves a virtual processor to another, whose counter
 * differs, makes a few; without the wait that follows the fence it is nearly all that were looked at.
 */
Test(clock, after_stores_is_not_before_others_see_them)
{
	bool is_over = false;
	uint64_t n_early = 0, n_looked_at = 0;
	pthread_t thread;

	tp_clock_init(TP_CLOCK_AUTO);
	stored_at = calloc(STORES + 1, sizeof(*stored_at));
	seen_at = calloc(STORES + 1, sizeof(*seen_at));
	cr_assert(stored_at && seen_at);
	cr_assert_eq(pthread_create(&thread, NULL, look, &is_over), 0);
	for (uint64_t i = 1; i <= STORES; i++) {
		__atomic_store_n(&stored, i, __ATOMIC_RELAXED);
		stored_at[i] = tp_clock_after_stores();
	}
	__atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	for (uint64_t i = 0; i < STORES; i++) {
		n_looked_at += seen_at[i] != 0;
		n_early += seen_at[i] > stored_at[i + 1];
	}
	cr_assert(n_early <= 3 + n_looked_at / 10000, "%lu of %lu stores were not seen yet",
		  (unsigned long)n_early, (unsigned long)n_looked_at);
	free(stored_at);
	free(seen_at);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_workers.c - tests: a worker whose heap grows as long as it is seen is told of, and no other
 */
#include "tests/unit/advice_rig.h"

enum {
	MB = 1 << 20,
	WINDOWS = 2,
	POINTS = 8,		/* of a window, each 10 ms after the one before */
	APART_MS = 200,		/* windows begin */
};

static struct tp_proc *worker;

static void set_up(void)
{
	advice_init();
	add_steps();
	worker = fake_worker(&fake, proc, 1);
}

TestSuite(overview_workers, .init = set_up);

static void say(struct tp_proc *of, uint32_t window, int64_t ms, uint64_t bytes)
{
	static const char name[] = "heap live\0B\0memory";

	event[n_events] = fake_span(&fake, of, 0, TP_REC_COUNTER,
				    fake_string(&fake, TP_STRING_COUNTER, name, sizeof(name) - 1),
				    ms * MS, ms * MS);
	event[n_events].window = window;
	event[n_events++].arg = bytes;
}

/* Bytes at that time, in so many windows. */
static void add_heap(struct tp_proc *of, uint32_t windows, uint32_t points, int64_t (*heap)(int64_t ms))
{
	for (uint32_t window = 0; window < windows; window++) {
		fake_window(&fake, of, window, window * APART_MS * MS,
			    (window * APART_MS + points * 10) * MS);
		for (uint32_t i = 0; i < points; i++) {
			const int64_t ms = window * APART_MS + i * 10;

			say(of, window, ms, (uint64_t)heap(ms));
		}
	}
}

/* Now and then a batch is alive, too. */
static int64_t leak(int64_t ms) { return 100 * MB + ms * 100000 + (ms / 10 % 3 == 1 ? 20 * MB : 0); }
static int64_t fast_leak(int64_t ms) { return 100 * MB + ms * 200000; }
static int64_t slow_leak(int64_t ms) { return 100 * MB + ms * 15000; }
static int64_t tiny_leak(int64_t ms) { return 100 * MB + ms * 10; }
static int64_t still(int64_t ms) { return 100 * MB + ms * 0; }
static int64_t saw(int64_t ms) { return 100 * MB + ms / 10 % 4 * 5 * MB; }
/* A cache that is full, or an epoch that begins: between the windows, */
static int64_t jump(int64_t ms) { return ms < APART_MS ? 100 * MB : 120 * MB; }
/* or within each, to be given back. */
static int64_t again(int64_t ms) { return 100 * MB + ms % APART_MS * 100000; }
static int64_t burst(int64_t ms) { return 100 * MB + ms / APART_MS * 20 * MB + ms % APART_MS * 500000; }
static int64_t back(int64_t ms)
{
	static const int64_t of_window[] = {100 * MB, 95 * MB, 115 * MB};

	return of_window[ms / APART_MS] + ms % APART_MS * 100000;
}
/* Nearly all of it at once, and little since then. */
static int64_t steps(int64_t ms) { return 100 * MB + (ms < APART_MS ? 0 : 50 * MB) + ms * 1000; }
static int64_t filled(int64_t ms) { return ms < 40 ? 100 * MB + ms * 500000 : 120 * MB; }

Test(overview_workers, a_heap_that_grows_in_and_between_windows_is_told_of)
{
	const char *text;

	add_heap(worker, WINDOWS, POINTS, leak);
	text = print();
	expect_rules(text, (const char *[]){"host-memory-growth", NULL});
	/* 100,000 bytes a millisecond, and a step has 100 of them. */
	cr_expect(strstr(text, "the heap of rank 0 worker 1 grows by about 9.54 MiB per step of the training: "
			       "100 MiB, and 200 ms later 119 MiB"), "%s", text);
}

Test(overview_workers, what_does_not_go_on_is_no_growth)
{
	static int64_t (*const heap[])(int64_t) = {tiny_leak, still, saw, jump, again, burst, filled};

	for (size_t i = 0; i < sizeof(heap) / sizeof(heap[0]); i++) {
		set_up();
		add_heap(worker, WINDOWS, POINTS, heap[i]);
		expect_rules(print(), (const char *[]){NULL});
	}
	set_up();
	add_heap(worker, 3, POINTS, back);
	expect_rules(print(), (const char *[]){NULL});
}

/* A window tells nothing alone, nor do few of few values; and 3 MiB are nothing to speak of. */
Test(overview_workers, little_is_known_of_few_windows_and_values)
{
	add_heap(worker, 1, POINTS, leak);
	expect_rules(print(), (const char *[]){NULL});
	set_up();
	add_heap(worker, 1, POINTS, fast_leak);
	for (int64_t i = 0; i < 3; i++)
		say(worker, 1, 200 + i * 10, (uint64_t)fast_leak(200 + i * 10));
	expect_rules(print(), (const char *[]){NULL});
	set_up();
	add_heap(worker, 5, 3, fast_leak);
	expect_rules(print(), (const char *[]){NULL});
	set_up();
	add_heap(worker, 6, 3, fast_leak);
	expect_rules(print(), (const char *[]){"host-memory-growth", NULL});
	set_up();
	add_heap(worker, 12, 3, steps);
	expect_rules(print(), (const char *[]){NULL});
	set_up();
	add_heap(worker, WINDOWS, POINTS, slow_leak);
	expect_rules(print(), (const char *[]){NULL});
	set_up();
	add_heap(worker, WINDOWS + 1, POINTS, slow_leak);
	expect_rules(print(), (const char *[]){"host-memory-growth", NULL});
}

Test(overview_workers, the_one_that_grows_fastest_is_named)
{
	const char *text;

	add_heap(worker, WINDOWS, POINTS, leak);
	add_heap(fake_worker(&fake, proc, 2), WINDOWS, POINTS, fast_leak);
	add_heap(fake_worker(&fake, proc, 3), WINDOWS, POINTS, still);
	text = print();
	cr_expect(strstr(text, "the heap of rank 0 worker 2 grows by about 19.1 MiB per step"), "%s", text);
}

/* Of very many values a few are kept: the least of what comes and goes. */
Test(overview_workers, a_long_window_is_as_good)
{
	for (uint32_t window = 0; window < WINDOWS; window++)
		for (int64_t i = 0; i < 1000; i++)
			say(worker, window, window * 2000 + i,
			    (uint64_t)(leak(window * 2000 + i) + i % 300 * 4 * MB));
	expect_rules(print(), (const char *[]){"host-memory-growth", NULL});
}

/* Ranks have steps, by which their growth is told. */
Test(overview_workers, counters_of_ranks_are_not_looked_at)
{
	add_heap(proc, WINDOWS, POINTS, leak);
	expect_rules(print(), (const char *[]){NULL});
}

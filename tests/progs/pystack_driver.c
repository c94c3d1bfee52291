/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pystack_driver.c - the reader of Python stacks with a clock around it, for tests/bench/pystack.py
 *
 * Linked with the objects of the runtime into a library for ctypes; opens a ring of its own with
 * a window in it, no session. Never shipped.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/arena.h"
#include "runtime/base/clock.h"
#include "runtime/engine/intern.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/python/pystack.h"
#include "runtime/probe/stack/stack_tree.h"

#define EXPORT __attribute__((visibility("default")))

/* NULL, or why there is nothing to measure. */
EXPORT const char *start(const char *dir);
EXPORT const char *start(const char *dir)
{
	static struct tp_arena arena;
	struct tp_ring_spec spec = {
		.bytes = 4 << 20, .dir = dir, .buffer_dir = dir, .name = "bench.ring", .run_id = 1,
	};

	tp_clock_init(TP_CLOCK_AUTO);
	if (tp_arena_init(&arena, 4 << 20) || tp_ring_open(&spec) || tp_intern_init(&arena))
		return "no ring";
	tp_ring.head->phase = TP_PHASE_ACTIVE;
	tp_ring.head->windows_begun = 1;
	return tp_pystack_init();
}

EXPORT void stop(void);
EXPORT void stop(void)
{
	tp_ring_close();
}

/* Ticks that n readings of the clock take, one after another: what stands in each figure. */
EXPORT double empty(int n);
EXPORT double empty(int n)
{
	uint64_t sum = 0;

	for (int i = 0; i < n; i++) {
		uint64_t begin = tp_clock_now();

		sum += tp_clock_now() - begin;
	}
	return (double)sum / n;
}

/* Ticks of one walk, the clock in it. */
EXPORT uint64_t once(void);
EXPORT uint64_t once(void)
{
	uint64_t begin = tp_clock_now();
	uint32_t stack = tp_pystack_take(begin);
	uint64_t end = tp_clock_now();

	return stack ? end - begin : 0;
}

/* Ticks of each of n walks in a row, without the clock: nothing changes meanwhile. */
EXPORT double many(int n);
EXPORT double many(int n)
{
	uint64_t begin = tp_clock_now();

	for (int i = 0; i < n; i++)
		tp_pystack_take(begin);
	return (double)(tp_clock_now() - begin) / n;
}

/* The least that each of them has to do: whose thread, which state. */
EXPORT double states(int n);
EXPORT double states(int n)
{
	uint64_t begin = tp_clock_now();

	for (int i = 0; i < n; i++) {
		if (tp_pyapi_is_ending() || !tp_py.thread_state())
			return 0;
	}
	return (double)(tp_clock_now() - begin) / n;
}

EXPORT double ns_a_tick(void);
EXPORT double ns_a_tick(void)
{
	uint64_t ticks = tp_clock_now(), ns = tp_clock_mono_ns();

	usleep(50000);
	ticks = tp_clock_now() - ticks;
	return (double)(tp_clock_mono_ns() - ns) / (double)ticks;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack.c - what the stack of an event costs, beside libunwind's quick walk in the same run
 *
 * usage: stack
 *
 * A loop at a depth of 14 and of 46 frames takes stacks from eight places, three calls further
 * in each: what an allocation in a busy loop looks like. Then stacks that are new each time.
 * Nanoseconds of CPU a stack, least of the rounds (noise only adds), taken in turn. An event is
 * a malloc or a free, and only the malloc has a stack: the goals of 50 ns at depth 12 and 60 at 46
 * leave about 50 and 70 for it after two records of 24 ns. Exit status 1 when missed.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

#include "runtime/base/clock.h"
#include "runtime/base/text.h"
#include "runtime/engine/config/config.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/probe/stack/stack.h"
#include "runtime/probe/stack/stack_thread.h"
#include "runtime/probe/stack/stack_unwind.h"

#ifdef __clang__
#define FRAME __attribute__((noinline))
#else
#define FRAME __attribute__((noinline, noclone))
#endif
#define STAY_ON_STACK() __asm__ volatile("" : : : "memory")

enum { STACKS = 200000, ROUNDS = 9, MOST = 400 };

static int (*quick)(void **buffer, int size);
static bool use_own;
static uint64_t sum, now;

static FRAME void take_own(void)
{
	sum += tp_stack_take(now, __builtin_frame_address(0));
	STAY_ON_STACK();
}

static FRAME void take_quick(void)
{
	void *pc[MOST];

	sum += (uint64_t)quick(pc, MOST);
	STAY_ON_STACK();
}

static FRAME void take(void)
{
	if (use_own)
		take_own();
	else
		take_quick();
	STAY_ON_STACK();
}

#define PLACE(i)                                                                           \
	static FRAME void place##i(void)                                                   \
	{                                                                                  \
		take();                                                                    \
		STAY_ON_STACK();                                                           \
	}
PLACE(0) PLACE(1) PLACE(2) PLACE(3) PLACE(4) PLACE(5) PLACE(6) PLACE(7)
static void (*const places[])(void) = {
	place0, place1, place2, place3, place4, place5, place6, place7
};

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static FRAME double loop(void)
{
	uint64_t dice = 88172645463325252ull;
	double begin = cpu_ns();

	for (int i = 0; i < STACKS; i++) {
		dice ^= dice << 13;
		dice ^= dice >> 7;
		dice ^= dice << 17;
		places[dice >> 40 & 7]();
	}
	return (cpu_ns() - begin) / STACKS;
}

static FRAME double at_depth(int depth)
{
	double ns = depth > 0 ? at_depth(depth - 1) : loop();

	STAY_ON_STACK();
	return ns;
}

static void least(int depth, double *own, double *libs)
{
	*own = *libs = 1e9;
	for (int i = 0; i < ROUNDS; i++) {
		double ns;

		use_own = i % 2;
		for (int k = 0; k < 2; k++, use_own = !use_own) {
			double *best = use_own ? own : libs;

			ns = at_depth(depth);
			*best = ns < *best ? ns : *best;
		}
	}
}

/* A tree of calls of which each path is met once: every frame of the inner half is new. */
static uint32_t n_new;
static FRAME void branch(int depth, uint32_t path)
{
	if (depth == 0) {
		n_new++;
		take();
	} else if (path & 1) {
		branch(depth - 1, path >> 1);
		STAY_ON_STACK();
	} else {
		branch(depth - 1, path >> 1);
		STAY_ON_STACK();
		STAY_ON_STACK();
	}
	STAY_ON_STACK();
}

static uint32_t drop(void *ctx, uint32_t slot, const struct tp_rec *rec, uint32_t n)
{
	return n;
}

static double new_stacks(void)
{
	double ns = 0;

	use_own = true;
	for (uint32_t i = 0; i < 64; i++) {
		double begin = cpu_ns();

		for (uint32_t path = 0; path < 1024; path++)
			branch(16, path << 6 | i);
		ns += cpu_ns() - begin;
		tp_ring_take(drop, NULL);
		tp_ring_release(0, 0);
	}
	return ns / n_new;
}

/* What the first meeting of an address costs; those of the C library around printf. */
static double learning(void)
{
	enum { ADDRESSES = 4000 };
	double best = 1e9;

	for (int i = 0; i < ROUNDS; i++) {
		double begin = cpu_ns(), ns;

		for (uint64_t k = 0; k < ADDRESSES; k++)
			sum += tp_stack_unwind_learn((uint64_t)printf + k * 16, false);
		ns = (cpu_ns() - begin) / ADDRESSES;
		best = ns < best ? ns : best;
	}
	return best;
}

int main(void)
{
	static const struct {
		int depth;
		double goal_ns;
	} load[] = { { 14, 50 }, { 46, 70 } };
	struct tp_ring_spec spec = {
		.bytes = 64 << 20, .dir = "/tmp", .buffer_dir = "/tmp", .run_id = 1,
		.name = "bench-stack.ring",
	};
	void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
	static char report[1024];
	struct tp_text text;
	int missed = 0;

	if (library)
		*(void **)&quick = dlsym(library, "unw_backtrace");
	tp_clock_init(TP_CLOCK_AUTO);
	if (!quick || tp_ring_open(&spec) < 0) {
		fprintf(stderr, "stack: no libunwind.so.8, or no ring\n");
		return 2;
	}
	tp_ring.head->windows_begun = 1;
	now = tp_clock_now();
	tp_stack_open(true, NULL);
	printf("%-28s %10s %14s %8s\n", "stacks", "ns", "unw_backtrace", "goal");
	for (size_t i = 0; i < sizeof(load) / sizeof(*load); i++) {
		double own, libs;

		least(load[i].depth, &own, &libs);
		printf("depth %-22d %10.1f %14.1f %8.0f %s\n", load[i].depth, own, libs,
		       load[i].goal_ns, own > load[i].goal_ns ? "missed" : "met");
		missed |= own > load[i].goal_ns;
	}
	printf("%-28s %10.1f\n", "new ones, a third of it new", new_stacks());
	printf("%-28s %10.1f\n", "learning an address", learning());
	tp_text_init(&text, report, sizeof(report));
	tp_stack_report(&text);
	printf("%s", report);
	tp_ring_close();
	return missed;
}

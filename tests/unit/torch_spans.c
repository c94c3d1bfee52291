/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_spans.c - ranges that end on other threads, and threads that end: the memory of a long
 * run is that of the ranges in flight
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>

#include "runtime/probe/torch/torch.h"
#include "runtime/probe/torch/torch_state.h"

enum { ARENA_BYTES = 1 << 20, ROUNDS = 2000, IN_FLIGHT = 40 };

static void begin(void)
{
	cr_assert_eq(tp_arena_init(&tp_torch.arena, ARENA_BYTES), 0);
	tp_torch_spans_init();
}
TestSuite(torch_spans, .init = begin);

/* As torch does: through the second entry of the table. */
static void drop(struct tp_torch_span *span)
{
	((void (*)(void *))span->vtable[1])(span);
}

static struct tp_torch_span *take(void)
{
	struct tp_torch_span *span = tp_torch_span_take();

	cr_assert(span, "no span left, %lu were lost", (unsigned long)tp_torch.n_lost);
	return span;
}

static void *drop_all(void *spans)
{
	for (int i = 0; i < IN_FLIGHT; i++)
		drop(((struct tp_torch_span **)spans)[i]);
	return NULL;
}

static void *take_and_drop(void *unused)
{
	drop(take());
	return NULL;
}

static void run_thread(void *(*what)(void *), void *with)
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, what, with), 0);
	pthread_join(thread, NULL);
}

Test(torch_spans, ranges_that_end_on_another_thread_use_no_more_memory_than_those_in_flight)
{
	struct tp_torch_span *span[IN_FLIGHT];

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < IN_FLIGHT; i++)
			span[i] = take();
		run_thread(drop_all, span);
	}
	cr_expect_eq(tp_torch.arena.used, 48 * sizeof(struct tp_torch_span));
}

Test(torch_spans, threads_that_end_leave_their_spans_to_others)
{
	for (int round = 0; round < ROUNDS; round++)
		run_thread(take_and_drop, NULL);
	cr_expect_eq(tp_torch.arena.used, 16 * sizeof(struct tp_torch_span));
}

Test(torch_spans, a_span_is_never_handed_out_twice)
{
	struct tp_torch_span *span[IN_FLIGHT], *again[IN_FLIGHT];

	for (int i = 0; i < IN_FLIGHT; i++)
		span[i] = take();
	run_thread(drop_all, span);
	for (int i = 0; i < IN_FLIGHT; i++) {
		again[i] = take();
		for (int j = 0; j < i; j++)
			cr_assert_neq(again[i], again[j], "%d and %d", j, i);
	}
}

static void *swap_spans(void *at)
{
	struct tp_torch_span **cell = at;

	/* Takes its own, gives back somebody's. */
	for (int i = 0; i < 200000; i++) {
		struct tp_torch_span *span = take(), *other;

		span->begin = (uintptr_t)span;
		other = __atomic_exchange_n(cell, span, __ATOMIC_ACQ_REL);
		if (other) {
			cr_assert_eq(other->begin, (uintptr_t)other, "in use twice");
			other->begin = 0;
			drop(other);
		}
	}
	return NULL;
}

Test(torch_spans, threads_that_give_back_each_others_spans_do_not_meet_in_one)
{
	struct tp_torch_span *cell = NULL;
	pthread_t thread[4];

	for (int i = 0; i < 4; i++)
		cr_assert_eq(pthread_create(&thread[i], NULL, swap_spans, &cell), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	cr_expect_eq(tp_torch.n_lost, 0);
	cr_expect_lt(tp_torch.arena.used, ARENA_BYTES / 2);
}

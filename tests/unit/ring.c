/* SPDX-License-Identifier: Apache-2.0 */
/* The ring: what goes in comes out; what does not fit is counted. */
#include <criterion/criterion.h>

#include <errno.h>
#include <pthread.h>

#include "tests/unit/ring_bag.h"

TestSuite(ring, .init = set_up, .fini = tear_down);

/* A joined thread is not quite gone for the kernel yet. */
static bool reap_down_to(uint32_t n_used, bool and_slots)
{
	return AWAIT((tp_ring_reap(and_slots), tp_ring_chunks_used() == n_used));
}

Test(ring, gives_back_what_was_recorded_in_order_over_many_chunks)
{
	struct bag *bag = new_bag();
	const uint64_t n = 5 * TP_CHUNK_RECORDS + 17;

	cr_assert_eq(rig_open_ring(4 * MIB), 0);
	for (uint64_t i = 0; i < n; i++)
		cr_assert(rig_put(1, i));
	cr_expect_eq(tp_ring_waiting(), n);
	take_all(bag);
	cr_expect_eq(bag->n, n);
	cr_expect_eq(bag->n_bad + bag->n_out_of_order, 0);
	cr_expect_eq(tp_ring_waiting(), 0);
	cr_expect_eq(tp_ring_chunks_used(), 1, "all but the thread's own chunk are free again");
	take_all(bag);
	cr_expect_eq(bag->n, n, "nothing comes twice");
	/* The next chunks are those with the lowest numbers again, below the present one. */
	for (uint64_t i = n; i < 2 * n; i++)
		cr_assert(rig_put(1, i));
	take_all(bag);
	cr_expect_eq(bag->n, 2 * n);
	cr_expect_eq(bag->n_bad + bag->n_out_of_order, 0);
}

/* Refuses the end of the first chunk that it is given, and nothing else. */
static uint32_t refuse_once(void *ctx, uint32_t slot, const struct tp_rec *rec, uint32_t n)
{
	struct bag *bag = ctx;

	if (bag->n == 0)
		n /= 2;
	return take_into_bag(ctx, slot, rec, n);
}

Test(ring, hands_out_no_later_chunk_of_a_thread_whose_earlier_one_was_refused)
{
	struct bag *bag = new_bag();

	cr_assert_eq(rig_open_ring(4 * MIB), 0);
	for (uint64_t i = 0; i < 3 * TP_CHUNK_RECORDS; i++)
		rig_put(1, i);
	tp_ring_take(refuse_once, bag);
	tp_ring_release(1, 0);
	cr_expect_eq(bag->n, TP_CHUNK_RECORDS / 2);
	take_all(bag);
	cr_expect_eq(bag->n, 3 * TP_CHUNK_RECORDS);
	cr_expect_eq(bag->n_out_of_order, 0);
}

Test(ring, keeps_what_the_drain_refuses_and_everything_after_it)
{
	struct bag *bag = new_bag();
	const uint64_t n = 3 * TP_CHUNK_RECORDS;

	cr_assert_eq(rig_open_ring(4 * MIB), 0);
	for (uint64_t i = 0; i < n; i++)
		rig_put(1, i);
	for (uint64_t most = 100; bag->n < n; most += 1000) {
		bag->most = most;
		take_all(bag);
		cr_expect_eq(bag->n, most < n ? most : n);
	}
	cr_expect_eq(bag->n_bad + bag->n_out_of_order, 0);
}

Test(ring, drops_and_counts_when_full_and_goes_on_after_a_drain)
{
	struct bag *bag = new_bag();
	uint64_t n = 0, capacity;

	cr_assert_eq(rig_open_ring(MIB), 0);
	capacity = tp_ring.head->n_chunks * (uint64_t)TP_CHUNK_RECORDS;
	while (rig_put(1, n))
		n++;
	cr_expect_eq(n, capacity, "one thread may use all of it");
	for (int i = 0; i < 9; i++)
		cr_expect(!rig_put(1, n));
	cr_expect_eq(tp_ring_dropped(), 10);
	cr_expect_eq(tp_ring.slots[0].dropped, 10);
	take_all(bag);
	cr_expect(rig_put(1, n));
	take_all(bag);
	cr_expect_eq(bag->n, n + 1);
	cr_expect_eq(bag->n_out_of_order, 0);
	cr_expect_eq(tp_ring_dropped(), 10);
}

Test(ring, rings_the_bell_once_when_half_is_used)
{
	uint32_t bell, half;

	cr_assert_eq(rig_open_ring(2 * MIB), 0);
	bell = tp_ring_bell;
	half = (tp_ring.head->n_chunks + 1) / 2;
	for (uint64_t i = 0; i < (half - 1) * (uint64_t)TP_CHUNK_RECORDS; i++)
		rig_put(1, i);
	cr_expect_eq(tp_ring_bell, bell);
	for (uint64_t i = 0; i < 3 * TP_CHUNK_RECORDS; i++)
		rig_put(1, i);
	cr_expect_eq(tp_ring_bell, bell + 1);
}

/* ---- threads ---- */

static void *put_ten(void *who)
{
	for (uint64_t i = 0; i < 10; i++)
		rig_put((uint32_t)(uintptr_t)who, i);
	return NULL;
}

Test(ring, gets_chunks_and_slots_of_ended_threads_back)
{
	struct bag *bag = new_bag();

	cr_assert_eq(rig_open_ring(MIB), 0);
	rig_put(0, 0);
	/* Many times as many threads as chunks, some at a time. */
	for (uintptr_t round = 0; round < 20; round++) {
		pthread_t thread[8];

		for (uintptr_t i = 0; i < 8; i++)
			pthread_create(&thread[i], NULL, put_ten, (void *)(1 + round * 8 + i));
		for (int i = 0; i < 8; i++)
			pthread_join(thread[i], NULL);
		take_all(bag);
		cr_expect(reap_down_to(1, true));
	}
	cr_expect_eq(bag->n, 1 + 20 * 8 * 10);
	cr_expect_eq(bag->n_bad + bag->n_out_of_order, 0);
	cr_expect_eq(tp_ring_dropped(), 0);
	cr_expect_eq(tp_ring.slots[1].tid, 0);
	cr_expect_neq(tp_ring.slots[0].tid, 0);
}

static void *take_slot(void *unused)
{
	tp_ring_slot();
	return NULL;
}

Test(ring, says_when_slots_run_short_and_those_of_ended_threads_help)
{
	cr_assert_eq(rig_open_ring(MIB), 0);
	for (int i = 0; i < TP_RING_SLOTS / 2; i++) {
		pthread_t thread;

		cr_expect_not(tp_ring_is_short_of_slots());
		pthread_create(&thread, NULL, take_slot, NULL);
		pthread_join(thread, NULL);
	}
	cr_expect(tp_ring_is_short_of_slots());
	/* The last one to end may still be seen for a moment. */
	cr_expect(AWAIT((tp_ring_reap(true), !tp_ring_is_short_of_slots())));
}

Test(ring, keeps_the_chunk_of_an_ended_thread_until_it_is_drained)
{
	struct bag *bag = new_bag();
	pthread_t thread;

	cr_assert_eq(rig_open_ring(MIB), 0);
	pthread_create(&thread, NULL, put_ten, (void *)1);
	pthread_join(thread, NULL);
	tp_ring_reap(true);
	cr_expect_eq(tp_ring_chunks_used(), 1);
	take_all(bag);
	cr_expect_eq(bag->n, 10);
	cr_expect(reap_down_to(0, false));
	cr_expect_neq(tp_ring.slots[0].tid, 0, "the slot stays until the window ends");
	tp_ring_reap(true);
	cr_expect_eq(tp_ring.slots[0].tid, 0);
}

static pthread_barrier_t all_there, all_done;

static void *put_and_stay(void *who)
{
	put_ten(who);
	tp_ring_span_begin(TP_REC_OP, 5, 100);
	pthread_barrier_wait(&all_there);
	pthread_barrier_wait(&all_done);
	return NULL;
}

Test(ring, lets_threads_beyond_the_slots_share_the_last_one)
{
	enum { N = TP_RING_SLOTS + 50 };
	static pthread_t thread[N];
	struct bag *bag = new_bag();
	uint32_t n_shared = 0;
	pthread_attr_t attr;

	cr_assert_eq(rig_open_ring(64 * MIB), 0);
	pthread_barrier_init(&all_there, NULL, N + 1);
	pthread_barrier_init(&all_done, NULL, N + 1);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (uintptr_t i = 0; i < N; i++) {
		int err = EAGAIN;

		/* A machine that is short of threads for a moment is not what is tested. */
		for (int tries = 0; err == EAGAIN && tries < 200; tries++) {
			if (tries)
				usleep(50000);
			err = pthread_create(&thread[i], &attr, put_and_stay, (void *)i);
		}
		cr_assert_eq(err, 0);
	}
	pthread_barrier_wait(&all_there);
	take_all(bag);
	cr_expect_eq(bag->n, N * 10);
	cr_expect_eq(bag->n_bad + bag->n_out_of_order, 0, "each has its own chunk");
	for (uint32_t i = 0; i < N; i++)
		n_shared += bag->slot_of[i] == TP_RING_SLOTS - 1;
	cr_expect_eq(n_shared, N - (TP_RING_SLOTS - 1));
	cr_expect_str_eq(tp_ring.slots[TP_RING_SLOTS - 1].name, "other threads");
	cr_expect_eq(tp_ring.slots[TP_RING_SLOTS - 1].tid, TP_TID_MANY);
	cr_expect_eq(tp_ring.slots[TP_RING_SLOTS - 1].depth, 0, "open spans cannot be shared");
	cr_expect_eq(tp_ring.slots[7].depth, 1);
	pthread_barrier_wait(&all_done);
	for (uint32_t i = 0; i < N; i++)
		pthread_join(thread[i], NULL);
	cr_expect(reap_down_to(0, true), "also of threads without a slot");
}

/* ---- open spans ---- */

Test(ring, knows_what_a_thread_is_inside_of)
{
	struct tp_ring_slot *slot;
	uint32_t outer, inner;

	cr_assert_eq(rig_open_ring(MIB), 0);
	outer = tp_ring_span_begin(TP_REC_RANGE, 11, 1000);
	inner = tp_ring_span_begin(TP_REC_OP, 12, 2000);
	slot = tp_ring_slot();
	cr_expect_eq(slot->depth, 2);
	cr_expect_eq(slot->open[0].name, 11);
	cr_expect_eq(slot->open[1].time, 2000);
	tp_ring_span_end(inner);
	cr_expect_eq(slot->depth, 1);
	tp_ring_span_end(outer);
	cr_expect_eq(slot->depth, 0);
	/* Deeper than the stack: counted, not kept. */
	for (uint32_t i = 0; i < TP_OPEN_SPANS + 5; i++)
		cr_expect_eq(tp_ring_span_begin(TP_REC_OP, i, i + 1), i);
	cr_expect_eq(slot->depth, TP_OPEN_SPANS + 5);
	tp_ring_span_end(3);
	cr_expect_eq(slot->depth, 3, "an outer one ended first");
}

Test(ring, forgets_operators_but_not_the_ranges_around_them)
{
	cr_assert_eq(rig_open_ring(MIB), 0);
	tp_ring_span_begin(TP_REC_RANGE, 1, 10);
	tp_ring_span_begin(TP_REC_RANGE, 2, 20);
	tp_ring_span_begin(TP_REC_OP, 3, 30);
	tp_ring_span_begin(TP_REC_RANGE, 4, 40);
	tp_ring_forget_spans();
	cr_expect_eq(tp_ring_slot()->depth, 2);
}

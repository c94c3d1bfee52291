/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launches.c - tests: which call started a device's work
 */
#include "merge/facts/time/launches.h"

#include <criterion/criterion.h>

#include "tests/unit/fake_run.h"

static struct fake fake;
static struct tp_proc *proc;
static struct tp_queue queue = {.stream = 7};
static struct tp_launches *launches;
static struct tp_launch_notes notes;

static void set_up(void)
{
	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	fake_proc(&fake, 1);
	launches = tp_launches_new(&fake.run);
	notes = tp_launches_notes(launches);
}

static void tear_down(void)
{
	tp_launches_free(launches);
}

TestSuite(launches, .init = set_up, .fini = tear_down);

static struct tp_event call_at(int64_t begin, uint32_t correlation)
{
	struct tp_event event = fake_span(&fake, proc, 2, TP_REC_CALL, NULL, begin, begin + 5000);

	event.link = correlation;
	return event;
}

static struct tp_event work_at(int64_t begin, uint32_t correlation)
{
	struct tp_event event = fake_span(&fake, proc, 0, TP_REC_KERNEL, NULL, begin, begin + 900);

	event.link = correlation;
	event.queue = &queue;
	return event;
}

static void give_call(int64_t begin, uint32_t correlation, uint32_t owner)
{
	struct tp_event event = call_at(begin, correlation);

	tp_launches_call(launches, &event);
	tp_launch_note(&notes, &event, owner);
}

/* The owner of the call behind work; -1: none. */
static int64_t owner_of(int64_t begin, uint32_t correlation)
{
	struct tp_event event = work_at(begin, correlation);
	struct tp_launch_call *call = tp_launches_find(launches, &event);

	return call ? (int64_t)tp_launch_noted(&notes, call) : -1;
}

Test(launches, are_found_by_correlation)
{
	struct tp_event work = work_at(9000, 12);
	struct tp_launch_call *call;

	give_call(1000, 11, 1);
	give_call(2000, 12, 2);
	call = tp_launches_find(launches, &work);
	cr_assert_not_null(call);
	cr_expect_eq(tp_launch_noted(&notes, call), 2);
	cr_expect_eq(call->begin_ns, 2000);
	cr_expect_eq(call->end_ns, 7000);
	cr_expect_eq(call->thread, &proc->thread[2]);
	cr_expect_eq(owner_of(9000, 13), -1);
	/* Work that ran long after, and again: a graph. */
	cr_expect_eq(owner_of(400000000000, 12), 2);
}

Test(launches, are_none_of_another_process_or_window_or_of_no_id)
{
	struct tp_event work = work_at(9000, 5);

	give_call(1000, 5, 1);
	give_call(1000, 0, 2);
	work.proc = fake.procs[1];
	cr_expect_null(tp_launches_find(launches, &work));
	work.proc = proc;
	work.window = 1;
	cr_expect_null(tp_launches_find(launches, &work));
	cr_expect_eq(owner_of(9000, 0), -1);
}

Test(launches, are_the_newest_before_the_work_when_ids_come_again)
{
	give_call(1000, 7, 1);
	give_call(5000000000, 7, 2);
	cr_expect_eq(owner_of(6000000000, 7), 2);
	/* Began before the second call did. */
	cr_expect_eq(owner_of(20000, 7), 1);
	cr_expect_eq(owner_of(4999999000, 7), 1);
	/* Before both: clocks differ, and the first is nearer. */
	give_call(6000, 7, 3);
	cr_expect_eq(owner_of(500, 7), 1);
	cr_expect_eq(owner_of(-2 * TP_LAUNCHES_LATE_NS, 7), -1);
}

/* Ids that share a place in the table, over its end and its doublings. */
Test(launches, are_found_among_many)
{
	for (uint32_t i = 1; i <= 20000; i++)
		give_call(i * 100, i * 4096u, i);
	for (uint32_t i = 1; i <= 20000; i++)
		cr_assert_eq(owner_of(3000000, i * 4096u), i, "%u", i);
}

Test(launches, wrap_their_ids)
{
	for (uint32_t i = 0; i < 3000; i++)
		give_call(i * 100, UINT32_MAX - 1500 + i, i);
	for (uint32_t i = 0; i < 3000; i++)
		if (UINT32_MAX - 1500 + i)
			cr_assert_eq(owner_of(300000, UINT32_MAX - 1500 + i), i, "%u", i);
}

struct seen {
	uint32_t correlation;
	int64_t owner;
};
static struct seen seen[80000];
static uint32_t n_seen;

static void note(void *ctx, const struct tp_event *event, struct tp_launch_call *call)
{
	seen[n_seen++] = (struct seen){event->link, call ? (int64_t)tp_launch_noted(&notes, call) : -1};
}

static uint32_t n_gone, n_gone_with_work;

static void count_gone(void *ctx, const struct tp_launch_call *call)
{
	n_gone++;
	n_gone_with_work += call->n_work != 0;
	/* In the order they came. */
	cr_assert_eq(tp_launch_noted(&notes, call), n_gone);
}

Test(launches, are_forgotten_when_too_many_came)
{
	uint32_t n = TP_LAUNCHES_KEPT + 1000;

	tp_launches_free(launches);
	fake.run.n_procs = 1;
	launches = tp_launches_new(&fake.run);
	notes = tp_launches_notes(launches);
	n_gone = 0;
	tp_launches_read(launches, note, count_gone, NULL);
	/* All within KEPT_NS, so only the number counts. */
	for (uint32_t i = 1; i <= n; i++)
		give_call(i, i, i);
	cr_expect_eq(n_gone, 1000);
	for (uint32_t i = 1; i <= n; i++)
		cr_assert_eq(owner_of(n, i), i > 1000 ? (int64_t)i : -1, "%u", i);
	tp_launches_end(launches);
	cr_expect_eq(n_gone, n);
}

Test(launches, are_forgotten_when_they_are_old)
{
	n_gone = 0;
	tp_launches_read(launches, note, count_gone, NULL);
	for (uint32_t i = 1; i <= 20000; i++)
		give_call(i * TP_LAUNCHES_KEPT_NS / 1000, i, i);
	/* Few enough for the smallest table that is never left. */
	cr_expect_eq(n_gone, 20000 - 8192);
	cr_expect_eq(owner_of(200 * TP_LAUNCHES_KEPT_NS, 20000), 20000);
	cr_expect_eq(owner_of(200 * TP_LAUNCHES_KEPT_NS, 20000 - 8192 + 1), 20000 - 8192 + 1);
}

Test(launches, of_many_processes_fewer_are_kept_of_each)
{
	uint32_t n_kept = 0;

	tp_launches_free(launches);
	while (fake.run.n_procs < FAKE_PROCS)
		fake_proc(&fake, 1);
	launches = tp_launches_new(&fake.run);
	notes = tp_launches_notes(launches);
	for (uint32_t i = 1; i <= TP_LAUNCHES_KEPT; i++)
		give_call(i, i, i);
	for (uint32_t i = 1; i <= TP_LAUNCHES_KEPT; i++)
		n_kept += owner_of(TP_LAUNCHES_KEPT, i) == (int64_t)i;
	cr_expect_geq(n_kept, TP_LAUNCHES_LEAST);
	cr_expect_leq((uint64_t)n_kept * FAKE_PROCS * sizeof(struct tp_launch_call), TP_LAUNCHES_BYTES);
	cr_expect_eq(owner_of(TP_LAUNCHES_KEPT, TP_LAUNCHES_KEPT), TP_LAUNCHES_KEPT);
}

static void give_work(int64_t begin, uint32_t correlation)
{
	struct tp_event event = work_at(begin, correlation);

	tp_launches_work(launches, &event);
}

static void expect_seen(const struct seen *expected, uint32_t n)
{
	cr_expect_eq(n_seen, n, "%u", n_seen);
	for (uint32_t i = 0; i < n && i < n_seen; i++) {
		cr_expect_eq(seen[i].correlation, expected[i].correlation, "%u", i);
		cr_expect_eq(seen[i].owner, expected[i].owner, "%u", i);
	}
}

Test(launches, hand_on_each_piece_of_work_once_with_its_call)
{
	static const struct seen all[] = {{1, 101}, {1, 101}, {1, 101}, {0, -1}};

	n_seen = 0;
	tp_launches_read(launches, note, NULL, NULL);
	give_call(1000, 1, 101);
	for (int i = 0; i < 3; i++)
		give_work(2000 + i, 1);
	give_work(3000, 0);
	expect_seen(all, 0);
	tp_launches_end(launches);
	expect_seen(all, 4);
}

/* Clocks of host and device differ by a little: 3 us here. */
Test(launches, find_the_call_of_work_that_seems_to_begin_before_it)
{
	static const struct seen all[] = {{1, 101}, {2, 102}, {9, -1}, {8, -1}};

	n_seen = 0;
	tp_launches_read(launches, note, NULL, NULL);
	give_call(500, 2, 102);
	give_work(1000, 1);
	give_work(1100, 2);
	give_call(4000, 1, 101);
	expect_seen(all, 0);
	/* A call that was never recorded; in order of begin all the same. */
	give_work(5000, 9);
	give_work(5000 + TP_LAUNCHES_LATE_NS / 2, 8);
	give_call(5001 + TP_LAUNCHES_LATE_NS, 77, 0);
	expect_seen(all, 3);
	tp_launches_end(launches);
	expect_seen(all, 4);
}

static uint32_t n_work_of_one;

static void count_work_of_one(void *ctx, const struct tp_launch_call *call)
{
	if (call->correlation == 1)
		n_work_of_one = call->n_work;
}

Test(launches, count_the_work_of_each_call)
{
	tp_launches_read(launches, note, count_work_of_one, NULL);
	n_seen = 0;
	give_call(1000, 1, 101);
	for (int i = 0; i < 5; i++)
		give_work(2000 + i, 1);
	give_work(2000, 2);
	tp_launches_end(launches);
	cr_expect_eq(n_work_of_one, 5);
}

Test(launches, lose_no_work_when_too_much_waits)
{
	n_seen = 0;
	tp_launches_read(launches, note, NULL, NULL);
	for (uint32_t i = 0; i < 70000; i++)
		give_work(7, 1 + i);
	tp_launches_end(launches);
	cr_expect_eq(n_seen, 70000);
	for (uint32_t i = 0; i < n_seen; i++)
		cr_assert_eq(seen[i].correlation, 1 + i);
}

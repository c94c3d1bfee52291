/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_ranges.c - each range has our callback, once, whoever adds and removes that for all meanwhile
 *
 * By a torch of our own: what is for all is a number, what is for a thread is in the thread.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "runtime/probe/torch/torch_ranges.h"
#include "runtime/probe/torch/torch_state.h"

enum { N_THREADS = 3, N_WINDOWS = 1000, MANY = 12, OWN = 1000000 };

struct range {
	int n_callbacks;	/* that it took when it was made */
};

static atomic_int n_for_all, n_added, n_added_own, n_destroyed;
static __thread int n_own, n_made;
static atomic_bool is_slow;	/* now and then, between one's own and those for all */

static uint64_t add(struct tp_torch_callback callback)
{
	n_for_all++;
	return (uint64_t)++n_added;
}

static uint64_t add_own(struct tp_torch_callback callback)
{
	n_own++;
	return (uint64_t)(OWN + ++n_added_own);
}

static void remove_callback(uint64_t handle)
{
	if (handle > OWN)
		n_own--;
	else
		n_for_all--;
}

static void destruct(void *range)
{
	n_destroyed++;
}

static void pause_ns(long ns)
{
	const struct timespec time = {.tv_nsec = ns};

	nanosleep(&time, NULL);
}

static void make(struct range *range)
{
	struct tp_torch_range_made entered;

	do {
		entered = tp_torch_range_enter(range);
		range->n_callbacks = n_own;
		if (is_slow && ++n_made % 8 == 0)
			pause_ns(1000);
		range->n_callbacks += n_for_all;
	} while (!tp_torch_range_leave(range, entered));
}

/* From its making to its end. */
static int use_range(void)
{
	struct range range;

	make(&range);
	tp_torch_range_came(&range, false);
	tp_torch_range_ended();
	return range.n_callbacks;
}

static void use_many(void)
{
	for (int i = 0; i < MANY; i++)
		cr_expect_eq(use_range(), 1);
}

static void start(void)
{
	tp_torch.abi.add = add;
	tp_torch.abi.add_own = add_own;
	tp_torch.abi.remove = remove_callback;
	tp_torch.abi.destruct = destruct;
}
TestSuite(torch_ranges, .init = start);

Test(torch_ranges, the_one_for_all_goes_after_the_first_ranges_and_comes_for_windows)
{
	tp_torch_ranges_watch();
	use_many();
	cr_expect_eq(n_for_all, 1, "nothing is open yet");
	tp_torch_ranges_open();
	cr_expect_eq(use_range(), 1);
	cr_expect_eq(n_for_all, 1, "who knows whether all come by the constructor");
	use_many();
	cr_expect_eq(n_for_all, 0);
	cr_expect_eq(n_own, 0);
	tp_torch_ranges_arm();
	use_many();
	cr_expect_eq(n_for_all, 1);
	tp_torch_ranges_disarm();
	use_many();
	cr_expect_eq(n_for_all, 0);
	tp_torch_ranges_end(true);
	cr_expect_eq(use_range(), 0);
}

Test(torch_ranges, a_range_that_comes_another_way_keeps_the_one_for_all)
{
	struct range other = {0};

	tp_torch_ranges_watch();
	tp_torch_ranges_open();
	tp_torch_range_came(&other, true);
	use_many();
	cr_expect_eq(n_for_all, 0, "an asynchronous one may be of another thread");
	tp_torch_ranges_arm();
	tp_torch_range_came(&other, false);
	tp_torch_ranges_disarm();
	use_many();
	cr_expect_eq(n_for_all, 1);
}

Test(torch_ranges, without_callbacks_of_threads_there_is_one_for_all)
{
	tp_torch.abi.add_own = NULL;
	tp_torch_ranges_watch();
	tp_torch_ranges_open();
	use_many();
	cr_expect_eq(n_for_all, 1);
}

Test(torch_ranges, for_a_fork_the_one_for_all_is_there)
{
	tp_torch_ranges_watch();
	tp_torch_ranges_open();
	use_many();
	tp_torch_ranges_before_fork();
	tp_torch_ranges_before_fork();
	use_many();
	cr_expect_eq(n_for_all, 1, "as long as one forks");
	tp_torch_ranges_after_fork();
	use_many();
	cr_expect_eq(n_for_all, 1, "two are at it");
	cr_expect(tp_torch_ranges_forked(), "the child has it");
	use_many();
	cr_expect_eq(n_for_all, 1, "... and keeps it: it removes nothing");
	/* The parent again. */
	tp_torch_ranges_before_fork();
	tp_torch_ranges_after_fork();
	use_many();
	cr_expect_eq(n_for_all, 0);
	cr_expect_not(tp_torch_ranges_forked(), "of a child that was made past our handlers");
	/* After a fork that began before there was a session. */
	tp_torch_ranges_after_fork();
	tp_torch_ranges_arm();
	tp_torch_ranges_after_fork();
	use_many();
	cr_expect_eq(n_for_all, 1);
}

static atomic_bool is_over;

static void *use_ranges(void *wrong)
{
	for (int i = 0; !is_over; i++) {
		*(int *)wrong += use_range() != 1;
		if (i % 4 == 0)
			pause_ns(20000);
	}
	return NULL;
}

Test(torch_ranges, each_range_has_one_while_windows_come_and_go)
{
	pthread_t thread[N_THREADS];
	int n_wrong[N_THREADS] = {0};

	tp_torch_ranges_watch();
	tp_torch_ranges_open();
	is_slow = true;
	for (int i = 0; i < N_THREADS; i++)
		cr_assert_eq(pthread_create(&thread[i], NULL, use_ranges, &n_wrong[i]), 0);
	for (int i = 0; i < N_WINDOWS; i++) {
		tp_torch_ranges_arm();
		pause_ns(100000);
		tp_torch_ranges_disarm();
		pause_ns(500000);
	}
	is_over = true;
	for (int i = 0; i < N_THREADS; i++) {
		pthread_join(thread[i], NULL);
		cr_expect_eq(n_wrong[i], 0, "%d ranges", n_wrong[i]);
	}
	cr_expect_gt(n_added, 50, "it came %d times in %d windows", n_added, N_WINDOWS);
	cr_expect_gt(n_added_own, 1000);
	cr_expect_gt(n_destroyed, 0, "none came in between: this test has shown nothing");
}

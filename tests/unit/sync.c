/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync.c - the spin lock excludes, and debug builds trap on locks taken in the wrong order
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

#include "runtime/base/sync.h"

static struct tp_spin step = {.rank = TP_LOCK_STEP}, names = {.rank = TP_LOCK_INTERN};
static unsigned counter;

static void *count_up(void *arg)
{
	for (int i = 0; i < 20000; i++) {
		tp_spin_lock(&names);
		counter++;
		tp_spin_unlock(&names);
	}
	return NULL;
}

Test(sync, lock_lets_one_thread_in)
{
	pthread_t thread[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, count_up, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	cr_assert_eq(counter, 60000);
}

Test(sync, trylock_does_not_wait)
{
	cr_assert(tp_spin_trylock(&names));
	cr_assert_not(tp_spin_trylock(&names));
	tp_spin_unlock(&names);
	cr_assert(tp_spin_trylock(&names));
}

Test(sync, locks_are_taken_upwards)
{
	tp_spin_lock(&step);
	tp_spin_lock(&names);
	tp_spin_unlock(&names);
	tp_spin_unlock(&step);
	tp_spin_lock(&names);
	tp_spin_unlock(&names);
}

static void *wait_with_priority(void *is_urgent)
{
	const struct sched_param first = {.sched_priority = 1};

	if (sched_setscheduler(0, SCHED_FIFO, &first) < 0)
		return NULL;
	__atomic_store_n((bool *)is_urgent, true, __ATOMIC_RELEASE);
	errno = ENOTTY;
	tp_spin_lock(&names);
	cr_expect_eq(errno, ENOTTY);
	tp_spin_unlock(&names);
	return is_urgent;
}

/* On one core a waiter that only yields never lets a holder of lower priority run, but for
 * the twentieth of each second that the kernel may keep back. */
Test(sync, a_waiter_of_high_priority_lets_the_holder_go_on, .timeout = 20)
{
	struct timespec begin, now;
	bool is_urgent = false;
	cpu_set_t one_core;
	pthread_t thread;
	void *result;

	CPU_ZERO(&one_core);
	CPU_SET(0, &one_core);
	if (sched_setaffinity(0, sizeof(one_core), &one_core) < 0)
		cr_skip("core 0 is not ours");
	tp_spin_lock(&names);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	pthread_create(&thread, NULL, wait_with_priority, &is_urgent);
	/* Where it may not have the priority it waits like any other. */
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (!__atomic_load_n(&is_urgent, __ATOMIC_ACQUIRE) && now.tv_sec - begin.tv_sec < 2);
	for (volatile int i = 0; i < 1000000; i++)
		;
	clock_gettime(CLOCK_MONOTONIC, &now);
	tp_spin_unlock(&names);
	pthread_join(thread, &result);
	if (!result)
		cr_skip("no right to a real-time priority");
	cr_expect_lt((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000, 500);
}

#ifdef TP_DEBUG
/* A compiler's trap: SIGILL on x86-64, SIGTRAP on aarch64. */
#if defined(__x86_64__)
#define TRAP_SIGNAL SIGILL
#else
#define TRAP_SIGNAL SIGTRAP
#endif

Test(sync, debug_build_traps_on_a_lock_taken_downwards, .signal = TRAP_SIGNAL)
{
	tp_spin_lock(&names);
	tp_spin_lock(&step);
}

Test(sync, debug_build_traps_on_a_lock_taken_twice, .signal = TRAP_SIGNAL)
{
	tp_spin_lock(&names);
	tp_spin_lock(&names);
}
#endif

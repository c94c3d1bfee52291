/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync.c - the spin lock excludes, and debug builds trap on locks taken in the wrong order
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>

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

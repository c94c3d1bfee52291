/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync.c - waiting for a lock; the order of locks, checked in debug builds
 *
 * Each thread remembers the ranks it holds as bits. Taking a lock whose rank is not above
 * all of them could deadlock with a thread that takes them the other way round: trap at
 * once, in the wrong place, instead of hanging some day.
 */
#include "runtime/base/sync.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { YIELDS = 1000 };

#ifdef TP_DEBUG

static __thread uint32_t held_ranks __attribute__((tls_model("initial-exec")));

void tp_spin_check_rank(const struct tp_spin *lock)
{
	if (held_ranks >> lock->rank)
		__builtin_trap();
}

void tp_spin_note(const struct tp_spin *lock, bool taken)
{
	if (taken)
		held_ranks |= 1u << lock->rank;
	else
		held_ranks &= ~(1u << lock->rank);
}

#endif

void tp_sleep_ns(uint32_t ns)
{
	const struct timespec time = {.tv_nsec = ns};

	syscall(SYS_nanosleep, &time, NULL);
}

int tp_cancel_hold(void)
{
	int held;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &held);
	return held;
}

void tp_cancel_release(int held)
{
	pthread_setcancelstate(held, NULL);
}

void tp_spin_pause(unsigned spins)
{
	int saved = errno;

	if (spins < YIELDS)
		sched_yield();
	else
		tp_sleep_ns(50000);
	errno = saved;
}

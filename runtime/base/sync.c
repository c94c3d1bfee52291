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
#include <sched.h>
#include <time.h>

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

void tp_spin_pause(unsigned spins)
{
	const struct timespec pause = {.tv_nsec = 50000};
	int saved = errno;

	if (spins < YIELDS)
		sched_yield();
	else
		nanosleep(&pause, NULL);
	errno = saved;
}

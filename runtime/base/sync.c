/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync.c - the order of locks, checked in debug builds
 *
 * Each thread remembers the ranks it holds as bits. Taking a lock whose rank is not above
 * all of them could deadlock with a thread that takes them the other way round: trap at
 * once, in the wrong place, instead of hanging some day.
 */
#include "runtime/base/sync.h"

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

#else

/* The lock is all in the header; this file is not empty in either build. */
_Static_assert(TP_LOCK_INTERN < 32, "ranks fit the debug build's bits");

#endif

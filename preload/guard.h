/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.h - the per-thread word that says "the profiler is already at work on this thread"
 *
 * A hook that calls out (to dlsym, to an unwinder) may come back to a hook through malloc.
 * Whoever enters first does the work; whoever comes in below only forwards. Initial-exec
 * TLS: it is touched inside malloc.
 */
#ifndef TP_PRELOAD_GUARD_H
#define TP_PRELOAD_GUARD_H

#include <stdbool.h>
#include <stdint.h>

extern __thread uint32_t tp_guard
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* False: already inside on this thread; do nothing of our own, and do not leave. */
static inline bool tp_guard_enter(void)
{
	if (tp_guard)
		return false;
	tp_guard = 1;
	/* A signal handler on this thread must find the word set before we go on. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return true;
}

static inline void tp_guard_leave(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	tp_guard = 0;
}

#endif

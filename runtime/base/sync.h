/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync.h - atomics by meaning, the spin lock, and the order of locks
 *
 * Locks are few and never held while calling out of the profiler (into libc's malloc, torch,
 * CUPTI, Python). A lock may be taken only while holding locks of lower rank; debug builds
 * (-DTP_DEBUG) check it per thread.
 */
#ifndef TP_BASE_SYNC_H
#define TP_BASE_SYNC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/own_words.h"

#define tp_likely(x) __builtin_expect(!!(x), 1)
#define tp_unlikely(x) __builtin_expect(!!(x), 0)
#define TP_CACHE_LINE 64
/* Of a function that is rarely called: it, and what leads to it, lie apart from the code that every
 * event runs, of which fewer cache lines are then read. */
#define TP_COLD __attribute__((cold, noinline))
/* Of a function that each event runs: all such lie together, on few pages. */
#define TP_HOT __attribute__((section(".text.hot")))
/* Of a word that each event reads and hardly anything writes: all such words are in one cache line. */
#define TP_READ_OFTEN __attribute__((section("tp_read_often")))

/* Lowest first. */
enum tp_lock_rank {
	TP_LOCK_SESSION = 1,	/* phase changes: session.c */
	TP_LOCK_STEP = 2,	/* step detector state: step.c and the torch probe */
	TP_LOCK_LOADER = 2,	/* around the loader's list: loader.h */
	TP_LOCK_THREADS = 3,	/* taking a thread slot: ring.c */
	TP_LOCK_NCCL = 3,	/* the list of communicators: nccl_comm.c */
	TP_LOCK_INTERN = 4,	/* appending a name: intern.c */
	TP_LOCK_MARK = 5,	/* registering a name: mark_names.c */
	TP_LOCK_DEVMEM = 6,	/* blocks of device memory: devmem.c */
	TP_LOCK_OWNER = 7,	/* paths of libraries: owner.c */
	TP_LOCK_CUPTI = 7,	/* ledger of the other user of CUPTI: cupti_yield.c */
};

struct tp_spin {
	atomic_uint held;
	enum tp_lock_rank rank;
};

#ifdef TP_DEBUG
void tp_spin_check_rank(const struct tp_spin *lock);	/* traps on a wrong order */
void tp_spin_note(const struct tp_spin *lock, bool taken);
#else
#define tp_spin_check_rank(lock) ((void)0)
#define tp_spin_note(lock, taken) ((void)0)
#endif

/* To a word that this thread alone writes, but for its own signal handlers: one instruction, not a
 * locked one. */
static inline void tp_add_own(uint64_t *word, uint64_t n)
{
#if defined(__x86_64__)
	__asm__("addq %1, %0" : "+m"(*word) : "re"(n) : "cc");
#else
	__atomic_store_n(word, __atomic_load_n(word, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
#endif
}

/* The word becomes `n` where that is more, whoever else raises it. */
#define tp_raise(word, n)                                                                          \
	do {                                                                                       \
		const __typeof__(*(word)) raised_ = (n);                                           \
		__typeof__(*(word)) seen_ = __atomic_load_n((word), __ATOMIC_RELAXED);             \
                                                                                                   \
		while (tp_unlikely(raised_ > seen_) &&                                             \
		       !__atomic_compare_exchange_n((word), &seen_, raised_, true,                 \
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED))           \
			;                                                                          \
	} while (0)

/* Sleeps for so long, or until a signal comes. No cancellation point, as nanosleep() is one. */
void tp_sleep_ns(uint32_t ns);

/*
 * Between the two, a thread that is to be cancelled is not: for hooks that open, close or wait.
 * Where the guest's function is no cancellation point, ours may not make it one.
 */
int tp_cancel_hold(void);
void tp_cancel_release(int held);

/* The holder may have been descheduled: gives the core away, after a while also to holders of
 * a lower priority, which sched_yield() would not let run. Keeps errno. */
void tp_spin_pause(unsigned spins);

static inline void tp_spin_lock(struct tp_spin *lock)
{
	unsigned spins = 0;

	tp_spin_check_rank(lock);
	while (atomic_exchange_explicit(&lock->held, 1, memory_order_acquire)) {
		if (++spins > 100)
			tp_spin_pause(spins);
		/* Whoever held it in the parent is not here, and nobody made it free. */
		if (spins > 100 && tp_own_words_is_stranger())
			break;
	}
	tp_spin_note(lock, true);
}

static inline bool tp_spin_trylock(struct tp_spin *lock)
{
	if (atomic_exchange_explicit(&lock->held, 1, memory_order_acquire))
		return false;
	tp_spin_note(lock, true);
	return true;
}

static inline void tp_spin_unlock(struct tp_spin *lock)
{
	tp_spin_note(lock, false);
	atomic_store_explicit(&lock->held, 0, memory_order_release);
}

#endif

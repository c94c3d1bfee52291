/* SPDX-License-Identifier: Apache-2.0 */
/*
 * biased_sum.h - a sum and its peak, to which one thread adds without a locked instruction
 *
 * A locked addition takes 20 cycles on a line that no other thread has. So the sum has two parts: the
 * owner's, which only that thread writes, with plain stores, and that of all others, to which they add
 * atomically. The sum is exact at rest, and for every thread that has just added.
 *
 * The peak is the largest sum that any thread found after it had added something, or before it took
 * something away. The second look is what makes it right: of two threads that add at the same time each
 * may miss what the other's store has not made visible yet, but not when one of them takes its part
 * away again.
 *
 * Threads: any. A signal handler of the owner may add, too: its part is changed by one instruction.
 */
#ifndef TP_ENGINE_BIASED_SUM_H
#define TP_ENGINE_BIASED_SUM_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/sync.h"

struct tp_biased_sum {		/* all atomic */
	int64_t own;
	int64_t others;
	int64_t peak;
};

/* What it was at one time: the owner's part is the same before and after the others' was read. */
static inline int64_t tp_biased_read(const struct tp_biased_sum *sum)
{
	int64_t own = __atomic_load_n(&sum->own, __ATOMIC_ACQUIRE), before, others;

	do {
		before = own;
		others = __atomic_load_n(&sum->others, __ATOMIC_ACQUIRE);
		own = __atomic_load_n(&sum->own, __ATOMIC_ACQUIRE);
	} while (tp_unlikely(own != before));
	return own + others;
}

/* is_owner: on at most one thread, the same one for ever. */
static inline void tp_biased_add(struct tp_biased_sum *sum, bool is_owner, int64_t change)
{
	if (change < 0)
		tp_raise(&sum->peak, tp_biased_read(sum));
	if (tp_likely(is_owner))
		tp_add_own((uint64_t *)&sum->own, (uint64_t)change);
	else
		__atomic_fetch_add(&sum->others, change, __ATOMIC_RELAXED);
	if (change > 0)
		tp_raise(&sum->peak, tp_biased_read(sum));
}

/* From now on the sum is 0: nobody adds any more. */
static inline void tp_biased_forget(struct tp_biased_sum *sum)
{
	__atomic_store_n(&sum->others, -__atomic_load_n(&sum->own, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

/* What the sum was at most since the last call, and what it is. A step's, a window's. */
static inline int64_t tp_biased_take_peak(struct tp_biased_sum *sum, int64_t *now)
{
	int64_t peak;

	*now = tp_biased_read(sum);
	peak = __atomic_exchange_n(&sum->peak, *now, __ATOMIC_RELAXED);
	return peak > *now ? peak : *now;
}

#endif

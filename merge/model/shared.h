/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared.h - what several sinks and views of a run keep once: who takes it first makes it, who leaves
 * it last frees it
 *
 * A struct tp_shared stands first in what is shared. Every taker may give every event: those of one
 * of them count. One thread.
 */
#ifndef TP_MERGE_SHARED_H
#define TP_MERGE_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tp_run;

struct tp_shared {
	struct tp_shared *next;	/* of the runs that are open: one, or two when they are compared */
	const struct tp_run *run;
	uint32_t n_takers;
	const void *feeder;	/* the taker whose events count */
};

/* One more taker of what there is of the run; NULL: nothing, yet. */
static inline struct tp_shared *tp_shared_take(struct tp_shared *first, const struct tp_run *run)
{
	while (first && first->run != run)
		first = first->next;
	if (first)
		first->n_takers++;
	return first;
}

/* A new one, taken once. */
static inline void tp_shared_add(struct tp_shared **first, struct tp_shared *shared,
				 const struct tp_run *run)
{
	*shared = (struct tp_shared){.next = *first, .run = run, .n_takers = 1};
	*first = shared;
}

static inline bool tp_shared_is_feeder(struct tp_shared *shared, const void *who)
{
	if (!shared->feeder)
		shared->feeder = who;
	return shared->feeder == who;
}

/* True: nobody has it any more, it is to be freed. */
static inline bool tp_shared_leave(struct tp_shared **first, struct tp_shared *shared)
{
	if (--shared->n_takers)
		return false;
	while (*first != shared)
		first = &(*first)->next;
	*first = shared->next;
	return true;
}

#endif

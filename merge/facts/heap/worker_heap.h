/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker_heap.h - whether the heap of a worker process (of a DataLoader...) grows for as long as it is seen
 *
 * By the counter "heap live", which a worker writes some times a second in windows; a worker has no steps and
 * no ledger of them. It grows if it stands higher in each window than in the one before and goes on rising
 * within most of them at about the pace that lies between them: a cache that is full does not, nor does one
 * that was filled between two windows. Windows that are too short for that have to be more. Memory: a few
 * numbers for each window of each worker.
 */
#ifndef TP_MERGE_WORKER_HEAP_H
#define TP_MERGE_WORKER_HEAP_H

#include "merge/model/fact.h"

struct tp_worker_heap;

struct tp_worker_growth {
	const struct tp_proc *proc;	/* the worker */
	int64_t first_ns, last_ns;	/* least values of the first window and of the last one: when, */
	uint64_t first, last;		/* and bytes */
};

extern const struct tp_fact tp_fact_worker_heap;

/* Of the worker whose heap grows fastest; false: of none. */
bool tp_worker_heap_worst(const struct tp_worker_heap *heap, struct tp_worker_growth *growth);

static inline double tp_worker_growth_rate(const struct tp_worker_growth *growth)	/* bytes a second */
{
	return 1e9 * (double)(growth->last - growth->first) / (double)(growth->last_ns - growth->first_ns);
}

#endif

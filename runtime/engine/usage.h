/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage.h - what the step in progress used up: waits for data, time in optimizers, batches
 *
 * Sometimes it shows only later where a step began. So the moments at which it may have begun
 * are kept as marks, and the step can be moved to one of them: what came before the mark is
 * then no part of it. What a loader uses up that does not count as a training one is kept
 * apart, and added when it turns out to be one after all. Pure; the caller has the lock.
 */
#ifndef TP_ENGINE_USAGE_H
#define TP_ENGINE_USAGE_H

#include <stdbool.h>
#include <stdint.h>

struct tp_usage {
	uint64_t data_wait, optimizer;	/* ticks */
	uint32_t batches;
};

struct tp_usage_mark {
	uint64_t time;
	struct tp_usage used, other;	/* up to then */
	uint64_t other_loader;
};

struct tp_step_usage {
	uint64_t begin;			/* of the step */
	struct tp_usage used;
	struct tp_usage other;		/* of other_loader, which does not count (yet) */
	uint64_t other_loader;
	struct tp_usage_mark call;	/* where the last call of a loader began */
	struct tp_usage_mark first;	/* where its last first call of a pass did */
};

/* A step begins with nothing used. */
void tp_usage_begin(struct tp_step_usage *step, uint64_t now);
/* The step in progress began at `mark`. */
void tp_usage_begin_at(struct tp_step_usage *step, struct tp_usage_mark mark);

/* A call of a loader begins. */
void tp_usage_mark(struct tp_step_usage *step, uint64_t loader, bool counts, bool is_first,
		   uint64_t now);
/* Where the wait and the batch of a loader belong. */
struct tp_usage *tp_usage_of(struct tp_step_usage *step, uint64_t loader, bool counts);
/* The loader counts, as is now known: also what it used up in this step before. */
void tp_usage_add_other(struct tp_step_usage *step, uint64_t loader);

/* Ticks of a span that lie in the step in progress. */
uint64_t tp_usage_part(const struct tp_step_usage *step, uint64_t begin, uint64_t now);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage.h - what the step in progress used up: waits for data, time in optimizers, batches
 *
 * Sometimes it shows only later where a step began. So the moments at which it may have begun
 * are kept as marks, and the step can be moved to one of them: what came before the mark is
 * then no part of it. What a loader uses up that does not count as a training one is kept
 * apart (other), and added when it turns out to be one after all. Pure; the caller has the
 * lock.
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
};

struct tp_step_usage {
	uint64_t begin;			/* of the step */
	struct tp_usage used;
	struct tp_usage other;		/* of loaders that do not count (yet) */
	struct tp_usage_mark call;	/* where the last call of a loader began */
	struct tp_usage_mark first;	/* where its last first call of a pass did */
};

/* A step begins with nothing used. */
void tp_usage_begin(struct tp_step_usage *step, uint64_t now);
/* The step in progress began at `mark`. */
void tp_usage_begin_at(struct tp_step_usage *step, struct tp_usage_mark mark);

/* A call of a loader begins. */
void tp_usage_mark(struct tp_step_usage *step, bool is_first, uint64_t now);
/* What others used up since `mark` (a mark of this step) does count, as is now known. */
void tp_usage_count_since(struct tp_step_usage *step, const struct tp_usage_mark *mark);

/* Ticks of a span that lie in the step in progress. */
uint64_t tp_usage_part(const struct tp_step_usage *step, uint64_t begin, uint64_t now);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * passes.h - passes over data loaders: which loader is the training one, when an epoch begins
 *
 * A loader is a training loader once a step ended that it fed: it was the last one called
 * before the end, or its pass goes on across the end. A pass over any other loader is an
 * evaluation. An epoch begins with a new pass over the training loader that leads: the first
 * one, until it falls silent or its pass is over and another one feeds the steps.
 * Pure; the caller has the lock and keeps the steps.
 */
#ifndef TP_ENGINE_PASSES_H
#define TP_ENGINE_PASSES_H

#include <stdbool.h>
#include <stdint.h>

enum { TP_PASSES = 8 };	/* loaders remembered; the one not used for longest is forgotten */

struct tp_pass {
	uint64_t loader;	/* 0: entry is free */
	uint64_t begin;		/* of the pass: time of its first call; of loaders zipped
				 * together, of the first one's */
	uint64_t calls;		/* in the pass */
	uint64_t calls_in_step;	/* of those, since the last end of a step */
	uint64_t used;		/* number of the call that used this entry last */
	bool is_open;		/* its end has not been seen */
	bool is_new;		/* the first one that is known over this loader */
	bool is_training;
	bool is_announced;	/* the pass began an epoch */
};

struct tp_passes {
	struct tp_pass pass[TP_PASSES];
	struct tp_pass *leader, *last;	/* NULL: none yet; last: called last in this step */
	uint64_t n_calls;
	uint64_t longest;	/* calls of the longest whole pass over any loader */
	uint32_t n_silent;	/* steps that another training loader fed without the leader */
	bool has_training;
	bool is_zipped;		/* the last call came right after another loader's first one */
};

/*
 * A call of `loader` (not 0) begins. has_steps: any step ended yet. True: an epoch begins
 * with it.
 */
bool tp_passes_call(struct tp_passes *passes, uint64_t loader, bool is_first, uint64_t now,
		    bool has_steps);
/* The call that ends a pass returned. */
void tp_passes_end(struct tp_passes *passes, uint64_t loader);
/*
 * A step ends. *new_pass: when the first pass over a loader began that counts from now on,
 * in this very step; 0: none did. True: an epoch began with it, as could not be known then.
 */
bool tp_passes_step(struct tp_passes *passes, uint64_t *new_pass);
/* The step in progress starts anew: calls so far were no part of it. */
void tp_passes_forget_step(struct tp_passes *passes);

/* Which of two was called later; neither: the first. */
uint64_t tp_passes_later(const struct tp_passes *passes, uint64_t a, uint64_t b);

/* The last call's pass begins no epoch any more: the caller began one on other grounds. */
void tp_passes_announce(struct tp_passes *passes);

/* Does what this loader does count for the step? Any loader, until one is known to train. */
bool tp_passes_counts(const struct tp_passes *passes, uint64_t loader);

#endif

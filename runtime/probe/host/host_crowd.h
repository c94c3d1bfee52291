/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_crowd.h - steps outside windows in which the thread that trains was ready to run and had no core
 *
 * By its schedstat, every 250 ms at most: a look's wait is that of the steps that ended since the look
 * before, and a step that takes several looks has all of theirs. Steps in a row of which each look found a
 * fifth of the time or more become one line of the ledger, "crowded.FIRST=LAST PERCENT"; after 64 lines one
 * each time steps are an eighth more. Drain thread only. No allocation.
 */
#ifndef TP_PROBE_HOST_CROWD_H
#define TP_PROBE_HOST_CROWD_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/text.h"

void tp_host_crowd_begin(void);
/* The probe's: in how many ns the next look is due. */
uint64_t tp_host_crowd_look(uint64_t now);
void tp_host_crowd_note(struct tp_text *facts, bool is_last);
/* In the child of fork: the thread is another one. */
void tp_host_crowd_forked(void);

/* ---- pure ---- */

struct tp_crowd {
	uint64_t first;			/* the step of the first look that counts for what comes */
	uint64_t wall_ns, wait_ns;	/* since then */
	struct {
		uint64_t first, last, wall_ns, wait_ns;	/* wall_ns 0: there is none */
	} row;				/* crowded steps in a row so far */
	uint64_t next;			/* the first step that may be told of */
	uint32_t n_told;
};

/* A look, in step `step`, so long after the one before. Appends what is over. */
void tp_crowd_take(struct tp_crowd *crowd, uint64_t step, uint64_t wall_ns, uint64_t wait_ns,
		   struct tp_text *out);
/* What is not over yet. */
void tp_crowd_end(struct tp_crowd *crowd, struct tp_text *out);

#endif

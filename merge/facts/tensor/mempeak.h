/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mempeak.h - what tensor memory consisted of when it was most, in each of many stretches of time
 *
 * A stretch is a step, or a part of a window. Which blocks were alive at a stretch's peak, and
 * what they were for, is told as they die: exact, in one pass, without keeping events.
 *
 * Memory: stretches, and rows of holders (category and operator).
 */
#ifndef TP_MERGE_MEMPEAK_H
#define TP_MERGE_MEMPEAK_H

#include "merge/facts/tensor/holders.h"

struct tp_stretch {
	int64_t begin_ns, end_ns;
	uint32_t window;
	uint64_t step;			/* TP_NO_STEP: none, between steps */
	int64_t peak_ns, peak_live;	/* when, and bytes alive as far as was known then */
	int64_t most;			/* what the ledger says that its step had at most; 0: it does not */
	int64_t at_peak[TP_TENSOR_N];	/* bytes by category */
	/* The most in it. What the caching allocator had of the device, and what others had: of
	 * this and of other processes. 0: nobody said. */
	int64_t reserved, others;
};

/* What was alive at a moment that somebody asked for. */
struct tp_pinned {
	int64_t ns;
	int64_t bytes[TP_TENSOR_N];	/* by category */
	struct tp_holder *holder;	/* the largest first */
	uint32_t n_holders;
};
enum { TP_MEMPEAK_PINS = 4 };		/* of a device of a process */

/* A device of a process. */
struct tp_mempeak_track {
	const struct tp_proc *proc;
	uint32_t device;
	struct tp_stretch *stretch;	/* in order of time */
	uint32_t n_stretches;
	uint32_t best;			/* of them the one with the highest peak */
	struct tp_holder *holder;	/* of that, the largest first */
	uint32_t n_holders;
	struct tp_pinned pin[TP_MEMPEAK_PINS];
	uint32_t n_pins;
	double byte_ns[TP_TENSOR_N];	/* bytes x time alive in windows */
	int64_t window_ns;		/* time in windows */
};

struct tp_mempeak;

/* parts: 0: stretches are steps and what is between them; else windows are cut into so many. */
struct tp_mempeak *tp_mempeak_new(const struct tp_run *run, uint32_t parts);
void tp_mempeak_free(struct tp_mempeak *peaks);

/* STEP events; others are ignored. */
void tp_mempeak_event(struct tp_mempeak *peaks, const struct tp_event *event);
void tp_mempeak_live(struct tp_mempeak *peaks, const struct tp_event *event, uint32_t device,
		     int64_t bytes);
void tp_mempeak_reserved(struct tp_mempeak *peaks, const struct tp_event *event, uint32_t device,
			 int64_t bytes);
void tp_mempeak_others(struct tp_mempeak *peaks, const struct tp_event *event, uint32_t device,
		       int64_t bytes);
/* What is alive at this event; false: there are too many such moments. The device's pins are in
 * the order in which they were asked for. */
bool tp_mempeak_pin(struct tp_mempeak *peaks, const struct tp_event *event, uint32_t device);
void tp_mempeak_life(struct tp_mempeak *peaks, const struct tp_life *life);
/* All blocks' lives were told. */
const struct tp_mempeak_track *tp_mempeak_end(struct tp_mempeak *peaks, uint32_t *n);
bool tp_mempeak_is_incomplete(const struct tp_mempeak *peaks);

/* All categories at the peak. */
int64_t tp_stretch_bytes(const struct tp_stretch *stretch);

#endif

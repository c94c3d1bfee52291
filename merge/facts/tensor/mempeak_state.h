/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mempeak_state.h - what the files of mempeak.h share: devices of processes, their stretches and tops
 *
 * Of mempeak.c, mempeak_stretch.c and mempeak_lives.c only.
 */
#ifndef TP_FACTS_MEMPEAK_STATE_H
#define TP_FACTS_MEMPEAK_STATE_H

#include "merge/facts/tensor/mempeak.h"

struct tp_mempeak_difference {
	int64_t bytes[TP_TENSOR_N];
};

struct tp_mempeak_top {
	struct tp_holders holders;
	int64_t peak_ns, peak_live, most;
	uint32_t stretch;
};

/* A moment that is asked for whatever was alive in it. */
struct tp_mempeak_pin {
	struct tp_pinned pub;
	struct tp_holders holders;
};

struct tp_mempeak_device {
	struct tp_mempeak_track pub;
	struct tp_mempeak_difference *difference;	/* from this stretch on */
	uint32_t cap_stretches, cap_differences;
	uint32_t window;
	bool is_in_window;
	int64_t window_end_ns, live;
	int64_t reached_ns;		/* events were told of up to here */
	int64_t counted_ns;		/* window_ns holds what lies before this */
	int64_t part_ns;		/* length of a part; 0: steps */
	int64_t reserved, others;
	struct tp_mempeak_top current, best;
	bool has_best;
	struct tp_mempeak_pin pin[TP_MEMPEAK_PINS];
};

/* The newest step of a process: its devices may be heard of later. */
struct tp_mempeak_step {
	uint64_t index;
	uint32_t window;
	bool is_known;
	int64_t begin_ns, end_ns;
	int64_t most;		/* tensors of the host by the ledger; 0: not known */
};

struct tp_mempeak {
	const struct tp_run *run;
	struct tp_mempeak_step *step;		/* by process */
	uint32_t parts;
	struct tp_mempeak_device *track;
	uint32_t n_tracks, cap_tracks;
	uint32_t *last;			/* by process: its track that was found last */
	struct tp_mempeak_track *result;
	bool is_incomplete;
};

static inline int64_t tp_mempeak_later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* What a step had at most is what its ledger says: sizes of blocks from before the window that were freed in
 * it may not be known. Unless much of the step is missing here. */
int64_t tp_mempeak_height(int64_t live, int64_t most);
/* The current stretch is over: is its peak the highest so far? */
void tp_mempeak_settle(struct tp_mempeak_device *track);

/* NULL: there is none yet. */
struct tp_stretch *tp_mempeak_current(struct tp_mempeak_device *track);
/* A track has a higher value than before in the current stretch. */
void tp_mempeak_note_peak(const struct tp_mempeak *peaks, struct tp_mempeak_device *track,
			  struct tp_stretch *stretch, int64_t now);
/* Stretches whose time has come. */
void tp_mempeak_reach(struct tp_mempeak *peaks, struct tp_mempeak_device *track, int64_t now);
void tp_mempeak_begin_step(struct tp_mempeak *peaks, struct tp_mempeak_device *track,
			   const struct tp_mempeak_step *step);
/* Nothing, in the window that it is in. */
void tp_mempeak_enter(struct tp_mempeak *peaks, struct tp_mempeak_device *track, uint32_t number,
		      int64_t now);

/* A new one, if need be. NULL: out of memory, or there are too many. */
struct tp_mempeak_device *tp_mempeak_find(struct tp_mempeak *peaks, const struct tp_proc *proc,
					  uint32_t device);

#endif

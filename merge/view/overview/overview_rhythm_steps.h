/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_rhythm_steps.h - steps of a process outside windows, and which of them are slow
 *
 * By the ledger, which has every step. Steps of windows are left out: recording makes them longer, and
 * windows come at equal distances, too. Where most steps of a run are recorded, all count. Those in which
 * the training thread had no core are left out, too, if they are a third at most.
 */
#ifndef TP_OVERVIEW_RHYTHM_STEPS_H
#define TP_OVERVIEW_RHYTHM_STEPS_H

#include "merge/view/overview/overview.h"

/* What is asked about one process: its steps outside of windows. */
struct tp_rhythm_steps {
	const struct tp_proc *proc;
	const struct tp_step_row **row;
	int64_t *scratch;	/* room for all of them */
	uint32_t n;
	int64_t median_ns, all_ns;
	int64_t slow_percent;	/* of the median: from there on a step is slow */
};

/* Steps of a kind: how many there are, what they take, and what of it beyond the median. */
struct tp_rhythm_kind {
	uint32_t n;
	int64_t all_ns, excess_ns;
};

/* Of their durations, of n from the first on; n is not 0. */
int64_t tp_rhythm_median(const struct tp_rhythm_steps *steps, uint32_t first, uint32_t n);
/* Of the part'th of `parts` parts of them, which are no more than steps. */
int64_t tp_rhythm_part_median(const struct tp_rhythm_steps *steps, uint32_t parts, uint32_t part);
/* The first step of that part, by its order. */
uint32_t tp_rhythm_part_first(const struct tp_rhythm_steps *steps, uint32_t parts, uint32_t part);
/* To be freed, in any case. False: too few of them to say anything. */
bool tp_rhythm_steps(const struct tp_overview_proc *proc, struct tp_rhythm_steps *steps);
void tp_rhythm_steps_free(struct tp_rhythm_steps *steps);

/* The row of a step; NULL: there is none. Rows of a ledger are in order. */
const struct tp_step_row *tp_rhythm_row(const struct tp_rhythm_steps *steps, uint64_t index);

bool tp_rhythm_is_slow(const struct tp_rhythm_steps *steps, const struct tp_step_row *row);
void tp_rhythm_count(const struct tp_rhythm_steps *steps, const struct tp_step_row *row,
		     struct tp_rhythm_kind *kind);
/* Nearly all steps of the kind are slow, each by much of what they are on average, and few others are.
 * `kind`: of the chosen ones, also if not. */
bool tp_rhythm_tell_apart(const struct tp_rhythm_steps *steps, tp_step_choose *choose, const void *ctx,
			  struct tp_rhythm_kind *kind);

#endif

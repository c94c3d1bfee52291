/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_rhythm_in.h - what the rules on the steps of a whole run share
 */
#ifndef TP_OVERVIEW_RHYTHM_IN_H
#define TP_OVERVIEW_RHYTHM_IN_H

#include "merge/view/overview/overview_advice.h"
#include "merge/view/overview/overview_rhythm_steps.h"

static inline bool tp_rhythm_is_epochs_first(const struct tp_step_row *row)
{
	return row->epoch && !row->in_epoch;
}

/* What a kind of steps takes beyond the median: evidence and percent. `which`: "every 10th step". */
void tp_rhythm_tell(const struct tp_rhythm_steps *steps, const struct tp_rhythm_kind *kind, const char *which,
		    struct tp_rhythm_found *found);
/* The first of the chosen steps by their numbers, and where they stood; goes_on: there are more. */
void tp_rhythm_tell_steps(const struct tp_rhythm_steps *steps, tp_step_choose *choose, const void *ctx,
			  bool goes_on, struct tp_rhythm_found *found);
/* Where most of the chosen steps stood, by the samples that were taken of them. */
void tp_rhythm_tell_where(const struct tp_rhythm_steps *steps, tp_step_choose *choose, const void *ctx,
			  struct tp_rhythm_found *found);
/* Of the process that it costs most. False: of none. */
bool tp_rhythm_take(const struct tp_rhythm_found *found, struct tp_advice *advice);

/* Of one process. False: no. */
bool tp_rhythm_judge_period(const struct tp_rhythm_steps *steps, struct tp_rhythm_found *found);
bool tp_rhythm_judge_trend(const struct tp_rhythm_steps *steps, struct tp_rhythm_found *found);
bool tp_rhythm_judge_since(const struct tp_rhythm_steps *steps, struct tp_rhythm_found *found);

#endif

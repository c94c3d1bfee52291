/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow_steps.h - where slow steps stood that were not recorded, by the samples that the ledger has of them
 *
 * A line of the ledger for such a step: "slow.STEP=SAMPLES FILE:LINE FUNCTION > ...", the functions of the
 * user's that four of five samples of the step share, outermost first, then perhaps one of a package's. Needs
 * no event.
 */
#ifndef TP_MERGE_SLOW_STEPS_H
#define TP_MERGE_SLOW_STEPS_H

#include "merge/model/model.h"

enum { TP_SLOW_WHERE = 200 };

struct tp_slow_where {
	char text[TP_SLOW_WHERE];
	uint32_t n_own;		/* functions of the user's in it */
};

/* "train.py:31 main > train.py:12 save": as far in as half of the chosen steps say the same, lines apart, else
 * what most of them say; but if that is one function of the user's, what a third say of more. Returns how
 * many do; 0: of none of them anything is known, and the text is "". */
uint32_t tp_slow_steps_where(const struct tp_proc *proc, tp_step_choose *choose, const void *ctx,
			     struct tp_slow_where *where);

#endif

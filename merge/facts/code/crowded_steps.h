/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crowded_steps.h - steps outside windows in which the training thread had no core, by the ledger
 *
 * Lines "crowded.FIRST=LAST PERCENT" (trainprof-trace(5)): of these steps the thread was ready to run and
 * waited for a core so much of the time. Needs no event.
 */
#ifndef TP_MERGE_CROWDED_STEPS_H
#define TP_MERGE_CROWDED_STEPS_H

#include "merge/model/model.h"

enum { TP_CROWDED_MAX = 256 };	/* of more lines those that were written first */

struct tp_crowded {
	uint32_t n;
	struct {	/* one after the other */
		uint64_t first, last;
		uint32_t percent;
	} row[TP_CROWDED_MAX];
};

void tp_crowded_read(const struct tp_proc *proc, struct tp_crowded *crowded);
/* Percent of the time; 0: none of the lines has that step. */
uint32_t tp_crowded_percent(const struct tp_crowded *crowded, uint64_t step);

#endif

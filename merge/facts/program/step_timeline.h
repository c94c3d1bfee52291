/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_timeline.h - what the timeline of a step is: which steps have one, what is drawn of them, in which
 * lane; of the page, which keeps spans of all steps, and of an excerpt, which keeps one whole
 */
#ifndef TP_MERGE_STEP_TIMELINE_H
#define TP_MERGE_STEP_TIMELINE_H

#include "merge/model/model.h"

enum tp_step_lane {		/* in the order in which they are shown */
	TP_LANE_THREAD,
	TP_LANE_ASYNC,		/* what may cross */
	TP_LANE_COLL,		/* the same: collectives and their transfers, as NCCL sees them */
	TP_LANE_QUEUE,		/* a stream of a device */
};

/* A row of a ledger: a step that lasted, was recorded, and is in `steps` (a list of numbers; NULL: all). */
bool tp_step_has_timeline(const struct tp_run *run, const struct tp_step_row *row, const char *steps);
/* Which of two comes first, the slowest first: as qsort wants it, of pointers into tp_run.step. */
int tp_step_compare_slow(const void *a, const void *b);

bool tp_step_draws(const struct tp_event *event);
/* Of an event that is drawn. */
enum tp_step_lane tp_step_lane_of(const struct tp_event *event);

#endif

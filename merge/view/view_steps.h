/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_steps.h - the parts of the view of steps
 */
#ifndef TP_MERGE_VIEW_STEPS_H
#define TP_MERGE_VIEW_STEPS_H

#include "merge/facts/time/step_gpu.h"
#include "merge/model/view.h"

/* The steps of one process. */
struct tp_steps_shown {
	const struct tp_step_row *row;
	uint32_t n;
	int64_t *sorted; /* durations */
	int64_t *median; /* what each was compared with */
	const struct tp_step_gpus *gpus; /* NULL: no device */
	bool has_memory, has_device_memory;
};

enum { TP_STEPS_SLOW_PERCENT = 150 };	/* of the running median */
bool tp_view_steps_is_slow(const struct tp_steps_shown *steps, const struct tp_step_row *row);
extern const struct tp_table_def tp_table_steps, tp_table_step_phases, tp_table_step_processes;

/* Number of steps from the i-th on that are of one process. */
uint32_t tp_view_steps_of(const struct tp_run *run, uint32_t i);
/* By phase. */
void tp_view_steps_lengths(const struct tp_steps_shown *steps, struct tp_out *out);
/* Many processes: a row for each. Returns where the slowest one's steps begin. */
uint32_t tp_view_steps_ranks(const struct tp_run *run, uint32_t n_procs, struct tp_out *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_gpu.h - what a process's devices did in each recorded step, all devices added
 *
 * Times are of the step as the program bounds it, as gpu_time.h has them. Memory: steps, and what
 * launches.h keeps.
 */
#ifndef TP_MERGE_STEP_GPU_H
#define TP_MERGE_STEP_GPU_H

#include "merge/facts/time/gpu_time.h"

struct tp_step_gpu {
	struct tp_gpu_figures figures;
	uint64_t n_launched;	/* pieces of work that it asked for */
};

struct tp_step_gpus;

/* NULL: no process of the run has a device, or out of memory. */
struct tp_step_gpus *tp_step_gpus_new(const struct tp_run *run);
void tp_step_gpus_free(struct tp_step_gpus *steps);
/* Every event, in order; others than steps, calls and work are ignored. */
void tp_step_gpus_event(struct tp_step_gpus *steps, const struct tp_event *event);
void tp_step_gpus_end(struct tp_step_gpus *steps);	/* no more events */
/* False: the step was not recorded, or its process has no device. */
bool tp_step_gpus_of(const struct tp_step_gpus *steps, const struct tp_step_row *row,
		     struct tp_step_gpu *of);
bool tp_step_gpus_has(const struct tp_run *run);	/* a process has a device */

#endif

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

/* Only of a run in which a process has a device. */
extern const struct tp_fact tp_fact_step_gpus;

/* False: the step was not recorded, or its process has no device. */
bool tp_step_gpus_of(const struct tp_step_gpus *steps, const struct tp_step_row *row,
		     struct tp_step_gpu *of);
bool tp_step_gpus_has(const struct tp_run *run);	/* a process has a device */

#endif

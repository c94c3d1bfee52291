/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_gpu.c - what a process's devices did in each recorded step
 */
#include "merge/facts/time/step_gpu.h"

#include <stdlib.h>
#include <string.h>

#include "merge/facts/time/launches.h"
#include "merge/kit/grow.h"
#include "merge/kit/sum.h"

struct tp_step_gpus {
	struct tp_launches *launches;
	struct tp_gpu_time *time;
	struct counts {
		uint64_t *n_launched;	/* by step, as tp_gpu_time_steps has them */
		uint32_t cap;
	} *of_proc;
	uint32_t n_procs;
};

bool tp_step_gpus_has(const struct tp_run *run)
{
	for (uint32_t i = 0; i < run->n_procs; i++)
		if (run->proc[i]->has_gpu)
			return true;
	return false;
}

/* The last step that had begun by then; UINT32_MAX: none, or it had ended. */
static uint32_t step_at(const struct tp_gpu_time *time, const struct tp_proc *proc, int64_t ns)
{
	uint32_t low = 0, high, n;
	const struct tp_gpu_step *step = tp_gpu_time_steps(time, proc, &n);

	for (high = n; low < high;) {
		uint32_t middle = low + (high - low) / 2;

		if (step[middle].begin_ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low && ns < step[low - 1].end_ns ? low - 1 : UINT32_MAX;
}

static void take_work(void *ctx, const struct tp_event *event, struct tp_launch_call *call)
{
	struct tp_step_gpus *steps = ctx;
	struct counts *counts = &steps->of_proc[event->proc->at];
	uint32_t at = call ? step_at(steps->time, event->proc, call->begin_ns) : UINT32_MAX;

	tp_gpu_time_work(steps->time, event, call);
	if (at != UINT32_MAX && tp_grow(&counts->n_launched, &counts->cap, (uint64_t)at + 1,
					sizeof(*counts->n_launched)))
		counts->n_launched[at]++;
}

struct tp_step_gpus *tp_step_gpus_new(const struct tp_run *run)
{
	struct tp_step_gpus *steps;

	if (!tp_step_gpus_has(run))
		return NULL;
	steps = calloc(1, sizeof(*steps));
	if (!steps)
		return NULL;
	steps->n_procs = run->n_procs;
	steps->of_proc = calloc(run->n_procs, sizeof(*steps->of_proc));
	steps->launches = tp_launches_new(run);
	steps->time = tp_gpu_time_new(run);
	if (!steps->of_proc || !steps->launches || !steps->time) {
		tp_step_gpus_free(steps);
		return NULL;
	}
	tp_launches_each(steps->launches, take_work, steps);
	return steps;
}

void tp_step_gpus_free(struct tp_step_gpus *steps)
{
	if (!steps)
		return;
	for (uint32_t i = 0; steps->of_proc && i < steps->n_procs; i++)
		free(steps->of_proc[i].n_launched);
	free(steps->of_proc);
	tp_launches_free(steps->launches);
	if (steps->time)
		tp_gpu_time_free(steps->time);
	free(steps);
}

void tp_step_gpus_event(struct tp_step_gpus *steps, const struct tp_event *event)
{
	if (event->kind == TP_REC_STEP)
		tp_gpu_time_step(steps->time, event);
	else if (event->kind == TP_REC_CALL)
		tp_launches_call(steps->launches, event, 0);
	else if (tp_gpu_is_work(event))
		tp_launches_work(steps->launches, event);
}

void tp_step_gpus_end(struct tp_step_gpus *steps)
{
	tp_launches_end(steps->launches);
	tp_gpu_time_end(steps->time);
}

bool tp_step_gpus_of(const struct tp_step_gpus *steps, const struct tp_step_row *row,
		     struct tp_step_gpu *of)
{
	const struct counts *counts = &steps->of_proc[row->proc->at];
	uint32_t n, at = step_at(steps->time, row->proc, tp_add(row->begin_ns, row->dur_ns / 2));
	const struct tp_gpu_step *step = tp_gpu_time_steps(steps->time, row->proc, &n);
	bool is_found = false;

	memset(of, 0, sizeof(*of));
	if (at == UINT32_MAX || step[at].index != row->index)
		return false;
	for (uint32_t i = 0; i < tp_gpu_time_count(steps->time); i++) {
		const struct tp_gpu_device *device = tp_gpu_time_at(steps->time, i);

		if (device->proc != row->proc || !device->step)
			continue;
		tp_gpu_add(&of->figures, &device->step[at]);
		is_found = true;
	}
	of->n_launched = at < counts->cap ? counts->n_launched[at] : 0;
	return is_found;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_gpu.c - what a process's devices did in each recorded step
 */
#include "merge/facts/time/step_gpu.h"

#include <stdlib.h>
#include <string.h>

#include "merge/facts/time/launches.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"

struct tp_step_gpus {
	const struct tp_gpu_time *time;
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

	if (at == UINT32_MAX)
		return;
	tp_need_room(&counts->n_launched, &counts->cap, (uint64_t)at + 1,
		     sizeof(*counts->n_launched));
	counts->n_launched[at]++;
}

static void begin_steps(void *state, struct tp_facts *facts, const void *params)
{
	struct tp_step_gpus *steps = state;

	steps->n_procs = tp_facts_run(facts)->n_procs;
	steps->of_proc = tp_need(steps->n_procs, sizeof(*steps->of_proc));
	steps->time = tp_facts_want(facts, &tp_fact_gpu_time, NULL);
	tp_launches_read(tp_facts_want(facts, &tp_fact_launches_cut, NULL), take_work, NULL, steps);
}

static void free_steps(void *state)
{
	struct tp_step_gpus *steps = state;

	for (uint32_t i = 0; i < steps->n_procs; i++)
		free(steps->of_proc[i].n_launched);
	free(steps->of_proc);
}

const struct tp_fact tp_fact_step_gpus = {
	.name = "step GPUs",
	.bytes = sizeof(struct tp_step_gpus),
	.is_cut = true,
	.begin = begin_steps,
	.free = free_steps,
};

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

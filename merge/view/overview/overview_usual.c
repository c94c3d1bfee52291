/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_usual.c - part of the overview's advice: by which steps it judges, and how much of a run they are
 */
#include "merge/view/overview/overview_advice.h"

#include "merge/kit/sum.h"

static int64_t less(int64_t all, int64_t part)
{
	return all > part ? tp_sub(all, part) : 0;
}

static void leave_out_first_step(const struct tp_gpu_time *time, const struct tp_gpu_device *device,
				 struct tp_gpu_figures *gpu)
{
	uint32_t n;
	const struct tp_gpu_step *step = tp_gpu_time_steps(time, device->proc, &n);
	const struct tp_gpu_figures *first = device->step;

	if (!device->has_steps || !n || step[0].index)
		return;
	gpu->all_ns = less(gpu->all_ns, first->all_ns);
	gpu->busy_ns = less(gpu->busy_ns, first->busy_ns);
	gpu->kernel_ns = less(gpu->kernel_ns, first->kernel_ns);
	gpu->copy_ns = less(gpu->copy_ns, first->copy_ns);
	gpu->compute_copy_ns = less(gpu->compute_copy_ns, first->compute_copy_ns);
	gpu->sm_ns = gpu->sm_ns > first->sm_ns ? gpu->sm_ns - first->sm_ns : 0;
	for (uint32_t i = 0; i < TP_IDLE_N; i++)
		gpu->idle_ns[i] = less(gpu->idle_ns[i], first->idle_ns[i]);
}

void tp_advice_note_devices(struct tp_advice_facts *facts)
{
	const struct tp_overview *overview = facts->overview;
	bool is_first;

	facts->n_steps = facts->sums->n_steps;
	facts->all_ns = facts->sums->all_ns;
	facts->is_first_left_out = overview->n_first_steps && overview->n_first_steps < facts->n_steps;
	is_first = overview->n_first_steps && !facts->is_first_left_out;
	facts->habits = is_first ? &overview->first_habits : &overview->habits;
	facts->wait_ns = is_first ? overview->first_wait_ns : overview->wait_ns;
	for (uint32_t i = 0; i < tp_gpu_time_count(overview->gpu); i++) {
		const struct tp_gpu_device *device = tp_gpu_time_at(overview->gpu, i);

		tp_gpu_add(&facts->gpu, &device->total);
		if (facts->is_first_left_out)
			leave_out_first_step(overview->gpu, device, &facts->gpu);
	}
	if (!facts->is_first_left_out)
		return;
	facts->n_steps -= overview->n_first_steps;
	for (uint32_t i = 0; i < overview->n_procs; i++) {
		const struct tp_breakdown *breakdown = overview->proc[i].breakdown;

		if (breakdown->n_steps && !breakdown->step[0].index)
			facts->all_ns = less(facts->all_ns, tp_overview_step_ns(&breakdown->step[0]));
	}
}

double tp_advice_part(const struct tp_advice_facts *facts)
{
	double all_ns = 0, recorded_ns;
	uint64_t n = 0;

	for (uint32_t p = 0; p < facts->overview->n_procs; p++) {
		const struct tp_overview_proc *proc = &facts->overview->proc[p];

		for (uint32_t i = 0; i < proc->n_ledger; i++) {
			if (!proc->ledger[i].index)
				continue;
			all_ns += (double)proc->ledger[i].dur_ns;
			n++;
		}
	}
	if (!n || !facts->n_steps || all_ns <= 0)
		return 1;
	recorded_ns = (double)facts->all_ns / (double)facts->n_steps * (double)n;
	return recorded_ns < all_ns ? recorded_ns / all_ns : 1;
}

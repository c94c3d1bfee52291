/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_devices.c - advice of the overview on devices: what they wait for
 */
#include "merge/view/overview/overview_advice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/need.h"
#include "merge/kit/sum.h"
#include "merge/model/totals.h"

enum {
	SMALL_KERNEL_NS = 200000, /* on average: to launch them is what takes time */
	STEPS_LEAST = 3,	/* that tell what most steps are like */
};

/* What makes the host wait, and what to do instead. */
static const struct {
	const char *what, *todo;
} waits[TP_WAIT_N] = {
	[TP_WAIT_VALUE] = {"values that are read (.item(), print)",
		"leave values on the device: .item(), .tolist() and print wait for them; read them every so many "
		"steps"},
	[TP_WAIT_CONDITION] = {"conditions on tensors",
		"keep conditions off the device: 'if tensor' waits for its value; torch.where() does not, nor "
		"does a value that the host has"},
	[TP_WAIT_SHAPE] = {"operators whose output size depends on values",
		"avoid masks as an index, nonzero() and unique(): torch.where(mask, a, b), products with the mask"},
	[TP_WAIT_COPY] = {"copies between host and device",
		"copy with non_blocking=True from pinned memory, create tensors on the device, .cpu() every so many "
		"steps"},
	[TP_WAIT_BARRIER] = {"dist.barrier()",
		"leave dist.barrier() out of the step: collectives are in order without it"},
	[TP_WAIT_COLLECTIVE] = {"collectives",
		"let collectives run beside the host: no wait right after them; TORCH_NCCL_BLOCKING_WAIT unset"},
	[TP_WAIT_CALLED] = {"synchronize()",
		"leave out torch.cuda.synchronize() and .synchronize() of streams and events; CUDA_LAUNCH_BLOCKING "
		"unset"},
};

static enum tp_wait find_longest_wait(const int64_t wait_ns[TP_WAIT_N])
{
	uint32_t most = 0;

	for (uint32_t i = 1; i < TP_WAIT_N; i++)
		if (wait_ns[i] > wait_ns[most])
			most = i;
	return most;
}

/* Waiting is a fault only when the device has nothing to do afterwards. */
bool tp_advice_waits(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_habits *habits = facts->habits;
	const enum tp_wait longest = find_longest_wait(facts->wait_ns);
	int64_t idle = facts->gpu.idle_ns[TP_IDLE_HOST];
	/* While the host runs code of its own, no wait has made the device idle. */
	int64_t by_waits = tp_sub(idle, facts->host_code_ns);
	int64_t cost = by_waits < habits->wait_ns ? by_waits : habits->wait_ns;
	char a[32], b[32], c[32];

	if (!tp_advice_per_step(facts, habits->n_waits))
		return false;
	advice->percent = tp_advice_percent(cost, facts->gpu.all_ns);
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "the host waits for the GPU %" PRIu64 " times per step, %s of the time, and the "
		 "GPU then idles %s of it, waiting for the host; %s of the waits is for %s",
		 tp_advice_per_step(facts, habits->n_waits),
		 tp_show_percent(a, (double)habits->wait_ns, (double)facts->all_ns),
		 tp_show_percent(b, (double)idle, (double)facts->gpu.all_ns),
		 tp_show_percent(c, (double)facts->wait_ns[longest], (double)habits->wait_ns),
		 waits[longest].what);
	snprintf(advice->todo, sizeof(advice->todo), "%s", waits[longest].todo);
	tp_advice_line(facts, NULL, TP_SITE_WAIT, advice);
	return true;
}

/* Kernels launched one by one are what graphs help with. */
static const char *host_todo(const struct tp_habits *habits, int64_t kernel_ns)
{
	if (kernel_ns >= SMALL_KERNEL_NS)
		return "see in the timeline (-v trace) what the host does before the gaps";
	if (habits->n_graph_kernels > habits->n_kernels / 2)
		return "larger batches: most kernels are in CUDA graphs already; or capture more of the step, "
		       "with the optimizer (capturable=True)";
	return "torch.compile(mode=\"reduce-overhead\"), CUDA graphs, larger batches";
}

/* The line whose work the GPU waited for most, else the one that launches most. */
static void add_host_line(const struct tp_advice_facts *facts, struct tp_advice *advice)
{
	struct tp_site site;
	size_t n_said;
	char a[32];

	if (!tp_sites_top(facts->overview->sites, NULL, TP_SITE_IDLE, &site, 1)) {
		tp_advice_line(facts, NULL, TP_SITE_LAUNCHES, advice);
		return;
	}
	tp_advice_place(facts, NULL, &site, TP_SITE_IDLE, advice);
	n_said = strlen(advice->evidence);
	snprintf(advice->evidence + n_said, sizeof(advice->evidence) - n_said, "; %s of it before work of this line",
		 tp_show_percent(a, (double)site.figure[TP_SITE_IDLE],
				 (double)facts->gpu.idle_ns[TP_IDLE_HOST]));
}

static int compare_parts(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int64_t get_host_idle(const struct tp_gpu_figures *of)
{
	return of->idle_ns[TP_IDLE_HOST];
}

static int64_t get_idle(const struct tp_gpu_figures *of)
{
	return tp_sub(of->all_ns, of->busy_ns);
}

/* What part of most steps that is; of few steps, of all of them. Where one is unlike the others, as with a
 * first evaluation, sums tell of that one: what holds a run back is in most. */
static double find_usual_percent(const struct tp_advice_facts *facts,
				 int64_t (*get)(const struct tp_gpu_figures *of))
{
	const struct tp_gpu_time *time = facts->overview->gpu;
	const double mean = tp_advice_percent(get(&facts->gpu), facts->gpu.all_ns);
	const uint64_t most = facts->n_steps * tp_gpu_time_count(time);
	double *part = tp_need(most + 1, sizeof(*part)), median;
	uint32_t n = 0, n_steps;

	for (uint32_t i = 0; i < tp_gpu_time_count(time); i++) {
		const struct tp_gpu_device *device = tp_gpu_time_at(time, i);
		const struct tp_gpu_step *step = tp_gpu_time_steps(time, device->proc, &n_steps);

		for (uint32_t k = 0; device->has_steps && k < n_steps && n < most; k++)
			if (device->step[k].all_ns > 0 && (step[k].index || !facts->is_first_left_out))
				part[n++] = tp_advice_percent(get(&device->step[k]),
							      device->step[k].all_ns);
	}
	qsort(part, n, sizeof(*part), compare_parts);
	median = n >= STEPS_LEAST ? part[n / 2] : mean;
	free(part);
	return 2 * median < mean ? 2 * median : mean;
}

bool tp_advice_host(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_habits *habits = facts->habits;
	int64_t data, all, kernel_ns;
	char a[32], b[32], c[32];

	if (facts->is_waiting || !habits->n_kernels)
		return false;
	advice->percent = find_usual_percent(facts, get_host_idle) - facts->gloo_percent;
	/* While the host waits for data it asks for nothing: that is another rule's. */
	if (tp_overview_data_wait(facts->run, facts->sums, &data, &all))
		advice->percent -= tp_advice_percent(data, all);
	advice->percent -= tp_advice_percent(facts->host_code_ns, facts->gpu.all_ns);
	kernel_ns = habits->kernel_ns / (int64_t)habits->n_kernels;
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "the GPU is idle %s of the time%s, waiting for the host: %s kernels per step, %s each",
		 tp_show_percent(a, (double)facts->gpu.idle_ns[TP_IDLE_HOST],
				 (double)facts->gpu.all_ns),
		 facts->is_first_left_out ? " after the first step" : "",
		 tp_show_count(b, tp_advice_per_step(facts, habits->n_kernels)), tp_show_ns(c, kernel_ns));
	snprintf(advice->todo, sizeof(advice->todo), "%s", host_todo(habits, kernel_ns));
	add_host_line(facts, advice);
	return true;
}

bool tp_advice_idle(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	int64_t idle = tp_sub(facts->gpu.all_ns, facts->gpu.busy_ns);
	char a[32];

	/* While others had CUPTI it may have worked. */
	if (facts->is_explained || tp_totals_add(facts->run, "cupti.yielded", true))
		return false;
	/* Of a process that hangs or was killed CUPTI may have all that there is. */
	if (!facts->gpu.busy_ns && !tp_totals_add(facts->run, "cupti.version", true))
		return false;
	advice->percent = find_usual_percent(facts, get_idle);
	snprintf(advice->evidence, sizeof(advice->evidence), "the device is idle %s of the time",
		 tp_show_percent(a, (double)idle, (double)facts->gpu.all_ns));
	snprintf(advice->todo, sizeof(advice->todo),
		 "see in the timeline (-v trace) what the host does before the gaps");
	return true;
}

bool tp_advice_copies(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_habits *habits = facts->habits;
	char a[32];

	bool is_back = habits->pageable_back_ns > habits->pageable_ns / 2;

	if (!habits->n_pageable)
		return false;
	advice->percent = tp_advice_percent(habits->pageable_ns, facts->gpu.all_ns);
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "%" PRIu64 " copies per step between the GPU and memory that is not pinned take %s of the time, "
		 "and the host waits for them", tp_advice_per_step(facts, habits->n_pageable),
		 tp_show_percent(a, (double)habits->pageable_ns, (double)facts->gpu.all_ns));
	snprintf(advice->todo, sizeof(advice->todo), "%s",
		 is_back ? "copy results less often, or into pinned memory: "
			   "torch.empty(..., pin_memory=True).copy_(x, non_blocking=True)"
			 : "DataLoader(pin_memory=True) and .to(device, non_blocking=True)");
	tp_advice_line(facts, NULL, TP_SITE_PAGEABLE, advice);
	return true;
}

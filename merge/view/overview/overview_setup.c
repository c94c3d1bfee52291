/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_setup.c - advice of the overview on memory, and on how a run is set up: rules that look
 * at the whole run, not at where a step's time goes
 *
 * Nearly full devices, DataParallel and gloo beside GPUs are rules of torch-tb-profiler 0.4.3, too.
 */
#include "merge/view/overview/overview_advice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "merge/kit/sum.h"
#include "merge/model/label.h"
#include "runtime/base/begins.h"
#include "runtime/trace/torch_names.h"

enum {
	GROWTH_PARTS = 8,	/* of a run, in each of which memory stands higher than before */
	GROWTH_STEPS = 2,	/* steps of a part, at least */
	GROWTH_LEAST = 16384,	/* bytes a step: less is nothing to worry about */
	FULL_PERCENT = 90,
};

/* ---- memory ---- */

struct growth {
	const struct tp_step_row *first, *last;
	int64_t bytes;		/* a step */
	bool is_device;
};

static int64_t live_of(const struct tp_step_row *row, bool is_device)
{
	return (int64_t)(is_device ? row->device_live : row->live_bytes);
}

/* The least that is alive in each part of the run: what stays is in it, what comes and goes is
 * not. A leak makes each stand higher than the one before, by as much. */
static bool find_growth(const struct tp_overview_proc *proc, bool is_device, struct growth *growth)
{
	uint32_t n = proc->n_ledger / GROWTH_PARTS;
	const struct tp_step_row *least[GROWTH_PARTS];
	int64_t all, step;

	if (n < GROWTH_STEPS)
		return false;
	for (uint32_t part = 0; part < GROWTH_PARTS; part++) {
		const struct tp_step_row *row =
		    &proc->ledger[proc->n_ledger - (GROWTH_PARTS - part) * n];

		least[part] = row;
		for (uint32_t i = 1; i < n; i++)
			if (live_of(&row[i], is_device) < live_of(least[part], is_device))
				least[part] = &row[i];
	}
	/* The first part is that in which optimizers make their state. */
	growth->first = least[1];
	growth->last = least[GROWTH_PARTS - 1];
	/* Numbers that a file made up. */
	if (growth->last->index <= growth->first->index ||
	    growth->last->index - growth->first->index > INT64_MAX)
		return false;
	all = tp_sub(live_of(growth->last, is_device), live_of(growth->first, is_device));
	step = all / (int64_t)(growth->last->index - growth->first->index);
	for (uint32_t part = 2; part < GROWTH_PARTS; part++)
		if (tp_sub(live_of(least[part], is_device), live_of(least[part - 1], is_device)) <
		    all / GROWTH_PARTS / 2)
			return false;
	growth->bytes = step;
	growth->is_device = is_device;
	return step >= GROWTH_LEAST;
}

bool tp_advice_growth(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_overview *overview = facts->overview;
	struct growth worst = {.bytes = 0}, growth;
	char who[64], a[32], b[32], c[32];

	for (uint32_t i = 0; i < overview->n_procs; i++)
		for (int is_device = 0; is_device < 2; is_device++)
			if (overview->proc[i].n_ledger &&
			    find_growth(&overview->proc[i], is_device, &growth) &&
			    growth.bytes > worst.bytes)
				worst = growth;
	if (!worst.bytes)
		return false;
	advice->percent = -1;
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "tensors%s%s%s grow by %s per step: %s after step %" PRIu64 ", %s after step %" PRIu64,
		 worst.is_device ? " on the device" : "",
		 tp_label_is_needed(facts->run) ? " of " : "",
		 tp_label_is_needed(facts->run) ? tp_label_proc(who, facts->run, worst.first->proc)
						: "",
		 tp_show_bytes(a, worst.bytes),
		 tp_show_bytes(b, live_of(worst.first, worst.is_device)), worst.first->index,
		 tp_show_bytes(c, live_of(worst.last, worst.is_device)), worst.last->index);
	snprintf(advice->todo, sizeof(advice->todo),
		 "what is kept across steps? .detach() or .item() what goes into lists");
	tp_advice_line(facts, worst.first->proc, TP_SITE_KEPT, advice);
	return true;
}

/* By the ledger, tensors only: what the allocator keeps and others hold comes on top. */
bool tp_advice_memory_full(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_run *run = facts->run;
	const struct tp_step_row *most = NULL;
	uint64_t memory = 0;
	char who[64], a[32], b[32], c[32];

	for (uint32_t i = 0; i < run->n_steps; i++) {
		const struct tp_proc *proc = run->step[i].proc;
		uint64_t least = 0;

		/* Of several devices it is not known which one it was. */
		for (uint32_t k = 0; k < proc->n_devices; k++)
			if (!least || proc->device[k].memory_bytes < least)
				least = proc->device[k].memory_bytes;
		if (least && run->step[i].device_peak / FULL_PERCENT >= least / 100 &&
		    (!most || run->step[i].device_peak > most->device_peak)) {
			most = &run->step[i];
			memory = least;
		}
	}
	if (!most)
		return false;
	advice->percent = -1;
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "tensors%s%s take up to %s of a device's %s (%s), in step %" PRIu64,
		 tp_label_is_needed(run) ? " of " : "",
		 tp_label_is_needed(run) ? tp_label_proc(who, run, most->proc) : "",
		 tp_show_bytes(a, (int64_t)most->device_peak), tp_show_bytes(b, (int64_t)memory),
		 tp_show_percent(c, (double)most->device_peak, (double)memory), most->index);
	snprintf(advice->todo, sizeof(advice->todo),
		 "smaller batches, activation checkpointing, sharding; -v memory shows who holds it");
	return true;
}

static bool has_name(const struct tp_overview *overview, const char *begin)
{
	for (uint32_t i = 0; i < tp_names_count(overview->names); i++) {
		const struct tp_name *name = tp_names_at(overview->names, i);

		if (tp_begins(name->bytes, name->n_bytes, begin))
			return true;
	}
	return false;
}

bool tp_advice_data_parallel(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	uint32_t n = tp_gpu_time_count(facts->overview->gpu);

	if (n < 2 || !has_name(facts->overview, "DataParallel.forward"))
		return false;
	advice->percent = -1;
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "DataParallel serves %" PRIu32 " devices from one process", n);
	snprintf(advice->todo, sizeof(advice->todo),
		 "torchrun and DistributedDataParallel: a process for each device");
	return true;
}

bool tp_advice_gloo(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	char a[32];

	if (!has_name(facts->overview, TP_NAME_GLOO) || has_name(facts->overview, TP_NAME_NCCL))
		return false;
	advice->percent = 100.0 * (double)facts->sums->ns[TP_CAT_COMM] /
			  (double)(facts->sums->all_ns > 0 ? facts->sums->all_ns : 1);
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "collectives go through the host, by gloo: for %s of a step there is nothing else",
		 tp_show_percent(a, (double)facts->sums->ns[TP_CAT_COMM],
				 (double)facts->sums->all_ns));
	snprintf(advice->todo, sizeof(advice->todo),
		 "torch.distributed.init_process_group(\"nccl\")");
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_setup.c - advice of the overview on how a run is set up: rules that look
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
#include "merge/model/totals.h"
#include "runtime/base/begins.h"
#include "runtime/trace/torch_names.h"

enum {
	FULL_PERCENT = 90,
	NODES_LEAST = 16,	/* of the backward pass, in all steps */
	UNCHECKED_PART = 10,	/* of them at most have no search for NaN */
	PROFILED_NS = 2000,	/* torch.profiler, an operator, at least */
	PROFILED_BYTES = 4096,	/* that it keeps of one, at most */
};

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

bool tp_advice_has_name(const struct tp_overview *overview, const char *begin)
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

	if (n < 2 || !tp_advice_has_name(facts->overview, "DataParallel.forward"))
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

	if (!tp_advice_has_name(facts->overview, TP_NAME_GLOO) ||
	    tp_advice_has_name(facts->overview, TP_NAME_NCCL))
		return false;
	advice->percent = 100.0 * (double)facts->sums->ns[TP_CAT_COMM] /
			  (double)(facts->sums->all_ns > 0 ? facts->sums->all_ns : 1);
	facts->gloo_percent = advice->percent;
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "collectives go through the host, by gloo: for %s of a step there is nothing else",
		 tp_show_percent(a, (double)facts->sums->ns[TP_CAT_COMM],
				 (double)facts->sums->all_ns));
	snprintf(advice->todo, sizeof(advice->todo),
		 "torch.distributed.init_process_group(\"nccl\")");
	return true;
}

/* What it costs is not known: each operator of the forward pass keeps a traceback, too. */
bool tp_advice_anomaly(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	uint64_t n_checked, n_nodes;

	tp_waste_checks(facts->overview->waste, &n_checked, &n_nodes);
	if (!facts->sums->n_steps || n_nodes < NODES_LEAST || n_checked < n_nodes - n_nodes / UNCHECKED_PART)
		return false;
	advice->percent = -1;
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "torch.autograd's anomaly detection is on: every operator of the backward pass is followed by a "
		 "search for NaN (%" PRIu64 " per step), every one of the forward pass keeps a traceback",
		 n_checked / facts->sums->n_steps);
	snprintf(advice->todo, sizeof(advice->todo), "torch.autograd.set_detect_anomaly(False), unless a NaN is being "
		 "looked for; Lightning: Trainer(detect_anomaly=False)");
	return true;
}

static uint64_t count_windows(const struct tp_run *run)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < run->n_windows; i++)
		n += !run->window[i].proc->worker;
	return n;
}

/* How many windows began with what is counted under this key, if that is all of them; else 0. */
static uint64_t count_always(const struct tp_run *run, const char *key)
{
	const uint64_t n = tp_totals_add_ranks(run, key);

	return n < count_windows(run) ? 0 : n;
}

static int64_t count_operators(const struct tp_overview *overview)
{
	return tp_add(tp_sites_sum(overview->sites, TP_SITE_CALLS),
		      tp_sites_sum(overview->sites, TP_SITE_INSIDE));
}

/* A schedule() of it may meet a window or two of ours, by chance. */
bool tp_advice_profiler(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_overview_sums *sums = facts->sums;
	const uint64_t n = count_always(facts->run, "torch.profiled");
	int64_t operators;
	char a[32];

	if (!n || !sums->n_steps)
		return false;
	operators = count_operators(facts->overview);
	facts->explained_bytes = tp_add(facts->explained_bytes,
					operators / (int64_t)sums->n_steps * PROFILED_BYTES);
	advice->percent = tp_advice_percent(operators * PROFILED_NS, sums->all_ns);
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "a profiler of PyTorch's is on in all windows (%" PRIu64 "): it takes 2 us or more for each of "
		 "%" PRId64 " operators of a step, up to %s", n, operators / (int64_t)sums->n_steps,
		 tp_show_percent(a, advice->percent, 100));
	snprintf(advice->todo, sizeof(advice->todo), "leave out torch.profiler.profile() or emit_nvtx(), or give it a "
		 "schedule() that records few steps; Lightning: Trainer(profiler=None)");
	return true;
}

/* What is called for each object, line or call of Python makes all of it dearer, which is the time outside
 * operators. */
bool tp_advice_python_hooks(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	static const struct {
		const char *key, *what, *todo;
	} hook[] = {
		{"python.tracemalloc", "tracemalloc notes each object that Python makes",
		 "leave out tracemalloc.start(), -X tracemalloc and PYTHONTRACEMALLOC"},
		{"python.debug_memory", "Python checks each block of its memory (debug hooks)",
		 "leave out PYTHONMALLOC=debug, PYTHONDEVMODE and -X dev"},
		{"python.memory_hooks", "a tool has hooks of its own in Python's allocator",
		 "leave out the memory profiler: what does the program import?"},
		{"python.trace", "a function of sys.settrace() is called for lines and calls of Python",
		 "leave out the debugger, coverage or sys.settrace()"},
		{"python.profile", "a function of sys.setprofile() is called for each call of Python",
		 "leave out cProfile, profile or sys.setprofile()"},
		{"python.monitoring", "a tool of sys.monitoring is called for lines or calls of Python",
		 "leave out cProfile, coverage or the debugger"},
	};
	const struct tp_overview_sums *sums = facts->sums;
	char a[32];

	for (uint32_t i = 0; i < sizeof(hook) / sizeof(hook[0]) && sums->n_steps; i++) {
		const uint64_t n = count_always(facts->run, hook[i].key);

		if (!n)
			continue;
		advice->percent = tp_advice_percent(sums->ns[TP_CAT_OTHER], sums->all_ns);
		snprintf(advice->evidence, sizeof(advice->evidence),
			 "%s, in all windows (%" PRIu64 "): it makes the code between operators longer, up to %s of "
			 "a step", hook[i].what, n,
			 tp_show_percent(a, (double)sums->ns[TP_CAT_OTHER], (double)sums->all_ns));
		snprintf(advice->todo, sizeof(advice->todo), "%s", hook[i].todo);
		return true;
	}
	return false;
}

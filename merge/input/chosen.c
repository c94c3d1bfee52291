/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chosen.c - --steps: which events are of the steps that were asked for
 *
 * What the host did is of the step in which it began, what a device did of the step in which its
 * call began, as in HTA: the calls met last are kept by their correlation id, which counts up, so that
 * a newer one takes the place of one CALLS older. Work without such a call counts by its own begin.
 */
#include "merge/input/chosen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"
#include "merge/kit/list.h"
#include "merge/kit/sum.h"
#include "runtime/trace/kinds.h"

enum { CALLS = 1 << 15 };	/* of each process with GPUs: 256 KiB */
/* Blocks are read so far around the steps: calls of work in them, and work of calls in them. */
#define QUEUED_NS 10000000000ll
/* And on a process without: its steps begin so much before or after their lines in the ledger. */
#define APART_NS 1000

struct tp_chosen_call {
	uint32_t correlation;
	uint32_t window:31;
	uint32_t is_chosen:1;
};

static int make_room(struct tp_run_in *run)
{
	for (uint32_t i = 0; i < run->pub.n_procs && run->options.steps; i++) {
		struct tp_proc_in *proc = (struct tp_proc_in *)run->pub.proc[i];

		if (!proc->pub.has_gpu || !proc->n_chosen)
			continue;
		proc->chosen_call = calloc(CALLS, sizeof(*proc->chosen_call));
		if (!proc->chosen_call)
			return -ENOMEM;
	}
	return 0;
}

int tp_chosen_find(struct tp_run_in *run)
{
	for (uint32_t i = 0; i < run->pub.n_steps && run->options.steps; i++) {
		const struct tp_step_row *row = &run->pub.step[i];
		struct tp_proc_in *proc = (struct tp_proc_in *)row->proc;
		struct tp_span_ns *last;

		if (!tp_list_has(run->options.steps, row->index))
			continue;
		last = proc->n_chosen ? &proc->chosen[proc->n_chosen - 1] : NULL;
		/* Steps that follow on each other are one stretch: what lies between belongs to it. */
		if (last && i && run->pub.step[i - 1].proc == row->proc &&
		    tp_list_has(run->options.steps, run->pub.step[i - 1].index)) {
			last->last = row->begin_ns + row->dur_ns;
			continue;
		}
		if (!tp_grow(&proc->chosen, &proc->cap_chosen, proc->n_chosen + 1, sizeof(*last)))
			return -ENOMEM;
		proc->chosen[proc->n_chosen].first = row->begin_ns;
		proc->chosen[proc->n_chosen++].last = row->begin_ns + row->dur_ns;
	}
	for (uint32_t i = 1; i < run->pub.n_procs && run->options.steps; i++) {
		const struct tp_proc_in *before = (struct tp_proc_in *)run->pub.proc[i - 1];
		struct tp_proc_in *proc = (struct tp_proc_in *)run->pub.proc[i];
		size_t n = before->n_chosen * sizeof(proc->chosen[0]);

		/* A worker has no steps: those of its rank, which stands before it. */
		if (!proc->pub.worker || proc->n_chosen || !n ||
		    proc->pub.parent_pid != (before->pub.worker ? before->pub.parent_pid
								: before->pub.pid))
			continue;
		if (!tp_grow(&proc->chosen, &proc->cap_chosen, before->n_chosen,
			     sizeof(proc->chosen[0])))
			return -ENOMEM;
		memcpy(proc->chosen, before->chosen, n);
		proc->n_chosen = before->n_chosen;
	}
	for (uint32_t i = 0; i < run->pub.n_procs && run->options.steps; i++) {
		if (!((struct tp_proc_in *)run->pub.proc[i])->n_chosen)
			tp_run_issue(&run->pub, run->pub.proc[i], false,
				     "none of its steps is in '%s': none of its events is shown",
				     run->options.steps);
	}
	return make_room(run);
}

bool tp_chosen_block(const struct tp_run_in *run, const struct tp_block_ref *ref)
{
	const struct tp_proc_in *proc = run->source[ref->source].proc;
	int64_t around_ns = proc->pub.has_gpu ? QUEUED_NS : APART_NS;

	if (!run->options.steps || ref->has_stacks || proc->has_modules)
		return true;
	for (uint32_t i = 0; i < proc->n_chosen; i++) {
		if (ref->last_ns >= tp_sub(proc->chosen[i].first, around_ns) &&
		    ref->first_ns < tp_add(proc->chosen[i].last, around_ns))
			return true;
	}
	return false;
}

static bool is_in_step(const struct tp_proc_in *proc, const struct tp_rec *rec)
{
	int64_t begin = (int64_t)rec->time;

	/* The ledger's times are read another way: a step begins a nanosecond before or after its
	 * line there. */
	if (rec->kind == TP_REC_STEP)
		begin = tp_add(begin, (int64_t)(tp_rec_len(rec) / 2));
	for (uint32_t i = 0; i < proc->n_chosen; i++) {
		if (begin >= proc->chosen[i].first && begin < proc->chosen[i].last)
			return true;
	}
	return false;
}

static struct tp_chosen_call *call_of(const struct tp_proc_in *proc, const struct tp_rec *rec)
{
	return &proc->chosen_call[rec->link & (CALLS - 1)];
}

bool tp_chosen_event(const struct tp_proc_in *proc, uint32_t window, const struct tp_rec *rec)
{
	bool is_chosen;

	/* A stack from before the chosen steps may be that of an event in them. */
	if (tp_kind_is_stack(rec->kind))
		return true;
	is_chosen = is_in_step(proc, rec);
	if (!proc->chosen_call || !rec->link)
		return is_chosen;
	if (rec->kind == TP_REC_CALL) {
		*call_of(proc, rec) = (struct tp_chosen_call){rec->link, window & INT32_MAX, is_chosen};
	} else if (tp_kind_is_device(rec->kind)) {
		const struct tp_chosen_call *call = call_of(proc, rec);

		if (call->correlation == rec->link && call->window == (window & INT32_MAX))
			return call->is_chosen;
	}
	return is_chosen;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_growth.c - advice of the overview on memory that grows from step to step: tensors, and what
 * else is alive in the allocator. By the ledger, which has every step; of workers, by their counters.
 */
#include "merge/view/overview/overview_advice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "merge/facts/code/keepers.h"
#include "merge/kit/sum.h"
#include "merge/model/label.h"

enum {
	PARTS = 8,		/* of a run, in each of which memory stands higher than before */
	PART_LEAST = 2,		/* rows of a part, at least */
	STEP_LEAST = 16384,	/* bytes a step: less is nothing to worry about, */
	REST_LEAST = 4 << 20,	/* nor is so little of a heap in all: its counters are not exact */
	PART_OF_GROWTH = 10,	/* of what each step adds: what takes less of it is not its cause */
};

/* Items a step: one that grows more seldom takes what comes more seldom. */
static const double RATE_LEAST = 0.2;

enum memory { TENSORS, DEVICE_TENSORS, REST, N_MEMORIES };

struct growth {
	const struct tp_step_row *first, *last;
	int64_t bytes;		/* a step */
	enum memory memory;
};

/* Rows of a process that know of the memory. */
struct rows {
	const struct tp_step_row **row;
	uint32_t n;
};

static int64_t bytes_of(const struct tp_step_row *row, enum memory memory)
{
	if (memory == REST)
		return tp_sub((int64_t)row->heap_bytes, (int64_t)row->live_bytes);
	return (int64_t)(memory == DEVICE_TENSORS ? row->device_live : row->live_bytes);
}

/* The least in each part of the run: what stays is in it, what comes and goes is not. A leak makes
 * each stand higher than the one before, by as much. */
static bool find_growth(const struct rows *rows, enum memory memory, struct growth *growth)
{
	const struct tp_step_row *least[PARTS];
	uint32_t n = rows->n / PARTS;
	int64_t all;

	if (n < PART_LEAST)
		return false;
	for (uint32_t part = 0; part < PARTS; part++) {
		const struct tp_step_row **row = rows->row + rows->n - (PARTS - part) * n;

		least[part] = row[0];
		for (uint32_t i = 1; i < n; i++)
			if (bytes_of(row[i], memory) < bytes_of(least[part], memory))
				least[part] = row[i];
	}
	/* The first part is that in which optimizers make their state. */
	*growth = (struct growth){.first = least[1], .last = least[PARTS - 1], .memory = memory};
	/* Numbers that a file made up. */
	if (growth->last->index <= growth->first->index ||
	    growth->last->index - growth->first->index > INT64_MAX)
		return false;
	all = tp_sub(bytes_of(growth->last, memory), bytes_of(growth->first, memory));
	for (uint32_t part = 2; part < PARTS; part++)
		if (tp_sub(bytes_of(least[part], memory), bytes_of(least[part - 1], memory)) <
		    all / PARTS / 2)
			return false;
	growth->bytes = all / (int64_t)(growth->last->index - growth->first->index);
	return growth->bytes >= STEP_LEAST && (memory != REST || all >= REST_LEAST);
}

/* To be freed in any case. False: out of memory. */
static bool find_rows(const struct tp_overview_proc *proc, enum memory memory, struct rows *rows)
{
	*rows = (struct rows){.row = malloc((proc->n_ledger + 1) * sizeof(*rows->row))};
	for (uint32_t i = 0; rows->row && i < proc->n_ledger; i++)
		if (memory != REST || proc->ledger[i].heap_bytes)
			rows->row[rows->n++] = &proc->ledger[i];
	return rows->row != NULL;
}

/* Of all processes; bytes 0: none grows. */
static struct growth find_worst(const struct tp_overview *overview, enum memory memory)
{
	struct growth worst = {.bytes = 0}, growth;
	struct rows rows;

	for (uint32_t i = 0; i < overview->n_procs; i++) {
		if (find_rows(&overview->proc[i], memory, &rows) && find_growth(&rows, memory, &growth) &&
		    growth.bytes > worst.bytes)
			worst = growth;
		free(rows.row);
	}
	return worst;
}

static void tell(const struct tp_advice_facts *facts, const struct growth *growth, const char *what,
		 struct tp_advice *advice)
{
	char who[64], a[32], b[32], c[32];
	bool is_one_of_many = tp_label_is_needed(facts->run);

	advice->percent = -1;
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "%s%s%s grows by %s per step: %s after step %" PRIu64 ", %s after step %" PRIu64, what,
		 is_one_of_many ? " of " : "",
		 is_one_of_many ? tp_label_proc(who, facts->run, growth->first->proc) : "",
		 tp_show_bytes(a, growth->bytes),
		 tp_show_bytes(b, bytes_of(growth->first, growth->memory)), growth->first->index,
		 tp_show_bytes(c, bytes_of(growth->last, growth->memory)), growth->last->index);
}

/* The container that takes the tensors; false: none is known. */
static bool find_tensors(const struct tp_proc *proc, struct tp_keeper *found)
{
	struct tp_keeper keeper[TP_KEEPERS];
	const uint32_t n = tp_keepers_of(proc, keeper);

	for (uint32_t i = 0; i < n; i++)
		if (keeper[i].has_tensor && tp_keeper_rate(&keeper[i]) >= RATE_LEAST) {
			*found = keeper[i];
			return true;
		}
	return false;
}

/* The one whose items make most of what each step adds; false: none is known that makes enough of it. */
static bool find_rest(const struct growth *growth, struct tp_keeper *found)
{
	struct tp_keeper keeper[TP_KEEPERS];
	const uint32_t n = tp_keepers_of(growth->first->proc, keeper);
	double most = (double)growth->bytes / PART_OF_GROWTH;
	bool is_found = false;

	for (uint32_t i = 0; i < n; i++) {
		const double bytes = tp_keeper_rate(&keeper[i]) * (double)keeper[i].item_bytes;

		if (bytes < most)
			continue;
		most = bytes;
		*found = keeper[i];
		is_found = true;
	}
	return is_found;
}

bool tp_advice_growth(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	struct growth host = find_worst(facts->overview, TENSORS);
	struct growth device = find_worst(facts->overview, DEVICE_TENSORS);
	const struct growth *worst = device.bytes > host.bytes ? &device : &host;
	struct tp_keeper keeper;
	char who[300];

	if (!worst->bytes)
		return false;
	tell(facts, worst, worst == &device ? "memory of tensors on the device" : "memory of tensors", advice);
	if (find_tensors(worst->first->proc, &keeper))
		snprintf(advice->todo, sizeof(advice->todo), "kept by %s; keep .item(), .detach(), .clone() of a "
			 "part, or only the last ones", tp_keeper_tell(who, sizeof(who), &keeper));
	else
		snprintf(advice->todo, sizeof(advice->todo), "tensors allocated here stay alive across steps: "
		 "which list, dict or cache takes them? keep .item(), .detach(), .clone() of a part (a view keeps "
		 "all of its tensor), or only the last ones there");
	tp_advice_line(facts, worst->first->proc, TP_SITE_KEPT, advice);
	return true;
}

/* A worker has no steps: by time, and by how long one takes. */
static bool judge_worker(const struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_run *run = facts->run;
	const struct tp_overview_sums *sums = facts->sums;
	struct tp_worker_growth growth;
	char who[64], a[32], b[32], c[32], d[32];
	double per_step;

	if (!sums->n_steps || !tp_worker_heap_worst(facts->overview->workers, &growth))
		return false;
	per_step = tp_worker_growth_rate(&growth) * (double)sums->all_ns / (double)sums->n_steps / 1e9;
	if (per_step < STEP_LEAST || per_step > (double)INT64_MAX / 2 ||
	    growth.last - growth.first < REST_LEAST)
		return false;
	advice->percent = -1;
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "the heap of %s grows by about %s per step of the training: %s, and %s later %s",
		 tp_label_proc(who, run, growth.proc), tp_show_bytes(a, (int64_t)per_step),
		 tp_show_bytes(b, (int64_t)growth.first), tp_show_ns(c, growth.last_ns - growth.first_ns),
		 tp_show_bytes(d, (int64_t)growth.last));
	snprintf(advice->todo, sizeof(advice->todo), "look for what the worker keeps of each sample: a cache, list or "
		 "dict of the dataset's; each worker has one of its own");
	for (uint32_t i = 0; i < run->n_procs; i++)
		if (tp_proc_works_for(growth.proc, run->proc[i]))
			tp_advice_dataset(run, run->proc[i], advice);
	return true;
}

bool tp_advice_host_growth(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	struct growth worst = find_worst(facts->overview, REST);
	struct tp_keeper keeper;

	/* Nothing, or no more than what is told may keep. */
	if (worst.bytes <= facts->explained_bytes)
		return judge_worker(facts, advice);
	tell(facts, &worst, "host memory beside tensors", advice);
	if (find_rest(&worst, &keeper)) {
		tp_keeper_tell(advice->place, sizeof(advice->place), &keeper);
		snprintf(advice->todo, sizeof(advice->todo), "at step %" PRIu64 " it had %" PRIu64 " items, at step %"
			 PRIu64 " %" PRIu64 ": is each needed later? keep the last ones, or give a cache a limit",
			 keeper.first_step, keeper.first, keeper.last_step, keeper.last);
		return true;
	}
	snprintf(advice->todo, sizeof(advice->todo), "look for a list, dict or cache of Python's that each step adds to: "
		 "TRAINPROF_RECORD=heap,host TRAINPROF_STACKS=heap, then -v memory, names the lines that allocate it");
	return true;
}

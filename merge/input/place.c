/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.c - everything that was found onto one clock: blocks, windows, chosen steps
 *
 * After all files were indexed. What cannot be placed is left out and said.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "merge/input/chosen.h"
#include "merge/input/place_modules.h"
#include "merge/input/run.h"
#include "merge/kit/grow.h"
#include "merge/model/label.h"

static void leave_out(struct tp_run_in *run, const struct tp_block_ref *block)
{
	const struct tp_source *source = &run->source[block->source];

	tp_run_issue(&run->pub, &source->proc->pub, true,
		     "'%s': a block of %u events has impossible times; it is left out", source->path,
		     block->n_events);
	run->n_events_due -= block->n_events;
}

/* Times of blocks become ns of CLOCK_REALTIME; those that cannot be are dropped. */
static void place_blocks(struct tp_run_in *run)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < run->n_blocks; i++) {
		struct tp_block_ref *block = &run->block[i];
		const struct tp_proc_in *proc = run->source[block->source].proc;
		uint64_t first = (uint64_t)block->first_ns, last = (uint64_t)block->last_ns;
		uint32_t hint = 0;

		if (!proc->map.n_knots || first >> 62) {
			leave_out(run, block);
			continue;
		}
		/* A head that lies: its events are looked at when they are decoded. */
		if (last < first || last >> 62)
			last = first;
		block->first_ns = tp_run_ns(proc, &hint, first);
		block->last_ns = tp_run_ns(proc, &hint, last);
		run->block[kept++] = *block;
	}
	run->n_blocks = kept;
}

static int compare_blocks(const void *a, const void *b)
{
	const struct tp_block_ref *x = a, *y = b;

	if (x->first_ns != y->first_ns)
		return x->first_ns < y->first_ns ? -1 : 1;
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

/* In order; without those years away from most: ticks of a damaged or foreign head. */
static void order_blocks(struct tp_run_in *run)
{
	uint32_t kept = 0;
	int64_t middle;

	if (!run->n_blocks)
		return;
	qsort(run->block, run->n_blocks, sizeof(run->block[0]), compare_blocks);
	/* Of two the earlier: a bit too many makes times later. */
	middle = run->block[(run->n_blocks - 1) / 2].first_ns;
	for (uint32_t i = 0; i < run->n_blocks; i++) {
		const struct tp_block_ref *block = &run->block[i];
		int64_t off = tp_sub(block->first_ns, middle);

		if (off > TP_RUN_FAR_NS / 2 || off < -TP_RUN_FAR_NS / 2)
			leave_out(run, block);
		else
			run->block[kept++] = *block;
	}
	run->n_blocks = kept;
}

/* Time 0 is the earliest event, else the earliest step. */
static void start_at_zero(struct tp_run_in *run)
{
	int64_t zero = run->n_blocks ? run->block[0].first_ns : INT64_MAX;

	for (uint32_t i = 0; i < run->pub.n_steps && !run->n_blocks; i++) {
		struct tp_proc_in *proc = (struct tp_proc_in *)run->pub.step[i].proc;
		int64_t at = tp_run_mono_ns(run, proc, run->pub.step[i].begin_ns);

		if (at < zero)
			zero = at;
	}
	if (zero == INT64_MAX)
		zero = 0;
	for (uint32_t i = 0; i < run->n_blocks; i++) {
		run->block[i].first_ns -= zero;
		run->block[i].last_ns = tp_sub(run->block[i].last_ns, zero);
	}
	for (uint32_t i = 0; i < run->pub.n_procs; i++) {
		struct tp_proc_in *proc = (struct tp_proc_in *)run->pub.proc[i];

		proc->to_run_ns = tp_sub(proc->to_run_ns, zero);
	}
	/* No clock shows that: sums with times of the run must have room, too. */
	run->pub.zero_real_ns = zero < 0 || zero > INT64_MAX / 2 ? 0 : (uint64_t)zero;
}

/* The window's own words, or its ring's, on when it was; without a clock they mean nothing. */
static void take_bounds(struct tp_window *w, const struct tp_proc_in *proc)
{
	uint64_t begin = tp_fact_u64(w->totals, "begin", 0);
	uint64_t end = tp_fact_u64(w->totals, "end", 0);
	int64_t begin_ns, end_ns;
	uint32_t hint = 0;

	if ((!begin || end <= begin) && !tp_recover_bounds(proc, w->window, &begin, &end))
		return;
	if (!proc->map.n_knots)
		return;
	begin_ns = tp_run_ns(proc, &hint, begin);
	end_ns = tp_run_ns(proc, &hint, end);
	if (!tp_run_is_time(begin_ns) || !tp_run_is_time(end_ns))
		return;
	w->begin_ns = begin_ns;
	w->end_ns = end_ns;
}

/* Bounds of each window, and how well its clock is known. */
static void describe_windows(struct tp_run_in *run)
{
	for (uint32_t i = 0; i < run->n_blocks; i++) {
		struct tp_window *w = &run->pub.window[run->source[run->block[i].source].window];

		if (run->block[i].first_ns < w->begin_ns)
			w->begin_ns = run->block[i].first_ns;
		if (run->block[i].first_ns > w->end_ns)
			w->end_ns = run->block[i].first_ns;
	}
	for (uint32_t i = 0; i < run->pub.n_windows; i++) {
		struct tp_window *w = &run->pub.window[i];
		const struct tp_proc_in *proc = (const struct tp_proc_in *)w->proc;

		if (w->begin_ns > w->end_ns)
			w->begin_ns = w->end_ns = 0;
		/* What the blocks show is less (begins only) or more (spans that began before). */
		take_bounds(w, proc);
		w->clock_error_ns = tp_run_clock_error(run, proc, w->begin_ns, w->end_ns);
	}
}

static void note_windows(struct tp_run_in *run)
{
	for (uint32_t i = 0; i < run->pub.n_windows; i++) {
		const struct tp_window *w = &run->pub.window[i];
		const struct tp_proc_in *proc = (const struct tp_proc_in *)w->proc;

		if (!w->is_whole && proc->is_live)
			tp_run_issue(&run->pub, w->proc, false,
				     "window %u: process %u still runs; what it has recorded so far "
				     "is read", w->window, w->proc->pid);
		else if (!w->is_whole && !w->is_recovered)
			tp_run_issue(&run->pub, w->proc, true,
				     "window %u: '%s' has no end and its buffer file is gone: what was not "
				     "written yet is lost", w->window, w->path);
		if (w->dropped)
			tp_run_issue(&run->pub, w->proc, true,
				     "window %u: %llu records were dropped for want of space; a larger "
				     "TRAINPROF_BUFFER keeps them", w->window,
				     (unsigned long long)w->dropped);
	}
}

/* Where the process that it works for stands in run.proc, n_procs when that was not read. */
static uint32_t find_root(const struct tp_run *run, const struct tp_proc *proc)
{
	uint32_t i = 0;

	while (i < run->n_procs && !tp_proc_works_for(proc, run->proc[i]))
		i++;
	return i;
}

struct family {
	const struct tp_proc *root;	/* or itself */
	uint32_t root_at;
	struct tp_proc *proc;
};

static int compare_numbers(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int compare_families(const void *a, const void *b)
{
	const struct family *x = a, *y = b;

	int by = compare_numbers(x->root->rank, y->root->rank);

	if (!by)
		by = compare_numbers(x->root->restart, y->root->restart);
	if (!by)
		by = compare_numbers(x->root_at, y->root_at);
	if (!by)
		by = compare_numbers(x->proc->worker, y->proc->worker);
	return by ? by : compare_numbers(x->proc->at, y->proc->at);
}

/* Ranks come in the order of their numbers, of one rank the starts, right behind each of them its
 * workers. 0 or -ENOMEM. */
static int order_procs(struct tp_run *run)
{
	struct family *family = malloc((run->n_procs + 1) * sizeof(*family));

	if (!family)
		return -ENOMEM;
	for (uint32_t i = 0; i < run->n_procs; i++) {
		family[i].proc = run->proc[i];
		family[i].root_at = run->proc[i]->worker ? find_root(run, run->proc[i]) : i;
		/* The rank of a worker may not be here. */
		family[i].root = family[i].root_at < run->n_procs ? run->proc[family[i].root_at]
								   : run->proc[i];
	}
	qsort(family, run->n_procs, sizeof(*family), compare_families);
	for (uint32_t i = 0; i < run->n_procs; i++) {
		run->proc[i] = family[i].proc;
		run->proc[i]->at = i;
	}
	free(family);
	return 0;
}

int tp_run_place(struct tp_run_in *run)
{
	int err = order_procs(&run->pub);

	if (err)
		return err;
	/* First: open spans point to threads, which may move here. */
	for (uint32_t i = 0; i < run->pub.n_procs; i++) {
		struct tp_proc_in *proc = (struct tp_proc_in *)run->pub.proc[i];

		err = tp_queues_init(&proc->queues, &proc->pub, &proc->cap_threads);
		if (err)
			return err;
	}
	err = tp_run_place_hosts(run);
	if (err)
		return err;
	place_blocks(run);
	order_blocks(run);
	err = tp_recover_settle_steps(run);
	if (err)
		return err;
	start_at_zero(run);
	err = tp_run_place_modules(run);
	if (err)
		return err;
	err = tp_recover_settle_open(run);
	if (err)
		return err;
	tp_run_settle_steps(run);
	describe_windows(run);
	note_windows(run);
	run->pub.n_distinct_strings = run->strings.n_strings;
	return tp_chosen_find(run);
}

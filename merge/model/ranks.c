/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranks.c - which ranks of the job are there, and whether they count alike
 */
#include "merge/model/ranks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/stats.h"
#include "merge/kit/sum.h"
#include "merge/model/label.h"

enum {
	WORLD_MOST = 1 << 20,	/* traces are not trusted */
	SAMPLES = 64,		/* of the time that two ranks have in common */
	SAMPLES_LEAST = 8,
	SAME_PERCENT = 95,
	WINDOWS_MOST = 1024,	/* compared */
};

/* ---- lists ---- */

const char *tp_ranks_list(char buf[TP_RANKS_TEXT], const bool *is_in, uint32_t n)
{
	enum { ROOM = 40 };	/* for a range, and the end of a cut list */
	uint32_t n_in = 0, n_ranges = 0;
	size_t len = 0;

	for (uint32_t i = 0; i < n; i++)
		n_in += is_in[i];
	buf[0] = 0;
	if (n_in)
		len = (size_t)snprintf(buf, TP_RANKS_TEXT, "rank%s ", n_in > 1 ? "s" : "");
	for (uint32_t i = 0, end; i < n && n_in; i = end) {
		end = i + 1;
		if (!is_in[i])
			continue;
		while (end < n && is_in[end])
			end++;
		if (len + ROOM > TP_RANKS_TEXT) {
			snprintf(buf + len, TP_RANKS_TEXT - len, " and %u more", n_in);
			break;
		}
		len += (size_t)snprintf(buf + len, TP_RANKS_TEXT - len, "%s%u",
					n_ranges++ ? ", " : "", i);
		if (end - i > 1)
			len += (size_t)snprintf(buf + len, TP_RANKS_TEXT - len, "%s%u",
						end - i > 2 ? "-" : ", ", end - 1);
		n_in -= end - i;
	}
	return buf;
}

/* ---- starts ---- */

uint32_t tp_ranks_restart(const struct tp_run *run)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < run->n_procs; i++)
		if (run->proc[i]->rank >= 0 && run->proc[i]->restart > most)
			most = run->proc[i]->restart;
	return most;
}

void tp_ranks_mark(struct tp_run *run)
{
	uint32_t last = tp_ranks_restart(run);

	/* All ranks of an elastic job are started again when one of them fails. */
	for (uint32_t i = 0; i < run->n_procs; i++)
		run->proc[i]->is_past = run->proc[i]->rank >= 0 && run->proc[i]->restart < last;
}

/* ---- who is missing ---- */

static bool is_current_rank(const struct tp_proc *proc)
{
	return proc->rank >= 0 && !proc->worker && !proc->is_past;
}

/* Ranks of a node, if the traces say so; 0: they do not. */
static uint32_t ranks_of_node(const struct tp_run *run)
{
	for (uint32_t i = 0; i < run->n_procs; i++) {
		uint64_t n;

		if (!is_current_rank(run->proc[i]) || run->proc[i]->node_rank < 0)
			continue;
		n = tp_fact_u64(tp_label_meta(run, run->proc[i]), "local_world_size", 0);
		if (n && n <= WORLD_MOST)
			return (uint32_t)n;
	}
	return 0;
}

/* Whether anything came from the node of `rank`, where ranks are dealt out node by node. */
static bool is_node_here(const struct tp_run *run, uint32_t rank, uint32_t per_node)
{
	for (uint32_t i = 0; i < run->n_procs && per_node; i++)
		if (is_current_rank(run->proc[i]) &&
		    (uint32_t)run->proc[i]->rank / per_node == rank / per_node)
			return true;
	return !per_node;
}

/* One file may be what was wanted. */
static bool is_of_one_rank(const struct tp_run *run)
{
	int32_t rank = -1;

	for (uint32_t i = 0; i < run->n_procs; i++) {
		if (rank >= 0 && run->proc[i]->rank >= 0 && run->proc[i]->rank != rank)
			return false;
		if (run->proc[i]->rank >= 0)
			rank = run->proc[i]->rank;
	}
	return true;
}

void tp_ranks_missing(const struct tp_run *run, struct tp_ranks_missing *missing)
{
	bool *is_there, *is_here, *is_elsewhere;
	uint32_t per_node = ranks_of_node(run), n = 0;

	memset(missing, 0, sizeof(*missing));
	for (uint32_t i = 0; i < run->n_procs && !run->is_selection; i++)
		if (is_current_rank(run->proc[i]) && run->proc[i]->world_size > (int32_t)n &&
		    run->proc[i]->world_size <= WORLD_MOST)
			n = (uint32_t)run->proc[i]->world_size;
	is_there = calloc((size_t)n + 1, 3);
	if (!is_there)
		return;
	is_here = is_there + n;
	is_elsewhere = is_here + n;
	missing->world = n;
	for (uint32_t i = 0; i < run->n_procs; i++)
		if (is_current_rank(run->proc[i]) && (uint32_t)run->proc[i]->rank < n)
			is_there[run->proc[i]->rank] = true;
	for (uint32_t rank = 0; rank < n; rank++) {
		if (is_there[rank]) {
			missing->n_here++;
		} else if (is_node_here(run, rank, per_node)) {
			is_here[rank] = true;
			missing->n_missing++;
		} else {
			is_elsewhere[rank] = true;
			missing->n_elsewhere++;
		}
	}
	if (is_of_one_rank(run))
		missing->n_missing = 0;
	else
		tp_ranks_list(missing->here, is_here, n);
	tp_ranks_list(missing->elsewhere, is_elsewhere, n);
	free(is_there);
}

/* ---- do they count alike? ---- */

/* The ledger of one process: rows of a run stand by process. */
struct rows {
	const struct tp_step_row *row;
	uint32_t n;
};

/* The step that was in progress; false: none was. */
static bool step_at(const struct rows *rows, int64_t ns, uint64_t *index)
{
	uint32_t low = 0, high = rows->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (rows->row[middle].begin_ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || tp_sub(ns, rows->row[low - 1].begin_ns) >= rows->row[low - 1].dur_ns)
		return false;
	*index = rows->row[low - 1].index;
	return true;
}

/* How many steps `other` counts more than `base` at the same moments; 0 also where that is not the
 * same number nearly always: they have nothing to do with each other then. */
static int64_t count_apart(const struct rows *base, const struct rows *other)
{
	/* The second half: what happened once before is in it, too. */
	uint32_t half = base->n / 2, stride = (base->n - half) / SAMPLES + 1, n = 0, n_same = 0;
	int64_t apart[SAMPLES], usual;

	for (uint32_t i = half; i < base->n && n < SAMPLES; i += stride) {
		const struct tp_step_row *row = &base->row[i];
		uint64_t index;

		/* In its middle: ranks that wait for each other are in the same one. */
		if (step_at(other, tp_add(row->begin_ns, row->dur_ns / 2), &index))
			apart[n++] = (int64_t)(index - row->index);
	}
	if (n < SAMPLES_LEAST)
		return 0;
	tp_sort_i64(apart, n);
	usual = apart[n / 2];
	for (uint32_t i = 0; i < n; i++)
		n_same += apart[i] == usual;
	return n_same * 100 >= n * SAME_PERCENT ? usual : 0;
}

/* The rows that begin at row `at` and are of one process. */
static struct rows rows_from(const struct tp_run *run, uint32_t at)
{
	struct rows rows = {.row = &run->step[at]};

	while (at + rows.n < run->n_steps && run->step[at + rows.n].proc == rows.row->proc)
		rows.n++;
	return rows;
}

/* ---- are their windows the same? ---- */

/* First step of a window; UINT64_MAX: not known. */
static uint64_t first_step_of(const struct tp_window *window)
{
	return tp_fact_u64(window->totals, "first_step", UINT64_MAX);
}

static void check_windows(struct tp_run *run)
{
	uint64_t *first = malloc(WINDOWS_MOST * sizeof(*first));
	const struct tp_proc *base = NULL, *told = NULL;

	for (uint32_t i = 0; i < run->n_procs && !base; i++)
		if (is_current_rank(run->proc[i]) && run->proc[i]->world_size > 1)
			base = run->proc[i];
	for (uint32_t i = 0; i < WINDOWS_MOST && first; i++)
		first[i] = UINT64_MAX;
	for (uint32_t i = 0; i < run->n_windows && first && base; i++)
		if (run->window[i].proc == base && run->window[i].window < WINDOWS_MOST)
			first[run->window[i].window] = first_step_of(&run->window[i]);
	for (uint32_t i = 0; i < run->n_windows && first && base; i++) {
		const struct tp_window *window = &run->window[i];
		uint64_t own, other;

		if (window->proc == told || !is_current_rank(window->proc) ||
		    window->proc->world_size != base->world_size || window->window >= WINDOWS_MOST)
			continue;
		own = first_step_of(window);
		other = first[window->window];
		if (own == other || own == UINT64_MAX || other == UINT64_MAX)
			continue;
		told = window->proc;
		tp_run_issue(run, told, false,
			     "window %u begins with step %" PRIu64 ", that of rank %d with step %" PRIu64
			     ": their epochs or counts differ; per=run in TRAINPROF_SCHEDULE goes by "
			     "the steps of the run",
			     window->window, own, base->rank, other);
	}
	free(first);
}

static void check_counts(struct tp_run *run)
{
	const struct tp_proc *first = NULL;
	struct rows base = {NULL, 0}, rows;

	for (uint32_t i = 0; i < run->n_steps; i += rows.n) {
		const struct tp_proc *proc = run->step[i].proc;
		int64_t by;

		rows = rows_from(run, i);
		if (!is_current_rank(proc))
			continue;
		if (!first) {
			first = proc;
			base = rows;
			continue;
		}
		by = proc->world_size == first->world_size ? count_apart(&base, &rows) : 0;
		if (by)
			tp_run_issue(run, proc, false,
				     "counts %lld step%s %s than rank %d at the same time: steps of "
				     "the same number are not the same steps",
				     (long long)(by < 0 ? -by : by), by == 1 || by == -1 ? "" : "s",
				     by < 0 ? "fewer" : "more", first->rank);
	}
}

void tp_ranks_check(struct tp_run *run)
{
	check_counts(run);
	check_windows(run);
}

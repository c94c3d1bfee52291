/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites_steps.c - part of sites.h: which function has what some steps have more of than others
 *
 * While events come, a cell for each row and step has the time of their operators. Asked about steps, a
 * function has the mean of those less the mean of the others, what it calls included; of functions that have
 * most of the difference the one with least of anything else says most. So it is with two figures.
 */
#include "merge/facts/code/sites_in.h"

#include <stdlib.h>
#include <string.h>

#include "merge/facts/origin/hostmem_frames.h"
#include "merge/facts/origin/stacks.h"
#include "merge/kit/grow.h"
#include "merge/kit/sum.h"
#include "runtime/base/own_python.h"

enum {
	CELLS_MAX = 1 << 18,
	FRAMES = 192,
	MOST_PERCENT = 50,	/* of the difference */
};
static const double APART = 0.9;	/* of its time is difference: it hardly runs in the other steps */

/* ---- while events come ---- */

uint32_t tp_sites_add_step(struct tp_sites *sites, const struct tp_event *event)
{
	if (!tp_grow(&sites->step, &sites->cap_steps, (uint64_t)sites->n_steps + 1, sizeof(*sites->step))) {
		sites->is_full = true;
		return 0;
	}
	sites->step[sites->n_steps] = (struct tp_sites_step){.proc = event->proc->at, .index = event->link};
	return ++sites->n_steps;
}

void tp_sites_add_time(struct tp_sites *sites, struct tp_sites_row *row, uint32_t step, int64_t ns)
{
	struct tp_sites_cell *cell = row->cell ? &sites->cell[row->cell - 1] : NULL;

	if (!step || sites->is_full)
		return;
	if (!cell || cell->step != step) {
		if (sites->n_cells >= CELLS_MAX || !tp_grow(&sites->cell, &sites->cap_cells,
							    (uint64_t)sites->n_cells + 1, sizeof(*cell))) {
			sites->is_full = true;
			return;
		}
		cell = &sites->cell[sites->n_cells++];
		*cell = (struct tp_sites_cell){.row = (uint32_t)(row - sites->row), .step = step};
		row->cell = sites->n_cells;
	}
	cell->ns = tp_add(cell->ns, ns);
}

/* ---- when they are asked ---- */

struct function {
	uint32_t id, line;	/* 0: all its lines */
	uint32_t depth;		/* the outermost is 1 */
	const char *file, *name;
	double chosen, other;	/* ns in a step of each kind */
};

struct functions {
	struct function *function;
	uint32_t n, cap;
	struct tp_keyed keyed;
	double chosen, other;	/* of all rows */
};

static double difference(const struct function *function)
{
	return function->chosen - function->other;
}

static struct function *find_function(struct functions *all, const struct tp_frame *frame, uint32_t line)
{
	uint32_t hash = tp_keyed_hash((uint64_t)frame->function_id << 32 | line), at;

	for (uint32_t i = tp_keyed_first(&all->keyed, hash, &at); i != TP_NO_KEYED;
	     i = tp_keyed_next(&all->keyed, hash, &at))
		if (all->function[i].id == frame->function_id && all->function[i].line == line)
			return &all->function[i];
	if (!tp_grow(&all->function, &all->cap, (uint64_t)all->n + 1, sizeof(*all->function)) ||
	    !tp_keyed_add(&all->keyed, hash, all->n))
		return NULL;
	all->function[all->n] = (struct function){.id = frame->function_id, .line = line, .file = frame->file,
						  .name = frame->function};
	return &all->function[all->n++];
}

/* One that calls itself counts once. */
static bool is_seen(const struct tp_frame *frame, uint32_t n, uint32_t at, bool by_line)
{
	for (uint32_t i = 0; i < at && i < n; i++)
		if (frame[i].function_id == frame[at].function_id &&
		    (!by_line || frame[i].line == frame[at].line))
			return true;
	return false;
}

static bool add_row(struct functions *all, const struct tp_stacks *stacks, uint32_t stack, double chosen,
		    double other)
{
	struct tp_frame frame[FRAMES];
	uint32_t n = tp_stacks_frames(stacks, stack, frame, FRAMES);

	all->chosen += chosen;
	all->other += other;
	n = n < FRAMES ? n : FRAMES;
	for (uint32_t i = 0; i < n; i++) {
		if (!frame[i].is_python || !tp_own_python(frame[i].file))
			continue;
		for (uint32_t by_line = 0; by_line < 2; by_line++) {
			struct function *function;

			if (is_seen(frame, n, i, by_line))
				continue;
			function = find_function(all, &frame[i], by_line ? frame[i].line : 0);
			if (!function)
				return false;
			if (n - i > function->depth)
				function->depth = n - i;
			function->chosen += chosen;
			function->other += other;
		}
	}
	return true;
}

static bool has_most(const struct functions *all, const struct function *function)
{
	return difference(function) * 100 >= (all->chosen - all->other) * MOST_PERCENT;
}

/* What of its time is difference: all of it, where it does not run in the other steps. */
static double part(const struct function *function)
{
	return difference(function) / function->chosen;
}

/* Of those that have most of the difference the one that has least of anything else, else the innermost;
 * NULL: none has. */
static const struct function *find_apart(const struct functions *all, bool by_line)
{
	const struct function *found = NULL;

	for (uint32_t i = 0; i < all->n; i++) {
		const struct function *it = &all->function[i];

		if ((it->line != 0) != by_line || !has_most(all, it))
			continue;
		if (!found || part(it) > part(found) || (part(it) >= part(found) && it->depth > found->depth))
			found = it;
	}
	return found;
}

/* The line of a function with most of the difference. */
static uint32_t find_line(const struct functions *all, const struct function *of)
{
	const struct function *found = NULL;

	for (uint32_t i = 0; i < all->n; i++) {
		const struct function *it = &all->function[i];

		if (it->line && it->id == of->id && (!found || difference(it) > difference(found)))
			found = it;
	}
	return found ? found->line : 0;
}

static bool show(const struct functions *all, char *place, size_t cap)
{
	const struct function *found = find_apart(all, false), *line = find_apart(all, true);
	struct tp_frame frame = {.is_python = true};

	/* A function that runs in all steps, and a line of it that does not. */
	if (found && line && part(found) < APART && part(line) >= APART)
		found = line;
	if (!found)
		return false;
	frame.file = found->file;
	frame.function = found->name;
	frame.line = found->line ? found->line : find_line(all, found);
	tp_hostmem_show_frame(place, (uint32_t)cap, &frame, TP_HOSTMEM_LONG);
	return true;
}

struct sums {
	double *chosen, *other;		/* by row */
	double n_chosen, n_other;	/* steps */
};

static void add_cells(const struct tp_sites *sites, const struct tp_proc *proc, const uint8_t *is_chosen,
		      struct sums *sums)
{
	for (uint32_t i = 0; i < sites->n_steps; i++)
		if (sites->step[i].proc == proc->at)
			*(is_chosen[i] ? &sums->n_chosen : &sums->n_other) += 1;
	for (uint32_t i = 0; i < sites->n_cells; i++) {
		const struct tp_sites_cell *cell = &sites->cell[i];

		double *sum = is_chosen[cell->step - 1] ? sums->chosen : sums->other;

		if (sites->row[cell->row].proc == proc->at)
			sum[cell->row] += (double)cell->ns;
	}
}

static bool add_rows(const struct tp_sites *sites, const struct sums *sums, struct functions *all)
{
	const struct tp_stacks *stacks = tp_sites_stacks(sites);

	if (!sums->n_chosen || !sums->n_other)
		return false;
	for (uint32_t i = 0; i < sites->n_rows; i++)
		if ((sums->chosen[i] > 0 || sums->other[i] > 0) &&
		    !add_row(all, stacks, sites->row[i].stack, sums->chosen[i] / sums->n_chosen,
			     sums->other[i] / sums->n_other))
			return false;
	return true;
}

bool tp_sites_apart(const struct tp_sites *sites, enum tp_site_figure most, enum tp_site_figure none,
		    char *place, size_t cap)
{
	const struct tp_stacks *stacks = tp_sites_stacks(sites);
	struct functions all = {.n = 0};
	bool is_found = true;

	for (uint32_t i = 0; is_found && i < sites->n_rows; i++) {
		const int64_t *figure = sites->row[i].figure;

		if (figure[most] > 0 || figure[none] > 0)
			is_found = add_row(&all, stacks, sites->row[i].stack, (double)figure[most],
					   (double)figure[none]);
	}
	is_found = is_found && all.chosen > all.other && show(&all, place, cap);
	tp_keyed_free(&all.keyed);
	free(all.function);
	return is_found;
}

bool tp_sites_longer(const struct tp_sites *sites, const struct tp_proc *proc, tp_step_choose *choose,
		     const void *ctx, char *place, size_t cap, int64_t *more_ns)
{
	struct functions all = {.n = 0};
	struct sums sums = {.chosen = calloc(sites->n_rows + 1, sizeof(double)),
			    .other = calloc(sites->n_rows + 1, sizeof(double))};
	uint8_t *is_chosen = calloc(sites->n_steps + 1, 1);
	bool is_found = false;

	if (sums.chosen && sums.other && is_chosen && !sites->is_full) {
		for (uint32_t i = 0; i < sites->n_steps; i++)
			is_chosen[i] = choose(ctx, sites->step[i].index);
		add_cells(sites, proc, is_chosen, &sums);
		is_found = add_rows(sites, &sums, &all) && all.chosen > all.other && show(&all, place, cap);
	}
	*more_ns = is_found ? tp_whole(all.chosen - all.other) : 0;
	tp_keyed_free(&all.keyed);
	free(all.function);
	free(is_chosen);
	free(sums.chosen);
	free(sums.other);
	return is_found;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_places.c - the user's functions of two runs become one list: by samples, and by source lines
 *
 * Lines of an edited file move, folders of two copies of a program have other names: a function is
 * that of the other run whose qualified name and file are the same, or else its name and its file's
 * last part. Of its lines the one that changed most stands for it; where all lines of a function are in
 * both runs they are compared one by one.
 */
#include "merge/view/diff/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "merge/facts/origin/hostmem_frames.h"
#include "merge/kit/need.h"
#include "merge/kit/show.h"
#include "merge/kit/sum.h"

enum {
	LEAST_SAMPLES = 5,
	MOVED_PERCENT = 5,	/* of a function's time in lines that one run has only */
};

struct list {
	struct tp_diff_function *row;
	uint32_t n, cap;
};

/* A comprehension is part of the function that it stands in. */
static uint32_t name_bytes(const char *function)
{
	const char *inside = strstr(function, ".<locals>.<");

	return (uint32_t)(inside ? (size_t)(inside - function) : strlen(function));
}

static struct tp_diff_function *add(struct list *list, const struct tp_frame *frame)
{
	struct tp_diff_function *row;

	tp_need_room(&list->row, &list->cap, (uint64_t)list->n + 1, sizeof(*list->row));
	row = &list->row[list->n++];
	*row = (struct tp_diff_function){.function = frame->function,
					 .n_function = name_bytes(frame->function),
					 .file = frame->file, .line = frame->line};
	return row;
}

/* ---- two lists become one ---- */

static int compare_functions(const struct tp_diff_function *x, const struct tp_diff_function *y)
{
	const uint32_t n = x->n_function < y->n_function ? x->n_function : y->n_function;
	const int order = memcmp(x->function, y->function, n);

	return order ? order : (x->n_function > y->n_function) - (x->n_function < y->n_function);
}

/* From their ends: files of one name, then of one folder, stand side by side. */
static int compare_files(const char *a, const char *b)
{
	size_t n_a = strlen(a), n_b = strlen(b);

	while (n_a && n_b) {
		const unsigned char x = (unsigned char)a[--n_a], y = (unsigned char)b[--n_b];

		if (x != y)
			return x < y ? -1 : 1;
	}
	return (n_a > n_b) - (n_a < n_b);
}

static int compare_lines(const void *a, const void *b)
{
	const struct tp_diff_function *x = a, *y = b;
	int order = compare_functions(x, y);

	if (!order)
		order = compare_files(x->file, y->file);
	return order ? order : (x->line > y->line) - (x->line < y->line);
}

static bool is_same_line(const struct tp_diff_function *x, const struct tp_diff_function *y)
{
	return !compare_lines(x, y);
}

static bool is_of_function(const struct tp_diff_function *x, const struct tp_diff_function *y)
{
	return !compare_functions(x, y) && !strcmp(x->file, y->file);
}

static bool is_same_function(const struct tp_diff_function *x, const struct tp_diff_function *y)
{
	return !x->is_line && is_of_function(x, y);
}

/* One run has the one only, the other the other. */
static bool is_moved_function(const struct tp_diff_function *x, const struct tp_diff_function *y)
{
	const bool is_base[2] = {x->time[TP_DIFF_BASE].ns > 0, y->time[TP_DIFF_BASE].ns > 0};
	const bool is_now[2] = {x->time[TP_DIFF_NOW].ns > 0, y->time[TP_DIFF_NOW].ns > 0};

	return is_base[0] != is_now[0] && is_base[1] != is_now[1] && is_base[0] != is_base[1] &&
	       !compare_functions(x, y) && !strcmp(tp_show_base(x->file), tp_show_base(y->file));
}

/* Of the lines of a function those that have most more, and most less. */
static void choose_lines(struct tp_diff_function *to, const struct tp_diff_function *from)
{
	if (from->more_ns > to->more_ns) {
		to->more_ns = from->more_ns;
		to->more_line = from->more_line;
	}
	if (from->less_ns > to->less_ns) {
		to->less_ns = from->less_ns;
		to->less_line = from->less_line;
	}
}

/* Rows that are the same become the first of them. */
static void fold(struct list *list,
		 bool (*is_same)(const struct tp_diff_function *, const struct tp_diff_function *))
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < list->n; i++) {
		struct tp_diff_function *to = kept ? &list->row[kept - 1] : NULL;

		if (!to || !is_same(to, &list->row[i])) {
			list->row[kept++] = list->row[i];
			continue;
		}
		/* Of one that moved the place where it is now. */
		if (list->row[i].time[TP_DIFF_NOW].ns > 0)
			to->file = list->row[i].file;
		for (uint32_t which = 0; which < 2; which++) {
			to->time[which].ns += list->row[i].time[which].ns;
			to->time[which].wait_ns += list->row[i].time[which].wait_ns;
			to->time[which].n_samples += list->row[i].time[which].n_samples;
		}
		choose_lines(to, &list->row[i]);
	}
	list->n = kept;
}

static double change_of(const struct tp_diff_function *row)
{
	return row->time[TP_DIFF_NOW].ns - row->time[TP_DIFF_BASE].ns;
}

static int compare_changes(const void *a, const void *b)
{
	const double x = fabs(change_of(a)), y = fabs(change_of(b));

	return x != y ? (x < y ? 1 : -1) : compare_lines(a, b);
}

/* Functions whose lines are in both runs, but for little: nothing moved, they compare one by one. */
static void keep_lines(struct list *list)
{
	for (uint32_t i = 0, end; i < list->n; i = end) {
		double all = 0, moved = 0;

		for (end = i; end < list->n && is_of_function(&list->row[i], &list->row[end]); end++) {
			const struct tp_diff_time *time = list->row[end].time;

			all += time[TP_DIFF_BASE].ns + time[TP_DIFF_NOW].ns;
			if (!(time[TP_DIFF_BASE].ns > 0) || !(time[TP_DIFF_NOW].ns > 0))
				moved += time[TP_DIFF_BASE].ns + time[TP_DIFF_NOW].ns;
		}
		for (uint32_t k = i; k < end; k++)
			list->row[k].is_line = moved * 100 <= all * MOVED_PERCENT;
	}
}

static const double GONE_NS = 1e18;	/* less than any other line's */

/* A line that is there no longer stands for a function only when all of it is gone; one that is new, where
 * the function takes less, behind those that are in both. */
static void weigh_line(struct tp_diff_function *row)
{
	const double base = row->time[TP_DIFF_BASE].ns, now = row->time[TP_DIFF_NOW].ns;

	row->more_line = row->less_line = row->line;
	row->more_ns = now > 0 ? now - base : base - GONE_NS;
	row->less_ns = !(now > 0) ? row->more_ns : base > 0 ? base - now : now - GONE_NS / 2;
}

static struct tp_diff_function *join(struct list *list, bool has_lines, uint32_t *n)
{
	if (list->n)
		qsort(list->row, list->n, sizeof(*list->row), compare_lines);
	fold(list, is_same_line);
	if (has_lines)
		keep_lines(list);
	for (uint32_t i = 0; i < list->n; i++)
		weigh_line(&list->row[i]);
	fold(list, is_same_function);
	fold(list, is_moved_function);
	for (uint32_t i = 0; i < list->n; i++)
		list->row[i].line = change_of(&list->row[i]) < 0 ? list->row[i].less_line
								 : list->row[i].more_line;
	if (list->n)
		qsort(list->row, list->n, sizeof(*list->row), compare_changes);
	*n = list->n;
	return list->row;
}

/* ---- by samples ---- */

static bool is_wanted(enum tp_samples_where where, enum tp_diff_samples which)
{
	switch (where) {
	case TP_SAMPLES_WORKER:
		return which == TP_DIFF_WORKERS;
	case TP_SAMPLES_OPERATOR:
		return which == TP_DIFF_STEPS;
	case TP_SAMPLES_GAP:
	case TP_SAMPLES_DATA:
		return which != TP_DIFF_WORKERS;
	default:
		return false;
	}
}

struct tp_diff_function *tp_diff_functions(const struct tp_diff_side *base, const struct tp_diff_side *now,
					   enum tp_diff_samples which, uint32_t *n)
{
	const struct tp_diff_side *side[2] = {[TP_DIFF_BASE] = base, [TP_DIFF_NOW] = now};
	struct list list = {.n = 0};

	for (uint32_t k = 0; k < 2; k++) {
		const struct tp_sample_owners *owners = side[k]->overview->owners;

		for (uint32_t i = 0; i < owners->n_rows; i++) {
			const struct tp_sample_owner *owner = &owners->row[i];
			struct tp_diff_function *row;

			if (!is_wanted(owner->where, which) || !owner->frame.function[0])
				continue;
			row = add(&list, &owner->frame);
			row->time[k].ns = tp_diff_per_step(side[k], owner->sum.ns);
			row->time[k].n_samples = owner->sum.n;
		}
	}
	return join(&list, false, n);
}

bool tp_diff_is_certain(const struct tp_diff_function *row)
{
	double variance = 0;
	uint64_t most = 0;

	/* n samples are off by their root, more or less. */
	for (uint32_t k = 0; k < 2; k++) {
		const uint64_t n_samples = row->time[k].n_samples;

		if (n_samples)
			variance += row->time[k].ns * row->time[k].ns / (double)n_samples;
		most = n_samples > most ? n_samples : most;
	}
	return most >= LEAST_SAMPLES && change_of(row) * change_of(row) > 9 * variance;
}

/* ---- by source lines ---- */

struct tp_diff_function *tp_diff_lines(const struct tp_diff_side *base, const struct tp_diff_side *now,
				       bool has_gaps, uint32_t *n)
{
	const struct tp_diff_side *side[2] = {[TP_DIFF_BASE] = base, [TP_DIFF_NOW] = now};
	struct list list = {.n = 0};

	for (uint32_t k = 0; k < 2; k++) {
		const struct tp_sites *sites = side[k]->overview->sites;
		uint32_t n_sites;
		struct tp_site *site = tp_sites_lines(sites, NULL, &n_sites);

		for (uint32_t i = 0; i < n_sites; i++) {
			const int64_t *figure = site[i].figure;
			struct tp_diff_function *row;
			struct tp_frame frame;

			if (!tp_hostmem_find_line(tp_sites_stacks(sites), site[i].of_stack, &frame))
				continue;
			row = add(&list, &frame);
			row->time[k].ns = tp_diff_per_step(side[k], tp_add(figure[TP_SITE_TIME],
								   has_gaps ? figure[TP_SITE_GAP] : 0));
			row->time[k].wait_ns = tp_diff_per_step(side[k], figure[TP_SITE_WAIT]);
		}
		free(site);
	}
	return join(&list, true, n);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites_lines.c - part of sites.h: which line each row is of, and rows summed up by line
 */
#include "merge/facts/code/sites_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/facts/code/load_stage.h"
#include "merge/facts/origin/hostmem_frames.h"
#include "merge/facts/origin/module_origin.h"
#include "merge/kit/grow.h"
#include "merge/kit/keyed.h"
#include "merge/kit/sum.h"
#include "runtime/base/hash.h"
#include "runtime/base/own_python.h"

enum {
	PLACE_MAX = 300,
	FRAMES_LOOKED_AT = 64,
	FORWARDS = 16,	/* lines of forward passes that are passed over */
};

/* ---- which line ---- */

/* The line's number plus one, made when it is new; 0: out of memory. */
static uint32_t find_line(struct tp_sites *sites, struct tp_keyed *keyed, const char *place)
{
	uint32_t hash = tp_keyed_hash(tp_hash_bytes(place, strlen(place), 0)), at;

	for (uint32_t i = tp_keyed_first(keyed, hash, &at); i != TP_NO_KEYED;
	     i = tp_keyed_next(keyed, hash, &at))
		if (!strcmp(sites->place[i], place))
			return i + 1;
	if (!tp_grow(&sites->place, &sites->cap_lines, (uint64_t)sites->n_lines + 1,
		     sizeof(*sites->place)))
		return 0;
	sites->place[sites->n_lines] = strdup(place);
	if (!sites->place[sites->n_lines])
		return 0;
	/* Counted first: it is freed in any case. */
	sites->n_lines++;
	return tp_keyed_add(keyed, hash, sites->n_lines - 1) ? sites->n_lines : 0;
}

/* Python's copy.deepcopy() is in the stack. */
static bool is_deep_copy(const struct tp_frame *frame, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const char *slash = strrchr(frame[i].file, '/');

		if (frame[i].is_python && !strcmp(frame[i].function, "deepcopy") && slash &&
		    !strcmp(slash, "/copy.py"))
			return true;
	}
	return false;
}

/* Layers that torch calls one after the other, each once: no loop of the program's. What makes their weights
 * anew (spectral_norm) may be one. */
static bool is_in_container(const struct tp_frame *frame, uint32_t n)
{
	for (uint32_t i = 0; i < n && !tp_own_python(frame[i].file); i++) {
		if (!frame[i].is_python)
			continue;
		if (strstr(frame[i].file, "/torch/nn/utils/"))
			return false;
		if (strstr(frame[i].file, "/torch/nn/modules/container.py"))
			return true;
	}
	return false;
}

/* All that such a copy does is copying, also what is between its operators. */
static void count_deep_copy(struct tp_sites_row *row)
{
	int64_t ns = tp_add(row->figure[TP_SITE_TIME],
			    tp_sub(row->figure[TP_SITE_GAP], row->figure[TP_SITE_LONG]));

	if (ns > row->figure[TP_SITE_COPIES])
		row->figure[TP_SITE_COPIES] = ns;
}

static void count_layers(struct tp_sites_row *row)
{
	row->figure[TP_SITE_LAYERS] = tp_sub(row->figure[TP_SITE_CALLS], row->figure[TP_SITE_NODES]);
}

/* What the stack says of the row beside its line. */
static void count_by_stack(const struct tp_stacks *stacks, struct tp_sites_row *row)
{
	struct tp_frame frame[FRAMES_LOOKED_AT];
	uint32_t n = tp_stacks_frames(stacks, row->stack, frame, FRAMES_LOOKED_AT);

	n = n < FRAMES_LOOKED_AT ? n : FRAMES_LOOKED_AT;
	if (is_deep_copy(frame, n))
		count_deep_copy(row);
	if (is_in_container(frame, n))
		count_layers(row);
}

/* A permutation that a dataset or what makes batches asks for (ColorJitter, masks) is no order of samples. */
static void check_order(const struct tp_stacks *stacks, struct tp_sites_row *row)
{
	struct tp_frame frame[FRAMES_LOOKED_AT];
	uint32_t n = tp_stacks_frames(stacks, row->stack, frame, FRAMES_LOOKED_AT);
	enum tp_load_stage stage = tp_load_stage_of(frame, n < FRAMES_LOOKED_AT ? n : FRAMES_LOOKED_AT);

	if (stage == TP_LOAD_FETCH || stage == TP_LOAD_COLLATE)
		row->figure[TP_SITE_EPOCHS] = 0;
}

void tp_sites_find_lines(void *state)
{
	struct tp_sites *sites = state;
	struct tp_stacks *stacks = tp_origins_stacks(sites->origins);
	struct tp_keyed keyed = {.n = 0};
	uint8_t *wanted = calloc(tp_stacks_count(stacks) + 1, 1);
	char place[PLACE_MAX];
	bool is_good = wanted != NULL;

	for (uint32_t i = 0; is_good && i < sites->n_rows; i++)
		wanted[sites->row[i].stack] = 1;
	is_good = is_good && !tp_stacks_resolve(stacks, wanted);
	for (uint32_t i = 0; is_good && i < sites->n_rows; i++) {
		if (sites->row[i].figure[TP_SITE_EPOCHS])
			check_order(stacks, &sites->row[i]);
		if (!tp_hostmem_show_line(stacks, sites->row[i].stack, TP_HOSTMEM_LONG, place,
					  PLACE_MAX))
			continue;
		sites->row[i].line = find_line(sites, &keyed, place);
		is_good = sites->row[i].line != 0;
		count_by_stack(stacks, &sites->row[i]);
	}
	if (is_good)
		tp_sites_charge_inner(sites);
	tp_keyed_free(&keyed);
	free(wanted);
	sites->is_incomplete = !is_good;
	if (!is_good)
		sites->n_rows = 0;
}

/* ---- sums ---- */

struct tp_site *tp_sites_lines(const struct tp_sites *sites, const struct tp_proc *proc, uint32_t *n)
{
	struct tp_site *line = calloc(sites->n_lines + 1, sizeof(*line));

	*n = line ? sites->n_lines : 0;
	for (uint32_t i = 0; line && i < sites->n_rows; i++) {
		const struct tp_sites_row *row = &sites->row[i];

		if (!row->line || (proc && row->proc != proc->at))
			continue;
		line[row->line - 1].of_stack = row->stack;
		if (row->longest_ns > line[row->line - 1].longest_ns && row->before &&
		    sites->row[row->before - 1].line) {
			line[row->line - 1].longest_ns = row->longest_ns;
			line[row->line - 1].stack = row->stack;
			line[row->line - 1].before_stack = sites->row[row->before - 1].stack;
			line[row->line - 1].before =
				sites->place[sites->row[row->before - 1].line - 1];
		}
		for (uint32_t k = 0; k < TP_SITE_N; k++)
			line[row->line - 1].figure[k] =
				tp_add(line[row->line - 1].figure[k], row->figure[k]);
	}
	for (uint32_t i = 0; line && i < sites->n_lines; i++)
		line[i].place = sites->place[i];
	return line;
}

uint32_t tp_sites_top(const struct tp_sites *sites, const struct tp_proc *proc,
		      enum tp_site_figure by, struct tp_site *site, uint32_t max)
{
	uint32_t n_lines, n = 0;
	struct tp_site *line = tp_sites_lines(sites, proc, &n_lines);

	for (uint32_t i = 0; i < n_lines; i++) {
		uint32_t at = n;

		if (line[i].figure[by] <= 0)
			continue;
		while (at > 0 && site[at - 1].figure[by] < line[i].figure[by])
			at--;
		if (at == max)
			continue;
		if (n < max)
			n++;
		memmove(site + at + 1, site + at, (n - at - 1) * sizeof(*site));
		site[at] = line[i];
	}
	free(line);
	return n;
}

int64_t tp_sites_sum(const struct tp_sites *sites, enum tp_site_figure figure)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < sites->n_rows; i++)
		if (sites->row[i].line)
			sum = tp_add(sum, sites->row[i].figure[figure]);
	return sum;
}

uint32_t tp_sites_held(const struct tp_sites *sites, uint32_t *n_stacks)
{
	uint32_t n = 0;

	*n_stacks = 0;
	for (uint32_t i = 0; i < sites->n_rows; i++) {
		n += sites->row[i].n_held;
		*n_stacks += sites->row[i].n_held != 0;
	}
	return n;
}

static int64_t spent(const struct tp_site *line)
{
	return tp_add(line->figure[TP_SITE_TIME], line->figure[TP_SITE_GAP]);
}

bool tp_sites_excess(const struct tp_sites *sites, const struct tp_proc *proc,
		     struct tp_site *site, int64_t *more_ns)
{
	uint32_t n_all, n_own;
	struct tp_site *all = tp_sites_lines(sites, NULL, &n_all), *own = tp_sites_lines(sites, proc, &n_own);
	int64_t others = sites->n_with_rows > 1 ? sites->n_with_rows - 1 : 1;

	*more_ns = 0;
	for (uint32_t i = 0; i < n_all && i < n_own; i++) {
		int64_t rest = tp_sub(spent(&all[i]), spent(&own[i])) / others;
		int64_t more = tp_sub(spent(&own[i]), rest);

		if (more <= *more_ns)
			continue;
		*more_ns = more;
		*site = own[i];
	}
	free(all);
	free(own);
	return *more_ns > 0;
}

bool tp_sites_is_same_function(const struct tp_site *site, const struct tp_site *other)
{
	const char *a = site->place, *b = other->place;
	const char *a_function = strrchr(a, ' '), *b_function = strrchr(b, ' ');
	size_t n = 0;

	if (!a_function || !b_function || strcmp(a_function, b_function) != 0)
		return false;
	while (a[n] && a[n] == b[n])
		n++;
	while (n && a[n - 1] >= '0' && a[n - 1] <= '9')
		n--;
	return a + n >= a_function || (n && a[n - 1] == ':');
}

static bool learns(const struct tp_site *line)
{
	return line->figure[TP_SITE_LEARNING] > 0 || line->figure[TP_SITE_GRAD_CALLS] > 0 ||
	       line->figure[TP_SITE_NO_GRAD_CALLS] > 0;
}

/* Of a module that has layers: it makes what they are given. */
static bool is_in_forward(const struct tp_sites *sites, const struct tp_site *of, const struct tp_site *line,
			  uint32_t n)
{
	struct tp_frame frame;
	bool has_layers = false;

	if (!tp_hostmem_find_line(tp_sites_stacks(sites), of->of_stack, &frame) ||
	    !tp_frame_is_called(&frame, "forward"))
		return false;
	for (uint32_t i = 0; i < n && !has_layers; i++)
		has_layers = learns(&line[i]) && tp_sites_is_same_function(&line[i], of);
	return has_layers;
}

/* The one that takes most of those that take less than `below`, and nothing is learned by. */
static const struct tp_site *find_extra(const struct tp_site *line, uint32_t n, int64_t below)
{
	const struct tp_site *most = NULL;

	for (uint32_t i = 0; i < n; i++)
		if (!learns(&line[i]) && line[i].figure[TP_SITE_TRAINER] < below &&
		    (!most || line[i].figure[TP_SITE_TRAINER] > most->figure[TP_SITE_TRAINER]))
			most = &line[i];
	return most;
}

int64_t tp_sites_extra(const struct tp_sites *sites, char *place, size_t cap)
{
	uint32_t n;
	struct tp_site *line = tp_sites_lines(sites, NULL, &n);
	/* What learns may be a function of the program's else. */
	const struct tp_site *most = sites->has_optimizer ? find_extra(line, n, INT64_MAX) : NULL;
	uint32_t n_left = FORWARDS;
	int64_t sum = 0;

	while (most && is_in_forward(sites, most, line, n))
		most = n_left-- ? find_extra(line, n, most->figure[TP_SITE_TRAINER]) : NULL;
	for (uint32_t i = 0; most && i < n; i++)
		if (!learns(&line[i]) && tp_sites_is_same_function(&line[i], most))
			sum = tp_add(sum, line[i].figure[TP_SITE_TRAINER]);
	if (most)
		snprintf(place, cap, "%s", most->place);
	free(line);
	return sum;
}

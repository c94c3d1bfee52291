/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites_lines.c - part of sites.h: rows by process and stack summed up by source line
 */
#include "merge/facts/code/sites_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/sum.h"

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

int64_t tp_sites_extra(const struct tp_sites *sites, char *place, size_t cap)
{
	uint32_t n;
	struct tp_site *line = tp_sites_lines(sites, NULL, &n);
	const struct tp_site *most = NULL;
	int64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		if (!learns(&line[i]) &&
		    (!most || line[i].figure[TP_SITE_TRAINER] > most->figure[TP_SITE_TRAINER]))
			most = &line[i];
	for (uint32_t i = 0; most && i < n; i++)
		if (!learns(&line[i]) && tp_sites_is_same_function(&line[i], most))
			sum = tp_add(sum, line[i].figure[TP_SITE_TRAINER]);
	if (most)
		snprintf(place, cap, "%s", most->place);
	free(line);
	return sum;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites_inside.c - part of sites.h: what a line of the user's calls, by the stacks of its operators
 */
#include "merge/facts/code/sites_in.h"

#include <string.h>

#include "merge/facts/code/inside.h"
#include "merge/facts/origin/hostmem_frames.h"
#include "merge/kit/sum.h"
#include "runtime/base/own_python.h"

enum { FRAMES = 256 };

bool tp_sites_is_through_package(const struct tp_frame *frame, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (frame[i].is_python && tp_own_python_is_package(frame[i].file))
			return true;
	return false;
}

/* Torch asks for them to cut a model's parameters into parts of the ranks, and to put these together: for
 * each parameter, and nobody can have it otherwise. */
static bool is_sharding(const struct tp_frame *frame, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!frame[i].is_python)
			continue;
		if (strstr(frame[i].file, "/torch/distributed/fsdp/"))
			return true;
		if (!strstr(frame[i].file, "/torch/") || strstr(frame[i].file, "/torch/nn/"))
			return false;
	}
	return false;
}

/* Less than `least` by code of a library's are no loop. */
static bool is_no_loop(const struct tp_sites_row *row, int64_t least, const struct tp_frame *frame,
		       uint32_t n)
{
	return (row->figure[TP_SITE_CALLS] < least && tp_sites_is_through_package(frame, n)) ||
	       is_sharding(frame, n);
}

/* What the user's line calls, in the row's stack, innermost first. 0: it is not of the line, or does not
 * count. */
static uint32_t read_called(const struct tp_sites *sites, const struct tp_site *line,
			    const struct tp_sites_row *row, struct tp_frame frame[FRAMES])
{
	uint32_t n;

	if (!row->line || sites->place[row->line - 1] != line->place)
		return 0;
	n = tp_stacks_frames(tp_sites_stacks(sites), row->stack, frame, FRAMES);
	n = tp_hostmem_telling_frame(frame, n < FRAMES ? n : FRAMES);
	return line->least_calls && is_no_loop(row, line->least_calls, frame, n) ? 0 : n;
}

int64_t tp_sites_calls_by(const struct tp_sites *sites, const struct tp_site *line, tp_sites_choose *choose)
{
	struct tp_frame frame[FRAMES];
	int64_t calls = 0;

	for (uint32_t i = 0; i < sites->n_rows; i++) {
		const uint32_t n = read_called(sites, line, &sites->row[i], frame);

		if (n && choose(frame, n))
			calls = tp_add(calls, sites->row[i].figure[TP_SITE_CALLS]);
	}
	return calls;
}

void tp_sites_keep_loops(const struct tp_sites *sites, struct tp_site *line, uint64_t n_steps,
			 uint32_t times)
{
	const uint64_t own_steps = sites->n_with_rows ? n_steps / sites->n_with_rows : n_steps;
	const int64_t least = own_steps < INT64_MAX / times ? (int64_t)own_steps * times : INT64_MAX;
	struct tp_frame frame[FRAMES];

	for (uint32_t i = 0; i < sites->n_rows; i++) {
		const struct tp_sites_row *row = &sites->row[i];
		const uint32_t n = read_called(sites, line, row, frame);

		if (!n || !is_no_loop(row, least, frame, n))
			continue;
		for (uint32_t k = 0; k < TP_SITE_N; k++)
			line->figure[k] = tp_sub(line->figure[k], row->figure[k]);
	}
	line->least_calls = least;
}

bool tp_sites_inside(const struct tp_sites *sites, const struct tp_proc *proc, const struct tp_site *line,
		     enum tp_site_figure by, char *buf, uint32_t cap)
{
	const struct tp_inside_row *most = NULL;
	const int64_t all = line->figure[by];
	struct tp_inside inside = {.row = NULL};
	struct tp_frame frame[FRAMES];

	for (uint32_t i = 0; i < sites->n_rows && all > 0; i++) {
		const int64_t part = sites->row[i].figure[by];

		if (part > 0 && (!proc || sites->row[i].proc == proc->at))
			tp_inside_add(&inside, 0, i, frame, read_called(sites, line, &sites->row[i], frame),
				      TP_INSIDE_PUBLIC, (uint64_t)part);
	}
	for (uint32_t i = 0; i < inside.n_rows; i++)
		most = tp_inside_better(&inside.row[i], most, (uint64_t)all);
	if (most)
		tp_hostmem_show_frame(buf, cap, &most->frame, TP_HOSTMEM_LONG);
	tp_inside_free(&inside);
	return most;
}

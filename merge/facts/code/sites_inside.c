/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites_inside.c - part of sites.h: what a line of the user's calls, by the stacks of its operators
 */
#include "merge/facts/code/sites_in.h"

#include "merge/facts/code/inside.h"
#include "merge/facts/origin/hostmem_frames.h"
#include "merge/kit/sum.h"

enum { FRAMES = 256 };

/* What the user's line calls, in the row's stack, innermost first. 0: it is not of the line. */
static uint32_t read_called(const struct tp_sites *sites, const struct tp_site *line,
			    const struct tp_sites_row *row, struct tp_frame frame[FRAMES])
{
	uint32_t n;

	if (!row->line || sites->place[row->line - 1] != line->place)
		return 0;
	n = tp_stacks_frames(tp_sites_stacks(sites), row->stack, frame, FRAMES);
	return tp_hostmem_telling_frame(frame, n < FRAMES ? n : FRAMES);
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
				      (uint64_t)part);
	}
	for (uint32_t i = 0; i < inside.n_rows; i++)
		most = tp_inside_better(&inside.row[i], most, (uint64_t)all);
	if (most)
		tp_hostmem_show_frame(buf, cap, &most->frame, TP_HOSTMEM_LONG);
	tp_inside_free(&inside);
	return most;
}

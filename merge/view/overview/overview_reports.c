/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_reports.c - part of the overview: the run hung, or had no memory left, and why
 */
#include "merge/view/overview/overview.h"

#include "merge/model/hangs.h"

enum { OOMS = 3 };	/* that are shown */

struct lines {
	struct tp_out *out;
	const char *label;
	uint32_t *n_all;	/* of both kinds */
	uint32_t n;
};

static void say_line(void *ctx, const char *line)
{
	struct lines *lines = ctx;

	if (!*lines->n_all)
		tp_out_title(lines->out, "What went wrong");
	++*lines->n_all;
	tp_out_item(lines->out, "red", TP_OVERVIEW_LABEL, lines->n++ ? "" : lines->label, "%s", line);
}

void tp_overview_print_reports(const struct tp_run *run, struct tp_out *out)
{
	uint32_t n = 0;
	struct lines hangs = {out, "HANG", &n, 0}, ooms = {out, "MEMORY", &n, 0};

	if (tp_hangs_say(run, say_line, &hangs))
		tp_out_item(out, "dim", TP_OVERVIEW_LABEL, "", "where each process stood: -v health");
	if (tp_ooms_say(run, OOMS, say_line, &ooms))
		tp_out_item(out, "dim", TP_OVERVIEW_LABEL, "", "%s", run->n_windows
			    ? "memory of recorded steps by category and line: -v memory, -f memviz"
			    : "the steps before it are recorded with TRAINPROF_RECORDER=steps=8");
	if (run->n_ooms > OOMS)
		tp_out_item(out, "dim", TP_OVERVIEW_LABEL, "", "%u more: -v health", run->n_ooms - OOMS);
}

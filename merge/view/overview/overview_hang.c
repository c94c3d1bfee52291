/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_hang.c - part of the overview: the run hung, and why
 */
#include "merge/view/overview/overview.h"

#include "merge/model/hangs.h"

struct lines {
	struct tp_out *out;
	uint32_t n;
};

static void say_line(void *ctx, const char *line)
{
	struct lines *lines = ctx;

	tp_out_item(lines->out, "red", TP_OVERVIEW_LABEL, lines->n++ ? "" : "HANG", "%s", line);
}

void tp_overview_print_hangs(const struct tp_run *run, struct tp_out *out)
{
	struct lines lines = {out, 0};

	if (tp_hangs_say(run, say_line, &lines))
		tp_out_item(out, "dim", TP_OVERVIEW_LABEL, "", "where each process stood: -v health");
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_lines.c - part of the overview: the lines of the program's own code that take most
 */
#include "merge/view/overview/overview.h"

#include "merge/kit/sum.h"

enum { LINES_SHOWN = 5, LINES_ROWS = 200 };

struct shown {
	bool has_cuda;
};

static void put_columns(struct tp_row *r, const void *ctx, const void *of)
{
	const struct shown *shown = ctx;
	const struct tp_site *site = of;

	TP_PLACE(r, "line", "", TP_CUT | TP_INSET, "source line", "%s", site->place);
	TP_NS(r, "time_ns", "operators", 0, "time of operators called from it", site->figure[TP_SITE_TIME]);
	TP_NS(r, "gap_ns", "gap before", TP_LESS(1), "time before them outside operators",
	      site->figure[TP_SITE_GAP]);
	TP_COUNT(r, "calls", "calls", 0, "number of calls", (uint64_t)site->figure[TP_SITE_CALLS]);
	TP_WHEN(r, shown->has_cuda) {
		TP_NS(r, "idle_ns", "GPU idle", TP_LESS(1), "GPU idle time, waiting for work launched by the line",
		      site->figure[TP_SITE_IDLE]);
		TP_NS(r, "wait_ns", "waits", TP_LESS(2), "time in synchronisation with devices",
		      site->figure[TP_SITE_WAIT]);
		TP_COUNT(r, "launches", "launches", TP_LESS(3), "launches of work on devices",
			 (uint64_t)site->figure[TP_SITE_LAUNCHES]);
	}
}

const struct tp_table_def tp_table_lines = {
	.name = "lines", .columns = put_columns,
	.help = "source lines by the time of their operators",
};

void tp_overview_print_lines(const struct tp_overview *overview, struct tp_out *out)
{
	static struct tp_site site[LINES_ROWS];
	uint32_t n = tp_sites_top(overview->sites, NULL, TP_SITE_TIME, site,
				  tp_out_is_full(out) ? LINES_ROWS : LINES_SHOWN);
	struct shown shown = {.has_cuda = out->rows != TP_ROWS_NONE};

	if (!n)
		return;
	for (uint32_t i = 0; i < n; i++)
		shown.has_cuda |= site[i].figure[TP_SITE_WAIT] || site[i].figure[TP_SITE_LAUNCHES];
	tp_out_title(out, "Which source lines take most, by the time of their operators");
	tp_table_show(&tp_table_lines, &shown, site, n, sizeof(site[0]), TP_TOP_ASKED, out);
}

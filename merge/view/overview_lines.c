/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_lines.c - part of the overview: the lines of the program's own code that take most
 */
#include "merge/facts/program/overview.h"

#include "merge/kit/sum.h"

enum { LINES_SHOWN = 5, LINES_ROWS = 200, CUDA_COLUMNS = 2 };

void tp_overview_print_lines(const struct tp_overview *overview, struct tp_out *out)
{
	static const struct tp_old_column column[] = {
	    {.title = "", .may_cut = true, .field = "line"},
	    {.title = "operators", .align = TP_RIGHT, .field = "time_ns"},
	    {.title = "before", .align = TP_RIGHT, .field = "gap_ns", .is_extra = 1},
	    {.title = "calls", .align = TP_RIGHT, .field = "calls"},
	    {.title = "waits", .align = TP_RIGHT, .field = "wait_ns", .is_extra = 2},
	    {.title = "launches", .align = TP_RIGHT, .field = "launches", .is_extra = 3},
	};
	static struct tp_site site[LINES_ROWS];
	uint32_t n = tp_sites_top(overview->sites, NULL, TP_SITE_TIME, site,
				  tp_out_is_full(out) ? LINES_ROWS : LINES_SHOWN);
	uint32_t n_columns = sizeof(column) / sizeof(column[0]);
	struct tp_old_table *table;
	bool has_cuda = tp_out_is_full(out);

	if (!n)
		return;
	for (uint32_t i = 0; i < n; i++)
		has_cuda |= site[i].figure[TP_SITE_WAIT] || site[i].figure[TP_SITE_LAUNCHES];
	n_columns -= has_cuda ? 0 : CUDA_COLUMNS;
	tp_out_title(out, "Lines of the program whose operators take most");
	table = tp_table_new(column, n_columns);
	tp_table_name(table, "lines");
	for (uint32_t i = 0; i < n; i++) {
		tp_table_cell(table, tp_out_is_full(out) ? "%s" : "  %s", site[i].place);
		tp_cell_ns(table, site[i].figure[TP_SITE_TIME]);
		tp_cell_ns(table, site[i].figure[TP_SITE_GAP]);
		tp_cell_count(table, (uint64_t)site[i].figure[TP_SITE_CALLS]);
		if (!has_cuda)
			continue;
		tp_cell_ns(table, site[i].figure[TP_SITE_WAIT]);
		tp_cell_count(table, (uint64_t)site[i].figure[TP_SITE_LAUNCHES]);
	}
	tp_table_print(table, out);
}

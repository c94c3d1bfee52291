/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_table.c - part of the overview: where every recorded step of every process went, as a
 * table for programs and for the page
 */
#include "merge/facts/program/overview.h"

#include "merge/model/label.h"

void tp_overview_print_all(const struct tp_run *run, const struct tp_overview *overview,
			   const struct tp_overview_sums *sums, struct tp_out *out)
{
	static const char *const field[TP_CAT_N] = {
		[TP_CAT_KERNEL] = "kernel_ns",	 [TP_CAT_MEMCPY] = "memcpy_ns",
		[TP_CAT_MEMSET] = "memset_ns",	 [TP_CAT_COMM] = "communication_ns",
		[TP_CAT_RUNTIME] = "runtime_ns", [TP_CAT_DATA] = "data_ns",
		[TP_CAT_CPU] = "cpu_ns",	 [TP_CAT_OTHER] = "other_ns",
	};
	struct tp_old_column column[TP_CAT_N + 3] = {
		{.title = "process", .field = "process"},
		{.title = "step", .align = TP_RIGHT, .field = "step"},
		{.title = "time", .align = TP_RIGHT, .field = "time_ns"},
	};
	struct tp_old_table *table;
	char who[64];

	if (!tp_out_is_full(out) || !sums->n_steps)
		return;
	for (uint32_t c = 0; c < TP_CAT_N; c++)
		column[c + 3] = (struct tp_old_column){.title = tp_category_name(c), .align = TP_RIGHT,
						   .field = field[c]};
	tp_out_title(out, "Every recorded step");
	table = tp_table_new(column, TP_CAT_N + 3);
	tp_table_name(table, "step_breakdown");
	for (uint32_t i = 0; i < overview->n_procs; i++) {
		const struct tp_breakdown *breakdown = overview->proc[i].breakdown;

		for (uint32_t k = 0; k < breakdown->n_steps; k++) {
			const struct tp_step_time *step = &breakdown->step[k];

			tp_table_cell(table, "%s", tp_label_proc(who, run, run->proc[i]));
			tp_cell_count(table, step->index);
			tp_cell_ns(table, tp_overview_step_ns(step));
			for (uint32_t c = 0; c < TP_CAT_N; c++)
				tp_cell_ns(table, step->ns[c]);
		}
	}
	tp_table_print(table, out);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_table.c - part of the overview: where every recorded step of every process went, as a
 * table for programs and for the page
 */
#include "merge/view/overview/overview.h"

#include "merge/model/label.h"

struct row {
	const struct tp_proc *proc;
	const struct tp_step_time *step;
};

static void put_columns(struct tp_row *r, const void *ctx, const void *of)
{
	static const char *const field[TP_CAT_N] = {
		[TP_CAT_KERNEL] = "kernel_ns",	 [TP_CAT_MEMCPY] = "memcpy_ns",
		[TP_CAT_MEMSET] = "memset_ns",	 [TP_CAT_COMM] = "communication_ns",
		[TP_CAT_RUNTIME] = "runtime_ns", [TP_CAT_DATA] = "data_ns",
		[TP_CAT_CPU] = "cpu_ns",	 [TP_CAT_OTHER] = "other_ns",
	};
	const struct row *row = of;
	char who[64];

	TP_TEXT(r, "process", "process", 0, "rank", "%s", tp_label_proc(who, ctx, row->proc));
	TP_COUNT(r, "step", "step", 0, "number of the step", row->step->index);
	TP_NS(r, "begin_ns", NULL, TP_ROWS_ONLY, "start, on the run's clock", row->step->begin_ns);
	TP_NS(r, "time_ns", "time", 0, "duration", tp_overview_step_ns(row->step));
	for (uint32_t c = 0; c < TP_CAT_N; c++)
		TP_NS(r, field[c], tp_category_name(c), 0, "time in this category", row->step->ns[c]);
}

const struct tp_table_def tp_table_step_breakdown = {
	.name = "step_breakdown", .columns = put_columns, .row_bytes = sizeof(struct row),
	.help = "time of every recorded step of every process, by category",
};

void tp_overview_print_all(const struct tp_run *run, const struct tp_overview *overview,
			   const struct tp_overview_sums *sums, struct tp_out *out)
{
	struct tp_table *table;

	if (!tp_out_is_full(out) || !sums->n_steps)
		return;
	tp_out_title(out, "Where the time of each recorded step goes");
	table = tp_table_begin(&tp_table_step_breakdown, run, TP_TOP_ASKED, out);
	for (uint32_t i = 0; i < overview->n_procs; i++)
		for (uint32_t k = 0; k < overview->proc[i].breakdown->n_steps; k++)
			tp_table_add(table, &(struct row){run->proc[i],
							  &overview->proc[i].breakdown->step[k]});
	tp_table_end(table);
}

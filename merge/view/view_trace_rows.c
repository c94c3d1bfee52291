/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_trace_rows.c - part of the view of a step: all its events, for programs
 */
#include "merge/view/view_trace.h"

#include "merge/kit/sum.h"
#include "merge/model/label.h"
#include "merge/model/shapes.h"

void tp_view_trace_shapes(struct tp_row *r, const struct tp_excerpt_row *row)
{
	char shapes[200];

	if (row && row->shapes)
		tp_row_text(r, "%s", tp_show_shapes(shapes, sizeof(shapes), row->shapes->bytes,
						    row->shapes->n_bytes));
}

struct shown {
	struct tp_excerpt_show *show;
	const struct tp_excerpt_step *step;
};

static void put_row(struct tp_row *r, const void *ctx, const void *of)
{
	const struct shown *shown = ctx;
	const struct tp_excerpt_row *row = of;
	char text[TP_EXCERPT_TEXT];

	TP_CELL(r, "step", "step", TP_UNIT_NUMBER, 0, "number of the step",
		shown->step->is_step ? tp_row_count(r, shown->step->index) : (void)0);
	TP_TEXT(r, "place", "place", 0, "thread, or stream of a device", "%s",
		tp_excerpt_place(text, shown->step->proc, row));
	TP_NUMBER(r, "depth", "depth", 0, "depth: number of events around it", row->depth);
	TP_TEXT(r, "name", "name", 0, "name", "%s",
		tp_excerpt_name(shown->show, text, row, true));
	TP_TEXT(r, "category", "category", 0, "category", "%s", tp_excerpt_category(row));
	TP_NS(r, "begin_ns", "start", 0, "start, since the start of the step",
	      tp_sub(row->begin_ns, shown->step->begin_ns));
	TP_NS(r, "time_ns", "time", 0, "duration", tp_sub(row->end_ns, row->begin_ns));
	TP_NS(r, "device_ns", "GPU", 0, "device time of work launched in it", row->device_ns);
	TP_CELL(r, "delay_ns", "delay", TP_UNIT_NS, 0, "launch delay",
		row->delay_ns >= 0 ? tp_row_integer(r, row->delay_ns) : (void)0);
	TP_CELL(r, "correlation", "correlation", TP_UNIT_NUMBER, 0,
		"correlation id, the same for a call and its work", row->correlation ? tp_row_count(r, row->correlation)
								     : (void)0);
	TP_CELL(r, "shapes", "shapes", TP_UNIT_TEXT, 0, "types and shapes of its inputs",
		tp_view_trace_shapes(r, row));
	TP_TEXT(r, "module", "module", 0, "nn.Module that it belongs to", "%s",
		tp_excerpt_module(shown->show, text, row->path));
	TP_PLACE(r, "line", "line", 0, "source line", "%s",
		 tp_excerpt_line(shown->show, text, row->stack));
}

const struct tp_table_def tp_table_trace = {
	.name = "trace", .columns = put_row, .help = "all events of the step, by thread and stream",
};

void tp_view_trace_rows(struct tp_excerpt_show *show, const struct tp_excerpt *excerpt,
			const struct tp_run *run, uint32_t at, uint32_t top, struct tp_out *out)
{
	const struct shown shown = {show, tp_excerpt_step(excerpt, at)};
	char a[64];

	out->who = tp_label_proc(a, run, shown.step->proc);
	tp_table_show(&tp_table_trace, &shown, tp_excerpt_rows(excerpt) + shown.step->first,
		      shown.step->n, sizeof(struct tp_excerpt_row), top, out);
	out->who = NULL;
}

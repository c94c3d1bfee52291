/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_events.c - events one by one: as they were recorded, spans with what encloses them, device work
 * with what launched it
 */
#include "merge/arrow/raw.h"

#include <stdlib.h>

#include "merge/facts/time/launches.h"
#include "merge/facts/time/spans.h"
#include "merge/kit/need.h"
#include "merge/model/device.h"
#include "runtime/trace/kinds.h"

/* What a row is made of. */
struct piece {
	const struct tp_event *event;
	uint64_t id, parent;			/* of spans; 0: none */
	uint32_t depth;
	const struct tp_launch_call *call;	/* of device work; NULL: not known */
	const char *operator;			/* around that; NULL: none */
};

/* Every kind of table has these. */
static void event_columns(struct tp_row *r, const void *ctx, const void *of)
{
	const struct piece *piece = of;
	const struct tp_event *event = piece ? piece->event : NULL;
	const char *kind = piece ? tp_kind_text(event->kind) : NULL;

	TP_NUMBER(r, "process_at", NULL, 0, "of the table processes", event->proc->at);
	TP_CELL(r, "rank", NULL, TP_UNIT_NUMBER, 0, "rank in the job",
		if (event->proc->rank >= 0) tp_row_integer(r, event->proc->rank));
	TP_NUMBER(r, "pid", NULL, 0, "process id", event->proc->pid);
	TP_CELL(r, "tid", NULL, TP_UNIT_NUMBER, 0, "thread id; none: on a device, or not known",
		if (!event->queue && event->thread->tid) tp_row_integer(r, event->thread->tid));
	TP_NUMBER(r, "window", NULL, 0, "window that recorded it", event->window);
	TP_TEXT(r, "kind", NULL, 0, "what it is: operator, range, kernel...", "%s", *kind ? kind : "?");
	TP_TEXT(r, "name", NULL, 0, "its name", "%s", event->name->kind ? event->name->bytes : "");
	TP_NS(r, "begin_ns", NULL, 0, "when it began, on the run's one clock", event->begin_ns);
	TP_NS(r, "dur_ns", NULL, 0, "how long it took; 0: a moment", event->end_ns - event->begin_ns);
}

static void place_columns(struct tp_row *r, const struct tp_event *event)
{
	TP_CELL(r, "device", NULL, TP_UNIT_NUMBER, 0, "device, by its process's numbering",
		if (event->queue) tp_row_count(r, event->queue->device));
	TP_CELL(r, "stream", NULL, TP_UNIT_NUMBER, 0, "stream of the device",
		if (event->queue) tp_row_count(r, event->queue->stream));
}

static void all_columns(struct tp_row *r, const void *ctx, const void *of)
{
	const struct piece *piece = of;
	const struct tp_event *event = piece ? piece->event : NULL;

	event_columns(r, ctx, of);
	place_columns(r, event);
	TP_NUMBER(r, "arg", NULL, 0, "as in the record: trainprof-trace(5)", event->arg);
	TP_CELL(r, "bytes", NULL, TP_UNIT_BYTES, 0, "of memory records: as in the record",
		if (event->begin_ns == event->end_ns) tp_row_count(r, event->len));
}

static void span_columns(struct tp_row *r, const void *ctx, const void *of)
{
	const struct piece *piece = of;

	event_columns(r, ctx, of);
	TP_NUMBER(r, "id", NULL, 0, "number of the span, from 1 on", piece->id);
	TP_CELL(r, "parent", NULL, TP_UNIT_NUMBER, 0, "the span directly around it; none: outermost",
		if (piece->parent) tp_row_count(r, piece->parent));
	TP_COUNT(r, "depth", NULL, 0, "how many are around it", piece->depth);
}

static void work_columns(struct tp_row *r, const void *ctx, const void *of)
{
	const struct piece *piece = of;
	const struct tp_event *event = piece ? piece->event : NULL;

	event_columns(r, ctx, of);
	place_columns(r, event);
	TP_CELL(r, "launch", NULL, TP_UNIT_TEXT, 0, "the call that started it",
		if (piece->call) tp_row_text(r, "%s", piece->call->name->bytes));
	TP_CELL(r, "launch_ns", NULL, TP_UNIT_NS, 0, "when that began",
		if (piece->call) tp_row_integer(r, piece->call->begin_ns));
	TP_CELL(r, "launch_tid", NULL, TP_UNIT_NUMBER, 0, "thread of that",
		if (piece->call) tp_row_count(r, piece->call->thread->tid));
	TP_CELL(r, "operator", NULL, TP_UNIT_TEXT, 0, "the operator or range directly around that",
		if (piece->operator) tp_row_text(r, "%s", piece->operator));
}

static const struct tp_table_def
	events = {.name = "events", .help = "every record, as it was recorded, by its begin",
		  .columns = all_columns},
	spans = {.name = "spans", .help = "operators, ranges and calls, cut to their window, with what is around",
		 .columns = span_columns},
	kernels = {.name = "kernels", .help = "work of devices, cut to its window, with what launched it",
		   .columns = work_columns};

/* ---- events ---- */

struct rows {
	struct tp_table *table;
	struct tp_spans *spans;
	struct tp_launches *launches;
	uint64_t n_spans;
	uint64_t *id;			/* of open spans, by slot */
	uint32_t cap_id;
	struct tp_launch_notes operator_of;
};

static void begin_rows(struct rows *rows, const struct tp_table_def *def, const void *params)
{
	rows->table = tp_table_begin(def, NULL, 0, ((const struct tp_raw_to *)params)->out);
}

static void end_rows(void *state)
{
	struct rows *rows = state;

	tp_table_end(rows->table);
	rows->table = NULL;
}

static void free_rows(void *state)
{
	struct rows *rows = state;

	free(rows->id);
	tp_launch_notes_free(&rows->operator_of);
}

static void begin_events(void *state, struct tp_facts *facts, const void *params)
{
	begin_rows(state, &events, params);
}

static void take_event(void *state, const struct tp_event *event)
{
	struct rows *rows = state;

	tp_table_add(rows->table, &(struct piece){.event = event});
}

static const struct tp_fact fact_events = {
	.name = "rows of events", .bytes = sizeof(struct rows), .params_bytes = sizeof(struct tp_raw_to),
	.kinds = TP_FACT_ALL_KINDS, .begin = begin_events, .event = take_event, .end = end_rows,
};

const struct tp_raw tp_raw_events = {.def = &events, .fact = &fact_events};

/* ---- spans ---- */

static void begin_spans(void *state, struct tp_facts *facts, const void *params)
{
	struct rows *rows = state;

	begin_rows(rows, &spans, params);
	rows->spans = tp_facts_want(facts, &tp_fact_spans, NULL);
}

static void take_span(void *state, const struct tp_event *event)
{
	struct rows *rows = state;
	const struct tp_nest_span *span = tp_spans_now(rows->spans);
	struct piece piece = {.event = event, .id = ++rows->n_spans};

	if (span) {
		tp_need_room(&rows->id, &rows->cap_id, (uint64_t)span->slot + 1, sizeof(*rows->id));
		rows->id[span->slot] = piece.id;
		piece.depth = span->depth;
		piece.parent = span->depth ? rows->id[span[-1].slot] : 0;
	}
	tp_table_add(rows->table, &piece);
}

static const struct tp_fact fact_span_rows = {
	.name = "rows of spans", .bytes = sizeof(struct rows), .params_bytes = sizeof(struct tp_raw_to),
	.kinds = TP_FACT_KIND(TP_REC_OP) | TP_FACT_KIND(TP_REC_RANGE) | TP_FACT_KIND(TP_REC_CALL),
	.is_cut = true, .begin = begin_spans, .event = take_span, .end = end_rows, .free = free_rows,
};

const struct tp_raw tp_raw_spans = {.def = &spans, .fact = &fact_span_rows};

/* ---- work of devices ---- */

static void take_work(void *state, const struct tp_event *event, struct tp_launch_call *call)
{
	struct rows *rows = state;
	uint32_t noted = tp_launch_noted(&rows->operator_of, call);
	struct tp_names *names = tp_spans_names(rows->spans);

	if (tp_device_is_work(event))
		tp_table_add(rows->table, &(struct piece){.event = event, .call = call,
			.operator = noted ? tp_names_at(names, noted - 1)->bytes : NULL});
}

static void begin_work(void *state, struct tp_facts *facts, const void *params)
{
	struct rows *rows = state;

	begin_rows(rows, &kernels, params);
	rows->spans = tp_facts_want(facts, &tp_fact_spans, NULL);
	rows->launches = tp_facts_want(facts, &tp_fact_launches_cut, NULL);
	tp_launches_read(rows->launches, take_work, NULL, rows);
}

/* What is around a call, remembered until its work comes. */
static void take_call(void *state, const struct tp_event *event)
{
	struct rows *rows = state;
	const struct tp_nest_span *span = tp_spans_now(rows->spans);

	for (uint32_t i = 1; span && i <= span->depth; i++)
		if (span[-(int64_t)i].kind != TP_REC_CALL) {
			tp_launch_note(&rows->operator_of, rows->launches, event,
				       span[-(int64_t)i].name + 1);
			return;
		}
}

static const struct tp_fact fact_work_rows = {
	.name = "rows of device work", .bytes = sizeof(struct rows),
	.params_bytes = sizeof(struct tp_raw_to), .kinds = TP_FACT_KIND(TP_REC_CALL), .is_cut = true,
	.begin = begin_work, .event = take_call, .end = end_rows, .free = free_rows,
};

const struct tp_raw tp_raw_kernels = {.def = &kernels, .fact = &fact_work_rows};

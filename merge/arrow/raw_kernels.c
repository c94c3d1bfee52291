/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_kernels.c - work of devices, with the call and the operator that launched it
 */
#include "merge/arrow/raw.h"
#include "merge/facts/time/launches.h"
#include "merge/facts/program/span_numbers.h"
#include "merge/facts/program/step_now.h"
#include "merge/facts/time/step_times.h"
#include "merge/model/device.h"

struct row {
	struct tp_raw_head head;
	int64_t device, stream, launch_ns, launch_tid, span, step, bytes;
	const char *category, *launch, *operator;
};

static const struct tp_raw_column columns[] = {
	TP_RAW_HEAD(struct row),
	TP_RAW(struct row, device, TP_UNIT_NUMBER, "device, by its process's numbering"),
	TP_RAW(struct row, stream, TP_UNIT_NUMBER, "stream of the device"),
	TP_RAW(struct row, bytes, TP_UNIT_BYTES, "of copies and sets"),
	TP_RAW_NAME(struct row, launch, "the call that started it"),
	TP_RAW(struct row, launch_ns, TP_UNIT_NS, "when that began"),
	TP_RAW(struct row, launch_tid, TP_UNIT_NUMBER, "thread of that"),
	TP_RAW_NAME(struct row, operator, "the operator or range directly around that"),
	TP_RAW(struct row, span, TP_UNIT_NUMBER, "that one, of the table spans"),
	TP_RAW(struct row, step, TP_UNIT_NUMBER, "step of the run in which the call began"),
	TP_RAW_NAME(struct row, category, "what its time counts as in the overview: Kernel, Communication..."),
	{.field = NULL},
};

struct state {
	struct tp_raw_rows *rows;
	struct tp_spans *spans;
	struct tp_launches *launches;
	struct tp_span_numbers *numbers;
	struct tp_step_now *steps;
	/* Of calls, until their work comes; steps plus one. */
	struct tp_launch_notes operator_of, span_of, step_of;
};

static void take_work(void *opaque, const struct tp_event *event, struct tp_launch_call *call)
{
	struct state *state = opaque;
	uint32_t operator = tp_launch_noted(&state->operator_of, call),
		 span = tp_launch_noted(&state->span_of, call), step = tp_launch_noted(&state->step_of, call);

	if (!tp_device_is_work(event))
		return;
	tp_raw_rows_put(state->rows, &(struct row){
		.head = tp_raw_head_of(event), .device = event->queue->device,
		.stream = event->queue->stream,
		.bytes = event->kind == TP_REC_MEMCPY || event->kind == TP_REC_MEMSET ? (int64_t)event->arg :
											TP_RAW_NONE,
		.launch = call ? call->name->bytes : NULL, .launch_ns = call ? call->begin_ns : TP_RAW_NONE,
		.launch_tid = call ? call->thread->tid : TP_RAW_NONE,
		.operator = operator ? tp_names_at(tp_spans_names(state->spans), operator - 1)->bytes : NULL,
		.span = span ? span : TP_RAW_NONE, .step = step ? (int64_t)step - 1 : TP_RAW_NONE,
		.category = tp_category_name(tp_step_times_category(tp_spans_names(state->spans), event)),
	});
}

static void begin_work(void *opaque, struct tp_facts *facts, const void *params)
{
	struct state *state = opaque;

	state->rows = ((const struct tp_raw_to *)params)->rows;
	state->spans = tp_facts_want(facts, &tp_fact_spans, NULL);
	state->numbers = tp_facts_want(facts, &tp_fact_span_numbers, NULL);
	state->steps = tp_facts_want(facts, &tp_fact_step_now_cut, NULL);
	state->launches = tp_facts_want(facts, &tp_fact_launches_cut, NULL);
	state->operator_of = tp_launches_notes(state->launches);
	state->span_of = tp_launches_notes(state->launches);
	state->step_of = tp_launches_notes(state->launches);
	tp_launches_read(state->launches, take_work, NULL, state);
}

/* What is around a call, remembered until its work comes. */
static void take_call(void *opaque, const struct tp_event *event)
{
	struct state *state = opaque;
	const struct tp_nest_span *span = tp_spans_now(state->spans);
	int64_t step = tp_step_now(state->steps, event);

	if (step >= 0)
		tp_launch_note(&state->step_of, event, (uint32_t)step + 1);
	for (uint32_t i = 1; span && i <= span->depth; i++) {
		const struct tp_nest_span *around = span - i;

		if (around->kind == TP_REC_CALL)
			continue;
		tp_launch_note(&state->operator_of, event, around->name + 1);
		tp_launch_note(&state->span_of, event,
			       (uint32_t)tp_span_number(state->numbers, around));
		return;
	}
}

static const struct tp_fact fact = {
	.name = "rows of device work", .bytes = sizeof(struct state),
	.params_bytes = sizeof(struct tp_raw_to), .kinds = TP_FACT_KIND(TP_REC_CALL), .is_cut = true,
	.begin = begin_work, .event = take_call,
};

const struct tp_raw tp_raw_kernels = {
	.name = "kernels", .help = "operations of devices, limited to their window, with the call that launched them",
	.column = columns, .fact = &fact,
};

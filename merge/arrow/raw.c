/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw.c - which tables there are that no view shows, and what rows of events have in common
 */
#include "merge/arrow/raw.h"

#include "runtime/trace/kinds.h"

const struct tp_raw *const tp_raws[] = {
	&tp_raw_processes, &tp_raw_files, &tp_raw_issues, &tp_raw_events, &tp_raw_spans,
	&tp_raw_kernels, &tp_raw_collectives, &tp_raw_tensors, &tp_raw_heap, &tp_raw_samples,
	&tp_raw_counters, &tp_raw_strings, &tp_raw_stacks,
	NULL,
};

const char *tp_raw_kind(uint8_t kind)
{
	const char *text = tp_kind_text(kind);

	return *text ? text : "?";
}

const char *tp_raw_name(const struct tp_string *string)
{
	switch (string->kind) {
	case TP_STRING_TEXT:
	case TP_STRING_OP:
	case TP_STRING_COUNTER:
	case TP_STRING_PYFRAME:
	case TP_STRING_NNMODULE:
		return string->bytes;
	default:
		return "";
	}
}

struct tp_raw_head tp_raw_head_of(const struct tp_event *event)
{
	return (struct tp_raw_head){
		.process_at = event->proc->at, .rank = tp_raw_rank(event->proc), .pid = event->proc->pid,
		.tid = event->queue || !event->thread->tid ? TP_RAW_NONE : event->thread->tid,
		.window = event->window, .kind = tp_raw_kind(event->kind), .name = tp_raw_name(event->name),
		.begin_ns = event->begin_ns, .dur_ns = event->end_ns - event->begin_ns,
	};
}

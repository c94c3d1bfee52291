/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_timeline.c - what the timeline of a step is
 */
#include "merge/facts/program/step_timeline.h"

#include "merge/facts/time/recorded.h"
#include "merge/kit/list.h"
#include "merge/model/device.h"
#include "runtime/trace/kinds.h"

bool tp_step_has_timeline(const struct tp_run *run, const struct tp_step_row *row, const char *steps)
{
	return row->dur_ns > 0 && (!steps || tp_list_has(steps, row->index)) && tp_is_recorded(run, row);
}

int tp_step_compare_slow(const void *a, const void *b)
{
	const struct tp_step_row *const *x = a, *const *y = b;

	if ((*x)->dur_ns != (*y)->dur_ns)
		return (*x)->dur_ns < (*y)->dur_ns ? 1 : -1;
	return (*x > *y) - (*x < *y);
}

bool tp_step_draws(const struct tp_event *event)
{
	switch (event->kind) {
	case TP_REC_OP:
	case TP_REC_RANGE:
	case TP_REC_CALL:
	case TP_REC_COLL:
	case TP_REC_XFER:
	case TP_REC_OVERHEAD:
		return true;
	case TP_REC_SYNC:
		return event->queue != NULL;
	default:
		return tp_device_is_work(event);
	}
}

enum tp_step_lane tp_step_lane_of(const struct tp_event *event)
{
	if (tp_kind_is_nccl(event->kind))
		return TP_LANE_COLL;
	if (tp_kind_is_async(event->kind, event->flags))
		return TP_LANE_ASYNC;
	return event->queue && event->kind != TP_REC_CALL && event->kind != TP_REC_OVERHEAD ?
		       TP_LANE_QUEUE : TP_LANE_THREAD;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw.h - tables that no view shows: who was recorded, what went wrong, and events one by one
 */
#ifndef TP_MERGE_ARROW_RAW_H
#define TP_MERGE_ARROW_RAW_H

#include "merge/model/fact.h"
#include "merge/model/table.h"

struct tp_raw {
	const struct tp_table_def *def;
	/* Of events: a fact that gives a row each to what `params`, a struct tp_raw_to, says. */
	const struct tp_fact *fact;
	/* Of the run, when the events were read. */
	void (*show)(const struct tp_run *run, struct tp_out *out);
};

struct tp_raw_to {
	struct tp_out *out;
};

extern const struct tp_raw tp_raw_processes, tp_raw_issues, tp_raw_events, tp_raw_spans, tp_raw_kernels;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_parts.h - the parts of a step as a training has them: loading data, forward, backward,
 * optimizer; on the host, and the work that each asked devices for
 *
 * On the host one part counts at every moment of a step: the first of the list that goes on on any
 * thread of the process. So the parts add up to the time of the program's own steps. What is
 * computed again inside the backward pass is part of it. Memory: steps, names, open spans, calls.
 */
#ifndef TP_MERGE_STEP_PARTS_H
#define TP_MERGE_STEP_PARTS_H

#include "merge/facts/time/breakdown.h"
#include "merge/model/fact.h"

enum tp_part {
	TP_PART_DATA,
	TP_PART_OPTIMIZER,	/* its step and zero_grad */
	TP_PART_BACKWARD,
	TP_PART_FORWARD,	/* operators that record a graph */
	TP_PART_OPERATORS,	/* others: evaluation, metrics, clipping */
	TP_PART_NONE = TP_CAT_OTHER, /* between operators: never given, only found */
	TP_PARTS
};

const char *tp_part_name(enum tp_part part);

struct tp_step_parts;

extern const struct tp_fact tp_fact_step_parts;

/* Sums over all recorded steps of all processes. */
int64_t tp_step_parts_host_ns(const struct tp_step_parts *parts, enum tp_part part);
int64_t tp_step_parts_device_ns(const struct tp_step_parts *parts, enum tp_part part);
bool tp_step_parts_is_incomplete(const struct tp_step_parts *parts);	/* memory ran out */

#endif

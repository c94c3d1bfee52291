/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_numbers.h - operators, ranges and calls numbered from 1 on, in the order of spans.h, so that
 * several tables name the same one
 *
 * Memory: open spans.
 */
#ifndef TP_MERGE_SPAN_NUMBERS_H
#define TP_MERGE_SPAN_NUMBERS_H

#include "merge/facts/time/spans.h"

struct tp_span_numbers;

extern const struct tp_fact tp_fact_span_numbers;

/* Of the OP, RANGE or CALL that is given now, in the nest or not. */
uint64_t tp_span_number_now(const struct tp_span_numbers *numbers);
/* Of one that is open. */
uint64_t tp_span_number(const struct tp_span_numbers *numbers, const struct tp_nest_span *span);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_numbers.c - operators, ranges and calls numbered from 1 on
 */
#include "merge/facts/program/span_numbers.h"

#include <stdlib.h>

#include "merge/kit/need.h"

struct tp_span_numbers {
	struct tp_spans *spans;
	uint64_t n;
	uint64_t *of;		/* by tp_nest_span.slot */
	uint32_t cap;
};

static void begin_numbers(void *state, struct tp_facts *facts, const void *params)
{
	struct tp_span_numbers *numbers = state;

	numbers->spans = tp_facts_want(facts, &tp_fact_spans, NULL);
}

static void take_span(void *state, const struct tp_event *event)
{
	struct tp_span_numbers *numbers = state;
	const struct tp_nest_span *span = tp_spans_now(numbers->spans);

	numbers->n++;
	if (!span)
		return;
	tp_need_room(&numbers->of, &numbers->cap, (uint64_t)span->slot + 1, sizeof(*numbers->of));
	numbers->of[span->slot] = numbers->n;
}

static void free_numbers(void *state)
{
	struct tp_span_numbers *numbers = state;

	free(numbers->of);
}

uint64_t tp_span_number_now(const struct tp_span_numbers *numbers)
{
	return numbers->n;
}

uint64_t tp_span_number(const struct tp_span_numbers *numbers, const struct tp_nest_span *span)
{
	return numbers->of[span->slot];
}

const struct tp_fact tp_fact_span_numbers = {
	.name = "span numbers", .bytes = sizeof(struct tp_span_numbers),
	.kinds = TP_FACT_KIND(TP_REC_OP) | TP_FACT_KIND(TP_REC_RANGE) | TP_FACT_KIND(TP_REC_CALL),
	.is_cut = true, .begin = begin_numbers, .event = take_span, .free = free_numbers,
};

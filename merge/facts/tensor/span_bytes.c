/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_bytes.c - tensor memory of spans, for all who ask
 */
#include "merge/facts/tensor/span_bytes.h"

#include "merge/facts/tensor/memcurve.h"
#include "merge/facts/time/spans.h"
#include "merge/kit/need.h"

struct tp_span_bytes {
	struct tp_spans *spans;
	struct tp_memcurve *memory;
	bool has_any, has_device;
};

static void begin_bytes(void *state, struct tp_facts *facts, const void *params)
{
	struct tp_span_bytes *bytes = state;

	bytes->spans = tp_facts_want(facts, &tp_fact_spans, NULL);
	bytes->memory = tp_memcurve_new();
	if (!bytes->memory)
		tp_need_failed();
}

static void take_memory(void *state, const struct tp_event *event)
{
	struct tp_span_bytes *bytes = state;
	bool is_device = event->link != TP_DEVICE_CPU;
	int64_t change;

	if (!tp_memcurve_event(bytes->memory, event, &change))
		return;
	bytes->has_any = true;
	bytes->has_device |= is_device;
	if (change)
		tp_spans_bytes(bytes->spans, event, change, is_device);
}

static void free_bytes(void *state)
{
	struct tp_span_bytes *bytes = state;

	tp_memcurve_free(bytes->memory);
}

bool tp_span_bytes_has_any(const struct tp_span_bytes *bytes)
{
	return bytes->has_any;
}

bool tp_span_bytes_has_device(const struct tp_span_bytes *bytes)
{
	return bytes->has_device;
}

uint64_t tp_span_bytes_lost(const struct tp_span_bytes *bytes)
{
	return tp_memcurve_lost(bytes->memory);
}

const struct tp_fact tp_fact_span_bytes = {
	.name = "tensor bytes of spans",
	.bytes = sizeof(struct tp_span_bytes),
	.kinds = TP_FACT_KIND(TP_REC_ALLOC) | TP_FACT_KIND(TP_REC_FREE) |
		 TP_FACT_KIND(TP_REC_TOTALS),
	.is_cut = true,
	.begin = begin_bytes,
	.event = take_memory,
	.free = free_bytes,
};

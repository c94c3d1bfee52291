/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spans.c - which spans of operators, ranges and calls are open on each thread
 */
#include "merge/facts/time/spans.h"

#include <stdlib.h>

#include "merge/kit/need.h"

struct reader {
	tp_nest_close_fn close;
	void *ctx;
};

struct tp_spans {
	struct tp_names *names;
	struct tp_nest *nest;
	const struct tp_nest_span *now;
	struct reader *reader;
	uint32_t n_readers, cap_readers;
};

static void close_span(void *ctx, const struct tp_nest_span *span)
{
	struct tp_spans *spans = ctx;

	for (uint32_t i = 0; i < spans->n_readers; i++)
		spans->reader[i].close(spans->reader[i].ctx, span);
}

/* (The flag of asynchronous spans is another one of calls.) */
static bool is_nested(const struct tp_spans *spans, const struct tp_event *event, uint32_t name)
{
	return !tp_names_at(spans->names, name)->is_private &&
	       (event->kind == TP_REC_CALL || !(event->flags & TP_F_ASYNC));
}

static void take_event(void *state, const struct tp_event *event)
{
	struct tp_spans *spans = state;
	uint32_t name = tp_names_row(spans->names, event);

	spans->now = NULL;
	if (name == TP_NO_NAME)
		tp_need_failed();
	if (!is_nested(spans, event, name))
		return;
	spans->now = tp_nest_span(spans->nest, event, 0, name);
	if (!spans->now)
		tp_need_failed();
}

void tp_spans_read(struct tp_spans *spans, tp_nest_close_fn close, void *ctx)
{
	tp_need_room(&spans->reader, &spans->cap_readers, (uint64_t)spans->n_readers + 1,
		     sizeof(*spans->reader));
	spans->reader[spans->n_readers++] = (struct reader){close, ctx};
}

struct tp_names *tp_spans_names(const struct tp_spans *spans)
{
	return spans->names;
}

const struct tp_nest_span *tp_spans_now(const struct tp_spans *spans)
{
	return spans->now;
}

const struct tp_nest_span *tp_spans_innermost(struct tp_spans *spans, const struct tp_event *event)
{
	uint32_t n;
	const struct tp_nest_span *span = tp_nest_stack(spans->nest, event, &n);

	return n ? span + n - 1 : NULL;
}

void tp_spans_bytes(struct tp_spans *spans, const struct tp_event *event, int64_t bytes, bool is_device)
{
	tp_nest_bytes(spans->nest, event, bytes, is_device);
}

static void begin_spans(void *state, struct tp_facts *facts, const void *params)
{
	struct tp_spans *spans = state;

	spans->names = tp_facts_want(facts, &tp_fact_names, NULL);
	spans->nest = tp_nest_new(close_span, spans);
	if (!spans->nest)
		tp_need_failed();
}

static void end_spans(void *state)
{
	struct tp_spans *spans = state;

	tp_nest_end(spans->nest);
	spans->nest = NULL;
	spans->now = NULL;
}

static void free_spans(void *state)
{
	struct tp_spans *spans = state;

	/* The readers are gone, when the pass was not to its end. */
	spans->n_readers = 0;
	tp_nest_end(spans->nest);
	free(spans->reader);
}

const struct tp_fact tp_fact_spans = {
	.name = "spans",
	.bytes = sizeof(struct tp_spans),
	.kinds = TP_FACT_KIND(TP_REC_OP) | TP_FACT_KIND(TP_REC_RANGE) | TP_FACT_KIND(TP_REC_CALL),
	.is_cut = true,
	.begin = begin_spans,
	.event = take_event,
	.end = end_spans,
	.free = free_spans,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spans.h - which spans of operators, ranges and calls are open on each thread, found once
 *
 * The nest (nest.h) of a run's spans cut to their windows, with rows of tp_fact_names. Not in it:
 * what the profiler of the framework does for itself (tp_name.is_private: its time is its parent's
 * own, as in torch), and operators and ranges that end on another thread.
 *
 * A reader gets an event after the span of it has been opened and those that had ended were closed;
 * what it knows of an open span it keeps in an array of its own, by tp_nest_span.slot, from the
 * event on to `close` (which doesn't come for a span that its parent took in).
 */
#ifndef TP_MERGE_SPANS_H
#define TP_MERGE_SPANS_H

#include "merge/facts/time/names.h"
#include "merge/facts/time/nest.h"
#include "merge/model/fact.h"

struct tp_spans;

extern const struct tp_fact tp_fact_spans;

/* One more reader, any number. All spans are closed when the pass is over. */
void tp_spans_read(struct tp_spans *spans, tp_nest_close_fn close, void *ctx);
struct tp_names *tp_spans_names(const struct tp_spans *spans);

/* Of the OP, RANGE or CALL that is given now; those around it stand before it (tp_nest_span.depth).
 * NULL: it isn't in the nest. */
const struct tp_nest_span *tp_spans_now(const struct tp_spans *spans);
/* The innermost one open on the event's thread at its time, NULL: none. As above. */
const struct tp_nest_span *tp_spans_innermost(struct tp_spans *spans, const struct tp_event *event);
/* Bytes allocated (freed: negative) by the event's thread at its time: tp_nest_span.self_bytes, and
 * self_device_bytes. Of one fact for all readers. */
void tp_spans_bytes(struct tp_spans *spans, const struct tp_event *event, int64_t bytes, bool is_device);

#endif

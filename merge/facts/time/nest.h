/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nest.h - which span encloses which on a thread, and how much time and memory is its own
 *
 * Spans come in begin order, the outer first when two begin together; a span's parent is the
 * one that began last among those of its thread that have not ended. Spans that cross (the
 * child outlives its parent) are counted without counting a nanosecond twice: a child takes
 * from its parent only what lies inside the parent.
 * A span whose only child has its own name (an overload that calls another one) is one span
 * with it: torch's key_averages() counts them so, and a reader wants no operator that
 * mostly calls itself. Memory: the open spans of each thread. Asynchronous spans do not nest:
 * do not give them.
 */
#ifndef TP_MERGE_NEST_H
#define TP_MERGE_NEST_H

#include "merge/model/model.h"

struct tp_nest_span {
	int64_t begin_ns, end_ns;
	int64_t children_ns;	/* of direct children, inside this span */
	int64_t self_bytes;	/* sum of tp_nest_bytes while it was the innermost */
	int64_t child_bytes;	/* the same of all spans inside it */
	int64_t self_device_bytes, child_device_bytes;	/* of these those on devices, not on the host */
	uint32_t row, name;	/* the caller's; equal names: see above */
	/* 0: outermost. Of those around it the next one out stands at span[-1], until something
	 * is given that opens or closes spans. */
	uint32_t depth;
	/* A small number that no other span has until this one is closed, or taken in: what a reader
	 * knows of an open span stands in an array of its own, by it. */
	uint32_t slot;
	uint32_t n_children;
	uint8_t kind;		/* of the event */
	bool holds_child, has_slot;	/* nest.c's own */
};

struct tp_nest;
/* A span has ended: its figures are final. */
typedef void (*tp_nest_close_fn)(void *ctx, const struct tp_nest_span *span);

struct tp_nest *tp_nest_new(tp_nest_close_fn close, void *ctx);
/* The span, open, until the next call; NULL: out of memory, it is not counted. */
const struct tp_nest_span *tp_nest_span(struct tp_nest *nest, const struct tp_event *event,
					uint32_t row, uint32_t name);
/* Bytes allocated (freed: negative) by the event's thread at its time, on a device or on the host. */
void tp_nest_bytes(struct tp_nest *nest, const struct tp_event *event, int64_t bytes, bool is_device);
/* The spans open on the event's thread at its time, outermost first, valid until the next call; *n gets
 * how many. */
const struct tp_nest_span *tp_nest_stack(struct tp_nest *nest, const struct tp_event *event,
					 uint32_t *n);
/* Closes all open spans, then frees. */
void tp_nest_end(struct tp_nest *nest);

static inline int64_t tp_nest_self_ns(const struct tp_nest_span *span)
{
	return span->end_ns - span->begin_ns - span->children_ns;
}

#endif

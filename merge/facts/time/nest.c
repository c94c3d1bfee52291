/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nest.c - which span encloses which on a thread, and how much time and memory is its own
 *
 * A stack per thread, found by process and thread. A span is closed when something of its
 * thread begins at or after its end.
 */
#include "merge/facts/time/nest.h"

#include <stdlib.h>

#include "merge/kit/grow.h"
#include "merge/kit/sum.h"

struct track {
	struct tp_nest_span *span;
	uint32_t n, cap;
};

struct proc_tracks {
	struct track *track; /* by index of the thread in its process */
	uint32_t cap;
};

struct tp_nest {
	tp_nest_close_fn close;
	void *ctx;
	struct proc_tracks *proc; /* by tp_proc.at */
	uint32_t cap_procs;
	uint32_t n_slots;
};

struct tp_nest *tp_nest_new(tp_nest_close_fn close, void *ctx)
{
	struct tp_nest *nest = calloc(1, sizeof(*nest));

	if (nest) {
		nest->close = close;
		nest->ctx = ctx;
	}
	return nest;
}

static struct track *find_track(struct tp_nest *nest, const struct tp_event *event)
{
	struct proc_tracks *tracks;
	uint32_t at = event->proc->at, thread = tp_thread_at(event);

	if (at >= nest->cap_procs &&
	    !tp_grow(&nest->proc, &nest->cap_procs, (uint64_t)at + 1, sizeof(*nest->proc)))
		return NULL;
	tracks = &nest->proc[at];
	if (thread >= tracks->cap && !tp_grow(&tracks->track, &tracks->cap,
					      (uint64_t)thread + 1, sizeof(*tracks->track)))
		return NULL;
	return &tracks->track[thread];
}

/* The only child, of the same name, still stands behind its parent in the stack's memory.
 */
static void take_in_child(struct tp_nest_span *span)
{
	const struct tp_nest_span *child = span + 1;

	span->children_ns = child->children_ns;
	span->self_bytes = tp_add(span->self_bytes, child->self_bytes);
	span->child_bytes = child->child_bytes;
	span->self_device_bytes = tp_add(span->self_device_bytes, child->self_device_bytes);
	span->child_device_bytes = child->child_device_bytes;
	span->n_children = child->n_children;
	span->holds_child = false;
}

static void close_top(struct tp_nest *nest, struct track *track)
{
	struct tp_nest_span *span = &track->span[--track->n], *parent = span - 1;
	int64_t end;

	if (span->holds_child)
		take_in_child(span);
	if (!track->n) {
		nest->close(nest->ctx, span);
		return;
	}
	end = span->end_ns < parent->end_ns ? span->end_ns : parent->end_ns;
	/* Never less than nothing, should events not come in order after all. */
	if (end > span->begin_ns)
		parent->children_ns += end - span->begin_ns;
	parent->child_bytes =
	    tp_add(parent->child_bytes, tp_add(span->self_bytes, span->child_bytes));
	parent->child_device_bytes = tp_add(parent->child_device_bytes,
					    tp_add(span->self_device_bytes, span->child_device_bytes));
	parent->n_children++;
	/* Whether it stays the only one is known when the next child comes or the parent
	 * ends. */
	if (parent->n_children == 1 && parent->name == span->name && end == span->end_ns)
		parent->holds_child = true;
	else
		nest->close(nest->ctx, span);
}

/* Closes what had ended before `now`, or (spans) at it: a span that begins where another
 * one ends is not inside it, a block freed there by the ending span's last act still is. */
static void close_ended(struct tp_nest *nest, struct track *track, int64_t now, bool at_now)
{
	while (track->n) {
		int64_t end = track->span[track->n - 1].end_ns;

		if (end > now || (end == now && !at_now))
			return;
		close_top(nest, track);
	}
}

/* Of a place in a thread's stack, and so of one span at a time: a child that its parent holds is
 * closed before another one stands there. */
static uint32_t slot_of(struct tp_nest *nest, const struct tp_nest_span *place)
{
	return place->has_slot ? place->slot : nest->n_slots++;
}

const struct tp_nest_span *tp_nest_span(struct tp_nest *nest, const struct tp_event *event,
					uint32_t row, uint32_t name)
{
	struct track *track = find_track(nest, event);
	struct tp_nest_span *span;

	if (!track)
		return NULL;
	close_ended(nest, track, event->begin_ns, true);
	if (!tp_grow(&track->span, &track->cap, (uint64_t)track->n + 1,
		     sizeof(*track->span)))
		return NULL;
	span = &track->span[track->n];
	if (track->n && span[-1].holds_child) {
		span[-1].holds_child = false;
		nest->close(nest->ctx, span);
	}
	*span = (struct tp_nest_span){
	    .begin_ns = event->begin_ns,
	    .end_ns = event->end_ns > event->begin_ns ? event->end_ns : event->begin_ns,
	    .row = row,
	    .name = name,
	    .depth = track->n,
	    .slot = slot_of(nest, span),
	    .has_slot = true,
	    .kind = event->kind,
	};
	track->n++;
	return span;
}

void tp_nest_bytes(struct tp_nest *nest, const struct tp_event *event, int64_t bytes, bool is_device)
{
	struct track *track = find_track(nest, event);
	struct tp_nest_span *span;

	if (!track)
		return;
	close_ended(nest, track, event->begin_ns, false);
	if (!track->n)
		return;
	span = &track->span[track->n - 1];
	span->self_bytes = tp_add(span->self_bytes, bytes);
	if (is_device)
		span->self_device_bytes = tp_add(span->self_device_bytes, bytes);
}

const struct tp_nest_span *tp_nest_stack(struct tp_nest *nest, const struct tp_event *event,
					 uint32_t *n)
{
	struct track *track = find_track(nest, event);

	*n = 0;
	if (!track)
		return NULL;
	close_ended(nest, track, event->begin_ns, false);
	*n = track->n;
	return track->span;
}

void tp_nest_end(struct tp_nest *nest)
{
	if (!nest)
		return;
	for (uint32_t p = 0; p < nest->cap_procs; p++) {
		for (uint32_t t = 0; t < nest->proc[p].cap; t++) {
			struct track *track = &nest->proc[p].track[t];

			while (track->n)
				close_top(nest, track);
			free(track->span);
		}
		free(nest->proc[p].track);
	}
	free(nest->proc);
	free(nest);
}

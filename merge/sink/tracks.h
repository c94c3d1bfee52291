/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracks.h - spans of a thread, or of a stream of a device, laid out on tracks on which nothing
 * crosses
 *
 * Viewers draw a track as a stack and drop spans that cross another by a nanosecond, silently.
 * What is synchronous nests by itself. The rest goes to further tracks of the same thread or
 * stream; spans that overlap their parent's end by no more than a clock's jitter are cut to it.
 */
#ifndef TP_MERGE_TRACKS_H
#define TP_MERGE_TRACKS_H

#include "merge/model/title.h"
#include "runtime/trace/kinds.h"

/* A span that is open at the present. */
struct tp_track_span {
	int64_t end_ns;
	uint32_t id;		/* the sink's own: tp_track_set_id */
};

struct tp_track {
	uint32_t at;		/* 0 the thread's or stream's own; >= 1: further ones */
	struct tp_track_span *open; /* outermost first */
	uint32_t depth, cap;
	void *user;		/* the sink's own: not touched here */
};

enum {
	TP_TRACKS_MAX = 64,	/* further ones of one thread */
	/* Two readings of the clock for what is one moment: the end of an optimizer's range
	 * and the end of its step. */
	TP_TRACKS_JITTER_NS = 1000,
	/* A device's times are exact among themselves but for the rounding of two clocks. */
	TP_TRACKS_ROUNDING_NS = 10,
};

/* Of a thread, of a family of a process, or of a stream; made as they are met. */
struct tp_tracks {
	struct tp_track **track;
	uint32_t n_tracks, cap;
};

struct tp_track_layout {
	struct tp_track_proc {
		struct tp_tracks *tracks;
		uint32_t cap;
	} *proc;			/* by tp_proc.at */
	uint32_t n_procs;
	uint64_t n_cut;			/* spans cut to their parent, or begun when another ended */
};

void tp_tracks_init(struct tp_track_layout *layout, const struct tp_run *run);
void tp_tracks_free(struct tp_track_layout *layout);

/* Flags mean something else where the kind is not torch's. */
static inline enum tp_track_family tp_tracks_family(const struct tp_event *event)
{
	if (event->kind == TP_REC_COLL)
		return TP_TRACK_COLL;
	if (event->kind == TP_REC_XFER)
		return TP_TRACK_XFER;
	return tp_kind_is_async(event->kind, event->flags) ? TP_TRACK_ASYNC : TP_TRACK_THREAD;
}

/* The thread's own track, for what has no length. */
struct tp_track *tp_tracks_main(struct tp_track_layout *layout, const struct tp_event *event);

/* Where a span goes; spans come by begin time, the longer first. *end_ns may come back
 * smaller. `pop` (may be NULL) is called for each span of that track that has ended by then,
 * innermost first. NULL: all tracks are full. */
typedef void (*tp_tracks_pop_fn)(void *ctx, struct tp_track *track, int64_t end_ns);
struct tp_track *tp_tracks_place(struct tp_track_layout *layout, const struct tp_event *event,
				 int64_t *end_ns, tp_tracks_pop_fn pop, void *ctx);
/* The same for calls (thread) and for what has a queue: these times come from another clock, so
 * *begin_ns may come back later: when a span ended that seemed to overlap this one. */
struct tp_track *tp_tracks_place_call(struct tp_track_layout *layout, const struct tp_event *event,
				      int64_t *begin_ns, int64_t *end_ns, tp_tracks_pop_fn pop,
				      void *ctx);
struct tp_track *tp_tracks_place_work(struct tp_track_layout *layout, const struct tp_event *event,
				      int64_t *begin_ns, tp_tracks_pop_fn pop, void *ctx);

/* On a track that is in no layout: a span that crosses the one it lies in is cut to it. */
void tp_track_push(struct tp_track *track, int64_t begin_ns, int64_t *end_ns,
		   tp_tracks_pop_fn pop, void *ctx);

/* The id of the span that was placed last on a track. */
static inline void tp_track_set_id(struct tp_track *track, uint32_t id)
{
	track->open[track->depth - 1].id = id;
}
/* The id of the one that it lies in; 0: in none. */
static inline uint32_t tp_track_inside(const struct tp_track *track)
{
	return track->depth > 1 ? track->open[track->depth - 2].id : 0;
}

/* What has ended by `now`; INT64_MAX: everything. */
void tp_tracks_pop(struct tp_track *track, int64_t now, tp_tracks_pop_fn pop, void *ctx);
void tp_tracks_pop_all(struct tp_track_layout *layout, tp_tracks_pop_fn pop, void *ctx);

#endif

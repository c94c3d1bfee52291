/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracks.h - spans of a thread laid out on tracks on which nothing crosses
 *
 * Viewers draw a track as a stack and drop spans that cross another by a nanosecond, silently.
 * What is synchronous nests by itself. The rest goes to further tracks of the same thread;
 * spans that overlap their parent's end by no more than a clock's jitter are cut to it.
 */
#ifndef TP_MERGE_TRACKS_H
#define TP_MERGE_TRACKS_H

#include "merge/model.h"

struct tp_track {
	uint32_t at;		/* 0 the thread's own; >= 1: further ones */
	int64_t *end;		/* of the spans that are open at the present, outermost first */
	uint32_t depth, cap;
	void *user;		/* the sink's own: not touched here */
};

enum {
	TP_TRACKS_MAX = 64,	/* further ones of one thread */
	/* Two readings of the clock for what is one moment: the end of an optimizer's range
	 * and the end of its step. */
	TP_TRACKS_JITTER_NS = 1000,
};

struct tp_tracks {
	struct tp_track **track;
	uint32_t n_tracks, cap;
	uint32_t first;		/* 0, or 1 when all spans go to further tracks (async) */
};

/* Of the threads of a run, made as they are met. */
struct tp_track_book {
	struct tp_tracks **of_thread;	/* by proc, then thread */
	struct tp_tracks *async;	/* by proc */
	uint32_t n_procs;
	uint64_t n_cut;			/* spans cut to their parent */
};

int tp_tracks_init(struct tp_track_book *book, const struct tp_run *run);
void tp_tracks_free(struct tp_track_book *book, void (*free_user)(void *user));

/* The thread's own track, for what has no length. NULL: out of memory. */
struct tp_track *tp_tracks_main(struct tp_track_book *book, const struct tp_event *event);

/* Where a span goes; spans come by begin time, the longer first. *end_ns may come back
 * smaller. `pop` (may be NULL) is called for each span of that track that has ended by then,
 * innermost first. NULL: no memory, or all tracks are full. */
typedef void (*tp_tracks_pop_fn)(void *ctx, struct tp_track *track, int64_t end_ns);
struct tp_track *tp_tracks_place(struct tp_track_book *book, const struct tp_event *event,
				 int64_t *end_ns, tp_tracks_pop_fn pop, void *ctx);
/* What has ended by `now`; INT64_MAX: everything. */
void tp_tracks_pop(struct tp_track *track, int64_t now, tp_tracks_pop_fn pop, void *ctx);
void tp_tracks_pop_all(struct tp_track_book *book, tp_tracks_pop_fn pop, void *ctx);

#endif

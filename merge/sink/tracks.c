/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracks.c - laying out spans
 *
 * Memory: the spans open at the present, per track.
 */
#include "merge/sink/tracks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"

int tp_tracks_init(struct tp_track_book *book, const struct tp_run *run)
{
	memset(book, 0, sizeof(*book));
	book->n_procs = run->n_procs;
	book->of_thread = calloc(run->n_procs + 1, sizeof(book->of_thread[0]));
	book->apart = calloc(run->n_procs + 1, sizeof(book->apart[0]));
	book->of_queue = calloc(run->n_procs + 1, sizeof(book->of_queue[0]));
	if (!book->of_thread || !book->apart || !book->of_queue)
		return -ENOMEM;
	for (uint32_t i = 0; i < run->n_procs; i++) {
		for (uint32_t f = 0; f < TP_TRACK_FAMILIES; f++)
			book->apart[i][f].first = 1;
		/* One more: events whose thread nobody named have one of their own. */
		book->of_thread[i] = calloc(run->proc[i]->n_threads + 1,
					    sizeof(book->of_thread[i][0]));
		if (!book->of_thread[i])
			return -ENOMEM;
		/* The last entry's mark, for walking over them. */
		book->of_thread[i][run->proc[i]->n_threads].first = 2;
	}
	return 0;
}

/* Calls `each` for all tracks of threads, of what lies apart and of queues of a process. */
static void walk(struct tp_track_book *book, uint32_t proc,
		 void (*each)(void *ctx, struct tp_tracks *tracks), void *ctx)
{
	struct tp_tracks *tracks = book->of_thread[proc];

	for (uint32_t f = 0; f < TP_TRACK_FAMILIES; f++)
		each(ctx, &book->apart[proc][f]);
	for (; tracks; tracks++) {
		each(ctx, tracks);
		if (tracks->first == 2)
			break;
	}
	for (uint32_t i = 0; i < book->of_queue[proc].cap; i++) {
		each(ctx, &book->of_queue[proc].queue[i].work);
		each(ctx, &book->of_queue[proc].queue[i].waits);
	}
}

struct freeing {
	void (*free_user)(void *user);
};

static void free_tracks(void *ctx, struct tp_tracks *tracks)
{
	const struct freeing *freeing = ctx;

	for (uint32_t i = 0; i < tracks->n_tracks; i++) {
		struct tp_track *track = tracks->track[i];

		if (track && track->user && freeing->free_user)
			freeing->free_user(track->user);
		if (track)
			free(track->open);
		free(track);
	}
	free(tracks->track);
}

void tp_tracks_free(struct tp_track_book *book, void (*free_user)(void *user))
{
	struct freeing freeing = {free_user};

	for (uint32_t i = 0;
	     i < book->n_procs && book->of_thread && book->apart && book->of_queue; i++) {
		walk(book, i, free_tracks, &freeing);
		free(book->of_thread[i]);
		free(book->of_queue[i].queue);
	}
	free(book->of_thread);
	free(book->apart);
	free(book->of_queue);
	memset(book, 0, sizeof(*book));
}

static struct tp_track *get_track(struct tp_tracks *tracks, uint32_t at)
{
	if (at >= tracks->n_tracks) {
		if (at > TP_TRACKS_MAX || !tp_grow(&tracks->track, &tracks->cap, at + 1,
						   sizeof(tracks->track[0])))
			return NULL;
		tracks->n_tracks = at + 1;
	}
	if (!tracks->track[at]) {
		tracks->track[at] = calloc(1, sizeof(struct tp_track));
		if (tracks->track[at])
			tracks->track[at]->at = at;
	}
	return tracks->track[at];
}

static struct tp_tracks *tracks_of_thread(struct tp_track_book *book,
					  const struct tp_event *event)
{
	return &book->of_thread[event->proc->at][tp_thread_at(event)];
}

static struct tp_tracks *tracks_of_queue(struct tp_track_book *book,
					 const struct tp_event *event)
{
	struct tp_track_queues *queues = &book->of_queue[event->proc->at];
	struct tp_track_queue *queue;

	if (event->queue->at >= queues->cap &&
	    !tp_grow(&queues->queue, &queues->cap, (uint64_t)event->queue->at + 1,
		     sizeof(queues->queue[0])))
		return NULL;
	queue = &queues->queue[event->queue->at];
	return event->kind == TP_REC_SYNC ? &queue->waits : &queue->work;
}

struct tp_track *tp_tracks_main(struct tp_track_book *book, const struct tp_event *event)
{
	return get_track(tracks_of_thread(book, event), 0);
}

void tp_tracks_pop(struct tp_track *track, int64_t now, tp_tracks_pop_fn pop, void *ctx)
{
	while (track->depth && track->open[track->depth - 1].end_ns <= now) {
		track->depth--;
		if (pop)
			pop(ctx, track, track->open[track->depth].end_ns);
	}
}

struct popping {
	tp_tracks_pop_fn pop;
	void *ctx;
};

static void pop_tracks(void *ctx, struct tp_tracks *tracks)
{
	const struct popping *popping = ctx;

	for (uint32_t k = 0; k < tracks->n_tracks; k++) {
		if (tracks->track[k])
			tp_tracks_pop(tracks->track[k], INT64_MAX, popping->pop, popping->ctx);
	}
}

void tp_tracks_pop_all(struct tp_track_book *book, tp_tracks_pop_fn pop, void *ctx)
{
	struct popping popping = {pop, ctx};

	for (uint32_t i = 0; i < book->n_procs; i++)
		walk(book, i, pop_tracks, &popping);
}

static struct tp_track *push(struct tp_track *track, int64_t end_ns)
{
	if (!tp_grow(&track->open, &track->cap, track->depth + 1, sizeof(track->open[0])))
		return NULL;
	track->open[track->depth++] = (struct tp_track_span){.end_ns = end_ns};
	return track;
}

struct tp_track *tp_tracks_place(struct tp_track_book *book, const struct tp_event *event,
				 int64_t *end_ns, tp_tracks_pop_fn pop, void *ctx)
{
	enum tp_track_family family = tp_tracks_family(event);
	struct tp_tracks *tracks = family != TP_TRACK_THREAD ? &book->apart[event->proc->at][family]
							     : tracks_of_thread(book, event);
	/* Steps that a clock cut have nothing to do with what the program is inside of. */
	bool is_apart = event->kind == TP_REC_STEP && event->flags & TP_F_CLOCK;
	struct tp_track *track;
	int64_t top;

	for (uint32_t at = tracks->first == 1 || is_apart;; at++) {
		track = get_track(tracks, at);
		if (!track)
			return NULL;
		tp_tracks_pop(track, event->begin_ns, pop, ctx);
		if (!track->depth)
			break;
		top = track->open[track->depth - 1].end_ns;
		if (*end_ns <= top)
			break;
		if (*end_ns - top <= TP_TRACKS_JITTER_NS && tracks->first != 1) {
			*end_ns = top;
			book->n_cut++;
			break;
		}
	}
	return push(track, *end_ns);
}

/* Whether it fits on the track, perhaps begun later by at most `jitter`. */
static bool fits(struct tp_track *track, int64_t *begin_ns, int64_t end_ns, int64_t jitter,
		 tp_tracks_pop_fn pop, void *ctx)
{
	int64_t begin = *begin_ns;

	tp_tracks_pop(track, begin, pop, ctx);
	for (uint32_t i = track->depth; i && track->open[i - 1].end_ns < end_ns; i--) {
		begin = track->open[i - 1].end_ns;
		if (begin - *begin_ns > jitter)
			return false;
	}
	if (begin != *begin_ns)
		tp_tracks_pop(track, begin, pop, ctx);
	*begin_ns = begin;
	return true;
}

static struct tp_track *place_later(struct tp_track_book *book, struct tp_tracks *tracks,
				    int64_t *begin_ns, int64_t end_ns, int64_t jitter,
				    tp_tracks_pop_fn pop, void *ctx)
{
	int64_t begin = *begin_ns;

	for (uint32_t at = 0;; at++) {
		struct tp_track *track = get_track(tracks, at);

		if (!track)
			return NULL;
		if (!fits(track, &begin, end_ns, jitter, pop, ctx))
			continue;
		book->n_cut += begin != *begin_ns;
		*begin_ns = begin;
		return push(track, end_ns);
	}
}

struct tp_track *tp_tracks_place_call(struct tp_track_book *book, const struct tp_event *event,
				      int64_t *begin_ns, int64_t *end_ns, tp_tracks_pop_fn pop,
				      void *ctx)
{
	struct tp_tracks *tracks = tracks_of_thread(book, event);
	struct tp_track *own = get_track(tracks, 0);

	if (!own)
		return NULL;
	tp_tracks_pop(own, *begin_ns, pop, ctx);
	if (own->depth) {
		int64_t top = own->open[own->depth - 1].end_ns, beyond = *end_ns - top;

		/* The last thing that its operator did, by the operator's clock inside it. */
		if (beyond > 0 && beyond <= TP_TRACKS_JITTER_NS && beyond <= top - *begin_ns) {
			*end_ns = top;
			book->n_cut++;
			return push(own, top);
		}
	}
	return place_later(book, tracks, begin_ns, *end_ns, TP_TRACKS_JITTER_NS, pop, ctx);
}

struct tp_track *tp_tracks_place_work(struct tp_track_book *book, const struct tp_event *event,
				      int64_t *begin_ns, tp_tracks_pop_fn pop, void *ctx)
{
	struct tp_tracks *tracks = tracks_of_queue(book, event);

	if (!tracks)
		return NULL;
	return place_later(book, tracks, begin_ns, event->end_ns, TP_TRACKS_ROUNDING_NS, pop, ctx);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracks.c - laying out spans
 *
 * Memory: the spans open at the present, per track.
 */
#include "merge/tracks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "merge/grow.h"

int tp_tracks_init(struct tp_track_book *book, const struct tp_run *run)
{
	memset(book, 0, sizeof(*book));
	book->n_procs = run->n_procs;
	book->of_thread = calloc(run->n_procs + 1, sizeof(book->of_thread[0]));
	book->async = calloc(run->n_procs + 1, sizeof(book->async[0]));
	if (!book->of_thread || !book->async)
		return -ENOMEM;
	for (uint32_t i = 0; i < run->n_procs; i++) {
		book->async[i].first = 1;
		/* One more: events whose thread nobody named have one of their own. */
		book->of_thread[i] = calloc(run->proc[i]->n_threads + 1,
					    sizeof(book->of_thread[i][0]));
		if (!book->of_thread[i])
			return -ENOMEM;
		/* The last entry's mark, for freeing. */
		book->of_thread[i][run->proc[i]->n_threads].first = 2;
	}
	return 0;
}

static void free_tracks(struct tp_tracks *tracks, void (*free_user)(void *user))
{
	for (uint32_t i = 0; i < tracks->n_tracks; i++) {
		struct tp_track *track = tracks->track[i];

		if (track && track->user && free_user)
			free_user(track->user);
		if (track)
			free(track->end);
		free(track);
	}
	free(tracks->track);
}

void tp_tracks_free(struct tp_track_book *book, void (*free_user)(void *user))
{
	for (uint32_t i = 0; i < book->n_procs && book->of_thread && book->async; i++) {
		struct tp_tracks *tracks = book->of_thread[i];

		free_tracks(&book->async[i], free_user);
		while (tracks) {
			free_tracks(tracks, free_user);
			if (tracks->first == 2)
				break;
			tracks++;
		}
		free(book->of_thread[i]);
	}
	free(book->of_thread);
	free(book->async);
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

static struct tp_tracks *tracks_of(struct tp_track_book *book, const struct tp_event *event)
{
	if (event->flags & TP_F_ASYNC)
		return &book->async[event->proc->at];
	return &book->of_thread[event->proc->at][event->thread - event->proc->thread];
}

struct tp_track *tp_tracks_main(struct tp_track_book *book, const struct tp_event *event)
{
	return get_track(&book->of_thread[event->proc->at][event->thread - event->proc->thread],
			 0);
}

void tp_tracks_pop(struct tp_track *track, int64_t now, tp_tracks_pop_fn pop, void *ctx)
{
	while (track->depth && track->end[track->depth - 1] <= now) {
		track->depth--;
		if (pop)
			pop(ctx, track, track->end[track->depth]);
	}
}

void tp_tracks_pop_all(struct tp_track_book *book, tp_tracks_pop_fn pop, void *ctx)
{
	for (uint32_t i = 0; i < book->n_procs; i++) {
		struct tp_tracks *tracks = &book->async[i];

		for (uint32_t k = 0; k < tracks->n_tracks; k++) {
			if (tracks->track[k])
				tp_tracks_pop(tracks->track[k], INT64_MAX, pop, ctx);
		}
		for (tracks = book->of_thread[i];; tracks++) {
			for (uint32_t k = 0; k < tracks->n_tracks; k++) {
				if (tracks->track[k])
					tp_tracks_pop(tracks->track[k], INT64_MAX, pop, ctx);
			}
			if (tracks->first == 2)
				break;
		}
	}
}

struct tp_track *tp_tracks_place(struct tp_track_book *book, const struct tp_event *event,
				 int64_t *end_ns, tp_tracks_pop_fn pop, void *ctx)
{
	struct tp_tracks *tracks = tracks_of(book, event);
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
		top = track->end[track->depth - 1];
		if (*end_ns <= top)
			break;
		if (*end_ns - top <= TP_TRACKS_JITTER_NS && tracks->first != 1) {
			*end_ns = top;
			book->n_cut++;
			break;
		}
	}
	if (!tp_grow(&track->end, &track->cap, track->depth + 1, sizeof(track->end[0])))
		return NULL;
	track->end[track->depth++] = *end_ns;
	return track;
}

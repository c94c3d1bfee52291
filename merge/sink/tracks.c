/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracks.c - laying out spans
 *
 * Memory: the spans open at the present, per track.
 */
#include "merge/sink/tracks.h"

#include <stdlib.h>

#include "merge/kit/need.h"

void tp_tracks_init(struct tp_track_layout *layout, const struct tp_run *run)
{
	*layout = (struct tp_track_layout){.n_procs = run->n_procs};
	layout->proc = tp_need(run->n_procs + 1, sizeof(*layout->proc));
}

void tp_tracks_free(struct tp_track_layout *layout)
{
	for (uint32_t i = 0; i < layout->n_procs; i++) {
		for (uint32_t k = 0; k < layout->proc[i].cap; k++) {
			struct tp_tracks *tracks = &layout->proc[i].tracks[k];

			for (uint32_t at = 0; at < tracks->n_tracks; at++) {
				if (tracks->track[at])
					free(tracks->track[at]->open);
				free(tracks->track[at]);
			}
			free(tracks->track);
		}
		free(layout->proc[i].tracks);
	}
	free(layout->proc);
	*layout = (struct tp_track_layout){0};
}

/* What lies apart, then threads (one more: events whose thread nobody named have one of their own),
 * then of each stream its work, and what waits: that lasts as the host sees it and crosses work. */
static struct tp_tracks *tracks_at(struct tp_track_layout *layout, const struct tp_proc *proc,
				   uint64_t at)
{
	struct tp_track_proc *of = &layout->proc[proc->at];

	tp_need_room(&of->tracks, &of->cap, at + 1, sizeof(*of->tracks));
	return &of->tracks[at];
}

static struct tp_tracks *tracks_of_thread(struct tp_track_layout *layout, const struct tp_event *event)
{
	return tracks_at(layout, event->proc, TP_TRACK_FAMILIES + tp_thread_at(event));
}

static struct tp_tracks *tracks_of_queue(struct tp_track_layout *layout, const struct tp_event *event)
{
	return tracks_at(layout, event->proc,
			 TP_TRACK_FAMILIES + event->proc->n_threads + 1ull +
				 2ull * event->queue->at + (event->kind == TP_REC_SYNC));
}

/* NULL: there are no more. */
static struct tp_track *get_track(struct tp_tracks *tracks, uint32_t at)
{
	if (at > TP_TRACKS_MAX)
		return NULL;
	if (at >= tracks->n_tracks) {
		tp_need_room(&tracks->track, &tracks->cap, at + 1, sizeof(tracks->track[0]));
		tracks->n_tracks = at + 1;
	}
	if (!tracks->track[at]) {
		tracks->track[at] = tp_need(1, sizeof(struct tp_track));
		tracks->track[at]->at = at;
	}
	return tracks->track[at];
}

struct tp_track *tp_tracks_main(struct tp_track_layout *layout, const struct tp_event *event)
{
	return get_track(tracks_of_thread(layout, event), 0);
}

void tp_tracks_pop(struct tp_track *track, int64_t now, tp_tracks_pop_fn pop, void *ctx)
{
	while (track->depth && track->open[track->depth - 1].end_ns <= now) {
		track->depth--;
		if (pop)
			pop(ctx, track, track->open[track->depth].end_ns);
	}
}

void tp_tracks_pop_all(struct tp_track_layout *layout, tp_tracks_pop_fn pop, void *ctx)
{
	for (uint32_t i = 0; i < layout->n_procs; i++)
		for (uint32_t k = 0; k < layout->proc[i].cap; k++) {
			struct tp_tracks *tracks = &layout->proc[i].tracks[k];

			for (uint32_t at = 0; at < tracks->n_tracks; at++)
				if (tracks->track[at])
					tp_tracks_pop(tracks->track[at], INT64_MAX, pop, ctx);
		}
}

static struct tp_track *push(struct tp_track *track, int64_t end_ns)
{
	tp_need_room(&track->open, &track->cap, track->depth + 1, sizeof(track->open[0]));
	track->open[track->depth++] = (struct tp_track_span){.end_ns = end_ns};
	return track;
}

void tp_track_push(struct tp_track *track, int64_t begin_ns, int64_t *end_ns,
		   tp_tracks_pop_fn pop, void *ctx)
{
	tp_tracks_pop(track, begin_ns, pop, ctx);
	if (track->depth && *end_ns > track->open[track->depth - 1].end_ns)
		*end_ns = track->open[track->depth - 1].end_ns;
	push(track, *end_ns);
}

struct tp_track *tp_tracks_place(struct tp_track_layout *layout, const struct tp_event *event,
				 int64_t *end_ns, tp_tracks_pop_fn pop, void *ctx)
{
	enum tp_track_family family = tp_tracks_family(event);
	struct tp_tracks *tracks = family == TP_TRACK_THREAD ? tracks_of_thread(layout, event)
							     : tracks_at(layout, event->proc, family);
	/* Steps that a clock cut have nothing to do with what the program is inside of. */
	bool is_apart = event->kind == TP_REC_STEP && event->flags & TP_F_CLOCK;
	struct tp_track *track;
	int64_t top;

	for (uint32_t at = family != TP_TRACK_THREAD || is_apart;; at++) {
		track = get_track(tracks, at);
		if (!track)
			return NULL;
		tp_tracks_pop(track, event->begin_ns, pop, ctx);
		if (!track->depth)
			break;
		top = track->open[track->depth - 1].end_ns;
		if (*end_ns <= top)
			break;
		if (*end_ns - top <= TP_TRACKS_JITTER_NS && family == TP_TRACK_THREAD) {
			*end_ns = top;
			layout->n_cut++;
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

static struct tp_track *place_later(struct tp_track_layout *layout, struct tp_tracks *tracks,
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
		layout->n_cut += begin != *begin_ns;
		*begin_ns = begin;
		return push(track, end_ns);
	}
}

struct tp_track *tp_tracks_place_call(struct tp_track_layout *layout, const struct tp_event *event,
				      int64_t *begin_ns, int64_t *end_ns, tp_tracks_pop_fn pop,
				      void *ctx)
{
	struct tp_tracks *tracks = tracks_of_thread(layout, event);
	struct tp_track *own = get_track(tracks, 0);

	tp_tracks_pop(own, *begin_ns, pop, ctx);
	if (own->depth) {
		int64_t top = own->open[own->depth - 1].end_ns, beyond = *end_ns - top;

		/* The last thing that its operator did, by the operator's clock inside it. */
		if (beyond > 0 && beyond <= TP_TRACKS_JITTER_NS && beyond <= top - *begin_ns) {
			*end_ns = top;
			layout->n_cut++;
			return push(own, top);
		}
	}
	return place_later(layout, tracks, begin_ns, *end_ns, TP_TRACKS_JITTER_NS, pop, ctx);
}

struct tp_track *tp_tracks_place_work(struct tp_track_layout *layout, const struct tp_event *event,
				      int64_t *begin_ns, tp_tracks_pop_fn pop, void *ctx)
{
	return place_later(layout, tracks_of_queue(layout, event), begin_ns, event->end_ns,
			   TP_TRACKS_ROUNDING_NS, pop, ctx);
}

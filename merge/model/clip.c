/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clip.c - events with their spans cut to the window that recorded them
 *
 * Almost no event is early or open, so the common path is two tests.
 */
#include "merge/model/clip.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"
#include "runtime/trace/kinds.h"

void tp_clip_init(struct tp_clip *clip, const struct tp_run *run, tp_clip_fn each,
		  void *ctx)
{
	memset(clip, 0, sizeof(*clip));
	clip->run = run;
	clip->each = each;
	clip->ctx = ctx;
}

/* Further from the run's start (36 years) no time is real: it cannot be computed with. */
#define TIME_MAX_NS ((int64_t)1 << 60)

static int64_t bound(int64_t ns)
{
	return ns < -TIME_MAX_NS ? -TIME_MAX_NS : ns > TIME_MAX_NS ? TIME_MAX_NS : ns;
}

static const struct tp_window *find_window(struct tp_clip *clip,
					   const struct tp_event *event)
{
	const struct tp_run *run = clip->run;

	for (uint32_t i = 0; i < run->n_windows; i++) {
		uint32_t at = (clip->last_window + i) % run->n_windows;

		if (run->window[at].proc == event->proc &&
		    run->window[at].window == event->window) {
			clip->last_window = at;
			return &run->window[at];
		}
	}
	return NULL;
}

static void hold(struct tp_clip *clip, const struct tp_event *event)
{
	uint32_t at;

	/* Without memory the span comes too early, and its figures are a little off. */
	if (!tp_grow(&clip->held, &clip->cap_held, (uint64_t)clip->n_held + 1,
		     sizeof(*clip->held))) {
		clip->each(clip->ctx, event);
		return;
	}
	/* After its equals: the outer span came first and stays first. */
	for (at = clip->n_held; at > 0 && clip->held[at - 1].begin_ns > event->begin_ns;
	     at--)
		clip->held[at] = clip->held[at - 1];
	clip->held[at] = *event;
	clip->n_held++;
}

static void release(struct tp_clip *clip, int64_t now)
{
	uint32_t n = 0;

	while (n < clip->n_held && clip->held[n].begin_ns <= now)
		clip->each(clip->ctx, &clip->held[n++]);
	if (!n)
		return;
	clip->n_held -= n;
	memmove(clip->held, clip->held + n, clip->n_held * sizeof(*clip->held));
}

/* What a window started elsewhere: see tp_rec_is_whole. */
static bool is_whole(const struct tp_event *event)
{
	return event->queue || tp_kind_is_nccl(event->kind);
}

void tp_clip_event(struct tp_clip *clip, const struct tp_event *event)
{
	int64_t begin_ns;
	struct tp_event cut;
	const struct tp_window *window;

	if (event->begin_ns < -TIME_MAX_NS || event->end_ns > TIME_MAX_NS ||
	    event->end_ns < event->begin_ns) {
		cut = *event;
		cut.begin_ns = bound(cut.begin_ns);
		cut.end_ns = bound(cut.end_ns);
		if (cut.end_ns < cut.begin_ns)
			cut.end_ns = cut.begin_ns;
		event = &cut;
	}
	if (clip->n_held)
		release(clip, event->begin_ns);
	/* Only spans carry these flags with this meaning. */
	if (!(event->flags & (TP_F_EARLY | TP_F_OPEN)) || !tp_kind_is_span[event->kind]) {
		clip->each(clip->ctx, event);
		return;
	}
	window = find_window(clip, event);
	begin_ns = event->begin_ns;
	cut = *event;
	/* Windows that were cut have no certain bounds: nothing is cut further by them. */
	if (window && window->is_whole) {
		if (cut.begin_ns < window->begin_ns)
			cut.begin_ns = window->begin_ns;
		/* What a window started on a device is its own, however late it ends. */
		if (cut.end_ns > window->end_ns && !(is_whole(&cut) && cut.flags & TP_F_AFTER))
			cut.end_ns = window->end_ns;
		if (cut.end_ns < cut.begin_ns)
			cut.end_ns = cut.begin_ns;
	}
	if (cut.begin_ns > begin_ns)
		hold(clip, &cut);
	else
		clip->each(clip->ctx, &cut);
}

void tp_clip_end(struct tp_clip *clip)
{
	release(clip, INT64_MAX);
	free(clip->held);
	clip->held = NULL;
	clip->n_held = clip->cap_held = 0;
}

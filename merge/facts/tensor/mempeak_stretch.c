/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mempeak_stretch.c - stretches of a device's time: steps, what lies between them, parts of windows
 */
#include "merge/facts/tensor/mempeak_state.h"

#include <string.h>

#include "merge/kit/grow.h"
#include "merge/kit/sum.h"

enum {
	STRETCHES_MAX = 1 << 16,	/* of a device; then the last one goes on */
	DEVICES_MAX = 4096,		/* of all processes */
	NEAR_PART = 100,		/* of a peak: what is missing is a matter of its very moment */
};

int64_t tp_mempeak_height(int64_t live, int64_t most)
{
	return !most || live < most - most / NEAR_PART ? live : most;
}

void tp_mempeak_settle(struct tp_mempeak_device *track)
{
	struct tp_mempeak_top kept = track->best;

	if (!track->pub.n_stretches)
		return;
	if (!track->has_best || tp_mempeak_height(track->current.peak_live, track->current.most) >
				   tp_mempeak_height(track->best.peak_live, track->best.most)) {
		track->best = track->current;
		track->current = kept;
		track->has_best = true;
	}
	tp_holders_forget(&track->current.holders);
}

struct tp_stretch *tp_mempeak_current(struct tp_mempeak_device *track)
{
	return track->pub.n_stretches ? &track->pub.stretch[track->pub.n_stretches - 1] : NULL;
}

/* By the ledger; 0: it does not say. */
static int64_t most_of(const struct tp_mempeak *peaks, const struct tp_mempeak_device *track, int64_t now)
{
	const struct tp_mempeak_step *step = &peaks->step[track->pub.proc->at];

	return track->pub.device == TP_DEVICE_CPU && step->is_known && now >= step->begin_ns &&
			       now < step->end_ns ? step->most : 0;
}

void tp_mempeak_note_peak(const struct tp_mempeak *peaks, struct tp_mempeak_device *track,
			  struct tp_stretch *stretch, int64_t now)
{
	stretch->most = most_of(peaks, track, now);
	track->current.most = stretch->most;
	stretch->peak_ns = now;
	stretch->peak_live = track->live;
	memset(stretch->at_peak, 0, sizeof(stretch->at_peak));
	track->current.peak_ns = now;
	track->current.peak_live = track->live;
	track->current.stretch = track->pub.n_stretches - 1;
	tp_holders_forget(&track->current.holders);
}

static void begin_stretch(struct tp_mempeak *peaks, struct tp_mempeak_device *track, int64_t now,
			  uint32_t window, uint64_t step)
{
	struct tp_stretch *last = tp_mempeak_current(track);

	if (last && last->end_ns > now)
		last->end_ns = now;
	if (track->pub.n_stretches == STRETCHES_MAX ||
	    !tp_grow(&track->pub.stretch, &track->cap_stretches,
		     (uint64_t)track->pub.n_stretches + 1, sizeof(*track->pub.stretch)) ||
	    !tp_grow(&track->difference, &track->cap_differences,
		     (uint64_t)track->pub.n_stretches + 2, sizeof(*track->difference))) {
		peaks->is_incomplete = true;
		if (last)
			last->end_ns = track->window_end_ns;
		return;
	}
	tp_mempeak_settle(track);
	track->pub.stretch[track->pub.n_stretches++] = (struct tp_stretch){
		.begin_ns = now, .end_ns = track->window_end_ns, .window = window, .step = step,
		.reserved = track->reserved, .others = track->others,
	};
	tp_mempeak_note_peak(peaks, track, tp_mempeak_current(track), now);
}

void tp_mempeak_reach(struct tp_mempeak *peaks, struct tp_mempeak_device *track, int64_t now)
{
	struct tp_stretch *last = tp_mempeak_current(track);

	if (!track->part_ns) {
		if (last && last->step != TP_NO_STEP && now > last->end_ns)
			begin_stretch(peaks, track, last->end_ns, last->window, TP_NO_STEP);
		return;
	}
	while (last && track->pub.n_stretches < STRETCHES_MAX) {
		const int64_t next = tp_add(last->begin_ns, track->part_ns);

		if (now < next || next >= track->window_end_ns)
			return;
		begin_stretch(peaks, track, next, last->window, TP_NO_STEP);
		last = tp_mempeak_current(track);
	}
}

void tp_mempeak_begin_step(struct tp_mempeak *peaks, struct tp_mempeak_device *track,
			   const struct tp_mempeak_step *step)
{
	begin_stretch(peaks, track, step->begin_ns, step->window, step->index);
	tp_mempeak_current(track)->end_ns = step->end_ns;
	if (track->pub.device == TP_DEVICE_CPU)
		tp_mempeak_current(track)->most = track->current.most = step->most;
}

/* Windows of a process that lie in each other, as those of a damaged file may, are entered again
 * and again: what is over is cut and counted once. */
static int64_t begin_window(struct tp_mempeak_device *track, const struct tp_window *window)
{
	const struct tp_stretch *last = tp_mempeak_current(track);
	const int64_t from = tp_mempeak_later(track->counted_ns, window->begin_ns);

	track->window_end_ns = window->end_ns;
	if (window->end_ns > from) {
		track->pub.window_ns = tp_add(track->pub.window_ns, tp_sub(window->end_ns, from));
		track->counted_ns = window->end_ns;
	}
	return last ? tp_mempeak_later(window->begin_ns, tp_mempeak_later(track->reached_ns, last->begin_ns))
		    : window->begin_ns;
}

void tp_mempeak_enter(struct tp_mempeak *peaks, struct tp_mempeak_device *track, uint32_t number,
		      int64_t now)
{
	const struct tp_mempeak_step *step = &peaks->step[track->pub.proc->at];
	const struct tp_window *window = NULL;
	int64_t begin_ns = now;
	uint32_t n_windows = 0;

	if (track->is_in_window && track->window == number)
		return;
	for (uint32_t i = 0; i < peaks->run->n_windows; i++) {
		if (peaks->run->window[i].proc != track->pub.proc)
			continue;
		n_windows++;
		if (peaks->run->window[i].window == number)
			window = &peaks->run->window[i];
	}
	track->window = number;
	track->is_in_window = true;
	track->window_end_ns = INT64_MAX;
	track->reserved = track->others = 0;
	track->part_ns = 0;
	if (window)
		begin_ns = begin_window(track, window);
	if (peaks->parts) {
		const int64_t parts = peaks->parts / (n_windows ? n_windows : 1);

		track->part_ns = window ? tp_sub(window->end_ns, window->begin_ns) /
						  (parts > 8 ? parts : 8) + 1
					: INT64_MAX / 4;
	}
	begin_stretch(peaks, track, begin_ns, number, TP_NO_STEP);
	if (!peaks->parts && step->is_known && step->window == number && now <= step->end_ns)
		tp_mempeak_begin_step(peaks, track, step);
}

struct tp_mempeak_device *tp_mempeak_find(struct tp_mempeak *peaks, const struct tp_proc *proc,
					  uint32_t device)
{
	uint32_t *last = &peaks->last[proc->at];
	struct tp_mempeak_device *track;

	for (uint32_t i = 0, at = *last; i < peaks->n_tracks; i++, at++) {
		at = at < peaks->n_tracks ? at : 0;
		if (peaks->track[at].pub.proc != proc || peaks->track[at].pub.device != device)
			continue;
		*last = at;
		return &peaks->track[at];
	}
	if (peaks->n_tracks == DEVICES_MAX ||
	    !tp_grow(&peaks->track, &peaks->cap_tracks, (uint64_t)peaks->n_tracks + 1,
		     sizeof(*track))) {
		peaks->is_incomplete = true;
		return NULL;
	}
	track = &peaks->track[peaks->n_tracks++];
	track->pub.proc = proc;
	track->pub.device = device;
	track->reached_ns = track->counted_ns = INT64_MIN;
	return track;
}

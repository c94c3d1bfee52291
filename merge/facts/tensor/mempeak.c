/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mempeak.c - what tensor memory consisted of at its peaks
 *
 * A block that dies in a later stretch than it was born in was there at all peaks between: a
 * difference is noted at both ends and summed up in the end. In the stretch in which it was born
 * it was at the peak if it came before it. In the one in which it dies the peak so far may not
 * stay the peak: what was counted for it is forgotten when a higher one comes, by which time
 * the block is gone.
 */
#include "merge/facts/tensor/mempeak.h"

#include <stdlib.h>

#include "merge/facts/tensor/mempeak_state.h"
#include "merge/facts/tensor/tensors.h"
#include "merge/kit/sum.h"

int64_t tp_stretch_bytes(const struct tp_stretch *stretch)
{
	int64_t sum = 0;

	for (uint32_t c = 0; c < TP_TENSOR_N; c++)
		sum = tp_add(sum, stretch->at_peak[c]);
	return sum;
}

struct tp_mempeak *tp_mempeak_new(const struct tp_run *run, uint32_t parts)
{
	struct tp_mempeak *peaks = calloc(1, sizeof(*peaks));

	if (!peaks)
		return NULL;
	peaks->run = run;
	peaks->parts = parts;
	peaks->step = calloc(run->n_procs + 1, sizeof(*peaks->step));
	peaks->last = calloc(run->n_procs + 1, sizeof(*peaks->last));
	if (peaks->step && peaks->last)
		return peaks;
	tp_mempeak_free(peaks);
	return NULL;
}

void tp_mempeak_free(struct tp_mempeak *peaks)
{
	if (!peaks)
		return;
	for (uint32_t i = 0; i < peaks->n_tracks; i++) {
		free(peaks->track[i].pub.stretch);
		free(peaks->track[i].pub.holder);
		free(peaks->track[i].difference);
		tp_holders_free(&peaks->track[i].current.holders);
		tp_holders_free(&peaks->track[i].best.holders);
		for (uint32_t k = 0; k < peaks->track[i].pub.n_pins; k++) {
			tp_holders_free(&peaks->track[i].pin[k].holders);
			free(peaks->track[i].pub.pin[k].holder);
		}
	}
	free(peaks->track);
	free(peaks->step);
	free(peaks->last);
	free(peaks->result);
	free(peaks);
}

bool tp_mempeak_is_incomplete(const struct tp_mempeak *peaks)
{
	return peaks->is_incomplete;
}

void tp_mempeak_event(struct tp_mempeak *peaks, const struct tp_event *event)
{
	struct tp_mempeak_step step = {
		.index = event->link, .window = event->window, .is_known = true,
		.begin_ns = event->begin_ns, .end_ns = event->end_ns,
	};

	if (event->kind != TP_REC_STEP)
		return;
	step.most = tp_tensors_ledger_most(peaks->run, event);
	for (uint32_t i = 0; i < peaks->n_tracks && !peaks->parts; i++) {
		struct tp_mempeak_device *track = &peaks->track[i];

		if (track->pub.proc != event->proc)
			continue;
		tp_mempeak_enter(peaks, track, event->window, event->begin_ns);
		tp_mempeak_begin_step(peaks, track, &step);
	}
	peaks->step[event->proc->at] = step;
}

/* NULL: out of memory. */
static struct tp_mempeak_device *reach_event(struct tp_mempeak *peaks, const struct tp_event *event,
					     uint32_t device)
{
	struct tp_mempeak_device *track = tp_mempeak_find(peaks, event->proc, device);

	if (!track)
		return NULL;
	tp_mempeak_enter(peaks, track, event->window, event->begin_ns);
	tp_mempeak_reach(peaks, track, event->begin_ns);
	track->reached_ns = tp_mempeak_later(track->reached_ns, event->begin_ns);
	return track;
}

void tp_mempeak_live(struct tp_mempeak *peaks, const struct tp_event *event, uint32_t device,
		     int64_t bytes)
{
	struct tp_mempeak_device *track = reach_event(peaks, event, device);
	struct tp_stretch *stretch;

	if (!track)
		return;
	track->live = bytes;
	stretch = tp_mempeak_current(track);
	if (stretch && bytes > stretch->peak_live)
		tp_mempeak_note_peak(peaks, track, stretch, event->begin_ns);
}

void tp_mempeak_reserved(struct tp_mempeak *peaks, const struct tp_event *event, uint32_t device,
			 int64_t bytes)
{
	struct tp_mempeak_device *track = reach_event(peaks, event, device);
	struct tp_stretch *stretch = track ? tp_mempeak_current(track) : NULL;

	if (!track)
		return;
	track->reserved = bytes;
	if (stretch && bytes > stretch->reserved)
		stretch->reserved = bytes;
}

void tp_mempeak_others(struct tp_mempeak *peaks, const struct tp_event *event, uint32_t device,
		       int64_t bytes)
{
	struct tp_mempeak_device *track = NULL;
	struct tp_stretch *stretch;

	/* A counter alone makes no device of tensors. */
	for (uint32_t i = 0; i < peaks->n_tracks && !track; i++)
		if (peaks->track[i].pub.proc == event->proc &&
		    peaks->track[i].pub.device == device)
			track = reach_event(peaks, event, device);
	stretch = track ? tp_mempeak_current(track) : NULL;
	if (!track)
		return;
	track->others = bytes;
	if (stretch && bytes > stretch->others)
		stretch->others = bytes;
}

bool tp_mempeak_pin(struct tp_mempeak *peaks, const struct tp_event *event, uint32_t device)
{
	struct tp_mempeak_device *track = reach_event(peaks, event, device);

	if (!track || track->pub.n_pins == TP_MEMPEAK_PINS)
		return false;
	track->pin[track->pub.n_pins++].pub.ns = event->begin_ns;
	return true;
}

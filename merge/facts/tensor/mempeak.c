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
#include <string.h>

#include "merge/kit/grow.h"
#include "merge/kit/sum.h"
#include "merge/model/step_row.h"

enum {
	STRETCHES_MAX = 1 << 16,	/* of a device; then the last one goes on */
	DEVICES_MAX = 4096,		/* of all processes */
	NEAR_PART = 100,		/* of a peak: what is missing is a matter of its very moment */
};

struct difference {
	int64_t bytes[TP_TENSOR_N];
};

struct top {
	struct tp_holders holders;
	int64_t peak_ns, peak_live, most;
	uint32_t stretch;
};

/* A moment that is asked for whatever was alive in it. */
struct pin {
	struct tp_pinned pub;
	struct tp_holders holders;
};

struct track {
	struct tp_mempeak_track pub;
	struct difference *difference;	/* from this stretch on */
	uint32_t cap_stretches, cap_differences;
	uint32_t window;
	bool is_in_window;
	int64_t window_end_ns, live;
	int64_t reached_ns;		/* events were told of up to here */
	int64_t counted_ns;		/* window_ns holds what lies before this */
	int64_t part_ns;		/* length of a part; 0: steps */
	int64_t reserved, others;
	struct top current, best;
	bool has_best;
	struct pin pin[TP_MEMPEAK_PINS];
};

/* The newest step of a process: its devices may be heard of later. */
struct step {
	uint64_t index;
	uint32_t window;
	bool is_known;
	int64_t begin_ns, end_ns;
	int64_t most;		/* tensors of the host by the ledger; 0: not known */
};

struct tp_mempeak {
	const struct tp_run *run;
	struct step *step;		/* by process */
	uint32_t parts;
	struct track *track;
	uint32_t n_tracks, cap_tracks;
	uint32_t *last;			/* by process: its track that was found last */
	struct tp_mempeak_track *result;
	bool is_incomplete;
};

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

/* ---- holders ---- */

static void hold(struct tp_mempeak *peaks, struct tp_holders *holders, const struct tp_life *life)
{
	peaks->is_incomplete |= !tp_holders_add(holders, life);
}

/* What a step had at most is what its ledger says: sizes of blocks from before the window that were freed in
 * it may not be known. Unless much of the step is missing here. */
static int64_t height_of(int64_t live, int64_t most)
{
	return !most || live < most - most / NEAR_PART ? live : most;
}

/* The current stretch is over: is its peak the highest so far? */
static void settle_holders(struct track *track)
{
	struct top kept = track->best;

	if (!track->pub.n_stretches)
		return;
	if (!track->has_best || height_of(track->current.peak_live, track->current.most) >
				   height_of(track->best.peak_live, track->best.most)) {
		track->best = track->current;
		track->current = kept;
		track->has_best = true;
	}
	tp_holders_forget(&track->current.holders);
}

/* ---- stretches ---- */

static struct tp_stretch *current_of(struct track *track)
{
	return track->pub.n_stretches ? &track->pub.stretch[track->pub.n_stretches - 1] : NULL;
}

/* By the ledger; 0: it does not say. */
static int64_t most_of(const struct tp_mempeak *peaks, const struct track *track, int64_t now)
{
	const struct step *step = &peaks->step[track->pub.proc->at];

	return track->pub.device == TP_DEVICE_CPU && step->is_known && now >= step->begin_ns &&
			       now < step->end_ns ? step->most : 0;
}

static void note_peak(const struct tp_mempeak *peaks, struct track *track, struct tp_stretch *stretch,
		      int64_t now)
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

static void begin_stretch(struct tp_mempeak *peaks, struct track *track, int64_t now,
			  uint32_t window, uint64_t step)
{
	struct tp_stretch *last = current_of(track);

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
	settle_holders(track);
	track->pub.stretch[track->pub.n_stretches++] = (struct tp_stretch){
		.begin_ns = now, .end_ns = track->window_end_ns, .window = window, .step = step,
		.reserved = track->reserved, .others = track->others,
	};
	note_peak(peaks, track, current_of(track), now);
}

/* Stretches whose time has come. */
static void reach(struct tp_mempeak *peaks, struct track *track, int64_t now)
{
	struct tp_stretch *last = current_of(track);

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
		last = current_of(track);
	}
}

static void begin_step(struct tp_mempeak *peaks, struct track *track, const struct step *step)
{
	begin_stretch(peaks, track, step->begin_ns, step->window, step->index);
	current_of(track)->end_ns = step->end_ns;
	if (track->pub.device == TP_DEVICE_CPU)
		current_of(track)->most = track->current.most = step->most;
}

static int64_t later_of(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Windows of a process that lie in each other, as those of a damaged file may, are entered again
 * and again: what is over is cut and counted once. */
static int64_t begin_window(struct track *track, const struct tp_window *window)
{
	const struct tp_stretch *last = current_of(track);
	const int64_t from = later_of(track->counted_ns, window->begin_ns);

	track->window_end_ns = window->end_ns;
	if (window->end_ns > from) {
		track->pub.window_ns = tp_add(track->pub.window_ns, tp_sub(window->end_ns, from));
		track->counted_ns = window->end_ns;
	}
	return last ? later_of(window->begin_ns, later_of(track->reached_ns, last->begin_ns))
		    : window->begin_ns;
}

static void enter_window(struct tp_mempeak *peaks, struct track *track, uint32_t number,
			 int64_t now)
{
	const struct step *step = &peaks->step[track->pub.proc->at];
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
		begin_step(peaks, track, step);
}

/* NULL: out of memory. */
static struct track *find_track(struct tp_mempeak *peaks, const struct tp_proc *proc,
				uint32_t device)
{
	uint32_t *last = &peaks->last[proc->at];
	struct track *track;

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

void tp_mempeak_event(struct tp_mempeak *peaks, const struct tp_event *event)
{
	struct step step = {
		.index = event->link, .window = event->window, .is_known = true,
		.begin_ns = event->begin_ns, .end_ns = event->end_ns,
	};
	const struct tp_step_row *row;

	if (event->kind != TP_REC_STEP)
		return;
	row = tp_step_row_find(peaks->run->step, peaks->run->n_steps, event->proc, event->link);
	step.most = row ? (int64_t)row->peak_bytes : 0;
	for (uint32_t i = 0; i < peaks->n_tracks && !peaks->parts; i++) {
		struct track *track = &peaks->track[i];

		if (track->pub.proc != event->proc)
			continue;
		enter_window(peaks, track, event->window, event->begin_ns);
		begin_step(peaks, track, &step);
	}
	peaks->step[event->proc->at] = step;
}

/* NULL: out of memory. */
static struct track *reach_event(struct tp_mempeak *peaks, const struct tp_event *event,
				 uint32_t device)
{
	struct track *track = find_track(peaks, event->proc, device);

	if (!track)
		return NULL;
	enter_window(peaks, track, event->window, event->begin_ns);
	reach(peaks, track, event->begin_ns);
	track->reached_ns = later_of(track->reached_ns, event->begin_ns);
	return track;
}

void tp_mempeak_live(struct tp_mempeak *peaks, const struct tp_event *event, uint32_t device,
		     int64_t bytes)
{
	struct track *track = reach_event(peaks, event, device);
	struct tp_stretch *stretch;

	if (!track)
		return;
	track->live = bytes;
	stretch = current_of(track);
	if (stretch && bytes > stretch->peak_live)
		note_peak(peaks, track, stretch, event->begin_ns);
}

void tp_mempeak_reserved(struct tp_mempeak *peaks, const struct tp_event *event, uint32_t device,
			 int64_t bytes)
{
	struct track *track = reach_event(peaks, event, device);
	struct tp_stretch *stretch = track ? current_of(track) : NULL;

	if (!track)
		return;
	track->reserved = bytes;
	if (stretch && bytes > stretch->reserved)
		stretch->reserved = bytes;
}

void tp_mempeak_others(struct tp_mempeak *peaks, const struct tp_event *event, uint32_t device,
		       int64_t bytes)
{
	struct track *track = NULL;
	struct tp_stretch *stretch;

	/* A counter alone makes no device of tensors. */
	for (uint32_t i = 0; i < peaks->n_tracks && !track; i++)
		if (peaks->track[i].pub.proc == event->proc &&
		    peaks->track[i].pub.device == device)
			track = reach_event(peaks, event, device);
	stretch = track ? current_of(track) : NULL;
	if (!track)
		return;
	track->others = bytes;
	if (stretch && bytes > stretch->others)
		stretch->others = bytes;
}

bool tp_mempeak_pin(struct tp_mempeak *peaks, const struct tp_event *event, uint32_t device)
{
	struct track *track = reach_event(peaks, event, device);

	if (!track || track->pub.n_pins == TP_MEMPEAK_PINS)
		return false;
	track->pin[track->pub.n_pins++].pub.ns = event->begin_ns;
	return true;
}

/* The last stretch that begins at or before that time; 0 when none does. */
static uint32_t find_stretch(const struct track *track, int64_t ns)
{
	uint32_t low = 0, high = track->pub.n_stretches;

	while (high - low > 1) {
		const uint32_t middle = low + (high - low) / 2;

		if (track->pub.stretch[middle].begin_ns <= ns)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* died: the stretch in which that part of a life ends, its last one or one before it. */
static void add_part(struct tp_mempeak *peaks, struct track *track, const struct tp_life *life,
		     uint32_t died)
{
	const enum tp_tensor_category category = life->category;
	const uint32_t born = find_stretch(track, life->begin_ns);

	track->pub.byte_ns[category] += (double)life->bytes *
					(double)tp_sub(life->end_ns, life->begin_ns);
	for (uint32_t i = 0; i < 2; i++) {
		struct tp_stretch *stretch = &track->pub.stretch[i ? died : born];

		if (life->begin_ns <= stretch->peak_ns && life->end_ns > stretch->peak_ns)
			stretch->at_peak[category] =
				tp_add(stretch->at_peak[category], life->bytes);
		if (born == died)
			break;
	}
	if (died > born + 1) {
		int64_t *from = &track->difference[born + 1].bytes[category];
		int64_t *to = &track->difference[died].bytes[category];

		*from = tp_add(*from, life->bytes);
		*to = tp_sub(*to, life->bytes);
	}
	if (life->begin_ns <= track->current.peak_ns && life->end_ns > track->current.peak_ns)
		hold(peaks, &track->current.holders, life);
	if (track->has_best && life->begin_ns <= track->best.peak_ns &&
	    life->end_ns > track->best.peak_ns)
		hold(peaks, &track->best.holders, life);
	for (uint32_t i = 0; i < track->pub.n_pins; i++)
		if (life->begin_ns <= track->pin[i].pub.ns && life->end_ns > track->pin[i].pub.ns) {
			int64_t *bytes = &track->pin[i].pub.bytes[category];

			*bytes = tp_add(*bytes, life->bytes);
			hold(peaks, &track->pin[i].holders, life);
		}
}

void tp_mempeak_life(struct tp_mempeak *peaks, const struct tp_life *life)
{
	struct track *track = find_track(peaks, life->proc, life->device);
	struct tp_life part[TP_LIFE_PARTS];
	const uint32_t n = tp_life_parts(life, part);

	if (!track || !track->pub.n_stretches)
		return;
	/* It may live on, past stretches in which nothing happened. */
	reach(peaks, track, life->end_ns);
	for (uint32_t i = 0; i < n; i++)
		add_part(peaks, track, &part[i],
			 i + 1 < n ? find_stretch(track, part[i].end_ns)
				   : track->pub.n_stretches - 1);
}

/* ---- the end ---- */

/* Blocks that nobody named are what the ledger has beside those that are known; of a part of a step it says
 * only what there cannot have been. */
static void settle_by_ledger(struct tp_mempeak_track *track, uint32_t at, bool is_part)
{
	struct tp_stretch *stretch = &track->stretch[at];
	const int64_t bytes = tp_stretch_bytes(stretch);
	const int64_t more = tp_sub(height_of(bytes, stretch->most), bytes);

	if (!more || (is_part && more > 0) || stretch->at_peak[TP_TENSOR_UNKNOWN] + more < 0)
		return;
	stretch->at_peak[TP_TENSOR_UNKNOWN] += more;
	for (uint32_t i = 0; i < track->n_holders && at == track->best; i++) {
		struct tp_holder *holder = &track->holder[i];

		if (holder->name != TP_NO_NAME || holder->category != TP_TENSOR_UNKNOWN ||
		    holder->bytes + more < 0)
			continue;
		holder->bytes += more;
		return;
	}
}

static void finish_track(struct tp_mempeak *peaks, struct track *track)
{
	struct difference sum = {{0}};

	settle_holders(track);
	for (uint32_t i = 0; i < track->pub.n_stretches; i++)
		for (uint32_t c = 0; c < TP_TENSOR_N; c++) {
			int64_t *at_peak = &track->pub.stretch[i].at_peak[c];

			sum.bytes[c] = tp_add(sum.bytes[c], track->difference[i].bytes[c]);
			*at_peak = tp_add(*at_peak, sum.bytes[c]);
		}
	track->pub.best = track->best.stretch;
	track->pub.holder = tp_holders_sorted(&track->best.holders, &track->pub.n_holders);
	peaks->is_incomplete |= !track->pub.holder;
	for (uint32_t i = 0; i < track->pub.n_stretches; i++)
		settle_by_ledger(&track->pub, i, peaks->parts != 0);
	for (uint32_t i = 0; i < track->pub.n_pins; i++) {
		struct tp_pinned *pin = &track->pub.pin[i];

		*pin = track->pin[i].pub;
		pin->holder = tp_holders_sorted(&track->pin[i].holders, &pin->n_holders);
		peaks->is_incomplete |= !pin->holder;
	}
}

const struct tp_mempeak_track *tp_mempeak_end(struct tp_mempeak *peaks, uint32_t *n)
{
	*n = 0;
	peaks->result = calloc(peaks->n_tracks + 1, sizeof(*peaks->result));
	if (!peaks->result) {
		peaks->is_incomplete = true;
		return NULL;
	}
	for (uint32_t i = 0; i < peaks->n_tracks; i++) {
		finish_track(peaks, &peaks->track[i]);
		peaks->result[(*n)++] = peaks->track[i].pub;
	}
	return peaks->result;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mempeak_lives.c - lives of blocks, added to the peaks that they were there at; the sums in the end
 */
#include "merge/facts/tensor/mempeak.h"

#include <stdlib.h>

#include "merge/facts/tensor/mempeak_state.h"
#include "merge/kit/sum.h"

static void hold(struct tp_mempeak *peaks, struct tp_holders *holders, const struct tp_life *life)
{
	peaks->is_incomplete |= !tp_holders_add(holders, life);
}

/* The last stretch that begins at or before that time; 0 when none does. */
static uint32_t find_stretch(const struct tp_mempeak_device *track, int64_t ns)
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
static void add_part(struct tp_mempeak *peaks, struct tp_mempeak_device *track, const struct tp_life *life,
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
	struct tp_mempeak_device *track = tp_mempeak_find(peaks, life->proc, life->device);
	struct tp_life part[TP_LIFE_PARTS];
	const uint32_t n = tp_life_parts(life, part);

	if (!track || !track->pub.n_stretches)
		return;
	/* It may live on, past stretches in which nothing happened. */
	tp_mempeak_reach(peaks, track, life->end_ns);
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
	const int64_t more = tp_sub(tp_mempeak_height(bytes, stretch->most), bytes);

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

static void finish_track(struct tp_mempeak *peaks, struct tp_mempeak_device *track)
{
	struct tp_mempeak_difference sum = {{0}};

	tp_mempeak_settle(track);
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

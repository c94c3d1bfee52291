/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.c - slow steps, drift and high memory, from numbers
 *
 * The last durations are kept in order of time and in order of size: a step costs two moves of at most
 * 2 KiB, on the drain thread.
 */
#include "runtime/engine/trigger/watch.h"

#include <string.h>

/* Times the distance from the median to the 95th percentile, beyond that: 6.6 standard deviations where
 * noise is normal, more than both speeds of a machine that changes between two. What comes more
 * often than every 20 steps (a checkpoint every 10) is usual. */
enum { FENCE = 3, USUAL_PERCENT = 95 };

void tp_watch_init(struct tp_watch *watch, const struct tp_watch_spec *spec)
{
	memset(watch, 0, sizeof(*watch));
	watch->spec = *spec;
}

/* The first of `sorted` that is not less. */
static uint32_t find_place(const uint64_t *sorted, uint32_t n, uint64_t value)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (sorted[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void keep(struct tp_watch *watch, uint64_t duration)
{
	uint64_t *sorted = watch->sorted;
	uint32_t place;

	if (watch->n == TP_WATCH_STEPS) {
		place = find_place(sorted, watch->n, watch->recent[watch->at]);
		memmove(&sorted[place], &sorted[place + 1],
			(--watch->n - place) * sizeof(sorted[0]));
	}
	watch->recent[watch->at] = duration;
	watch->at = (watch->at + 1) % TP_WATCH_STEPS;
	place = find_place(sorted, watch->n, duration);
	memmove(&sorted[place + 1], &sorted[place], (watch->n++ - place) * sizeof(sorted[0]));
	sorted[place] = duration;
}

static uint32_t ratio_of(uint64_t value, uint64_t base)
{
	double ratio = (double)value * TP_WATCH_RATIO / (double)(base ? base : 1);

	return ratio < UINT32_MAX ? (uint32_t)ratio : UINT32_MAX;
}

static bool is_slow(const struct tp_watch *watch, uint64_t duration, uint64_t median)
{
	uint64_t usual = watch->sorted[watch->n * USUAL_PERCENT / 100];
	uint64_t fence = usual + FENCE * (usual - median);

	return watch->spec.slow && duration > fence &&
	       (double)duration * TP_WATCH_RATIO >= (double)median * watch->spec.slow;
}

/* Asked with a full ring only: the median of a few steps moves too easily. */
static bool has_drifted(struct tp_watch *watch, uint64_t median)
{
	const double limit = watch->spec.drift, now = (double)median * TP_WATCH_RATIO;
	bool was = watch->has_drifted;

	if (!watch->spec.drift || watch->n < TP_WATCH_STEPS)
		return false;
	if (!watch->lowest || median < watch->lowest)
		watch->lowest = median;
	if (now >= limit * (double)watch->lowest)
		watch->has_drifted = true;
	else if (now < (TP_WATCH_RATIO + limit) / 2 * (double)watch->lowest)
		watch->has_drifted = false;
	return watch->has_drifted && !was;
}

enum tp_watch_what tp_watch_step(struct tp_watch *watch, uint64_t duration, uint32_t *ratio)
{
	uint64_t median = watch->sorted[watch->n / 2];
	bool is_found = watch->n >= TP_WATCH_LEAST && is_slow(watch, duration, median);

	*ratio = ratio_of(duration, median);
	keep(watch, duration);
	median = watch->sorted[watch->n / 2];
	if (has_drifted(watch, median)) {
		*ratio = ratio_of(median, watch->lowest);
		return TP_WATCH_DRIFT;
	}
	return is_found ? TP_WATCH_SLOW : TP_WATCH_NOTHING;
}

static bool rises(bool *is_high, uint64_t bytes, uint64_t limit)
{
	bool was = *is_high;

	if (!limit)
		return false;
	if (bytes >= limit)
		*is_high = true;
	else if (bytes < limit - limit / 10)
		*is_high = false;
	return *is_high && !was;
}

enum tp_watch_what tp_watch_memory(struct tp_watch *watch, uint64_t bytes, uint64_t device_bytes)
{
	if (rises(&watch->is_device_high, device_bytes, watch->spec.device_memory))
		return TP_WATCH_DEVICE_MEMORY;
	return rises(&watch->is_high, bytes, watch->spec.memory) ? TP_WATCH_MEMORY
								 : TP_WATCH_NOTHING;
}

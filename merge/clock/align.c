/* SPDX-License-Identifier: Apache-2.0 */
/*
 * align.c - lines through clock anchors
 *
 * Pieces are at least a second long: an anchor is good to some 20 ns, so over a second the
 * rate is good to 20 ppb, while the kernel's own slewing of CLOCK_MONOTONIC, which the pieces
 * are there to follow, changes over seconds to minutes.
 */
#include "merge/clock/align.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/stats.h"

#define PIECE_NS 1000000000ull
#define ONE_TO_ONE (1ull << 32)
/* Slower than 100 MHz or faster than 10 GHz is no clock of a machine we know. */
#define RATE_LEAST (ONE_TO_ONE / 10)
#define RATE_MOST (ONE_TO_ONE * 10)

static int compare_anchors(const void *a, const void *b)
{
	const struct tp_clock_anchor *x = a, *y = b;

	if (x->ticks != y->ticks)
		return x->ticks < y->ticks ? -1 : 1;
	return (x->mono_ns > y->mono_ns) - (x->mono_ns < y->mono_ns);
}

static uint64_t rate_between(uint64_t ticks, uint64_t ns)
{
	unsigned __int128 rate = ((unsigned __int128)ns << 32) / ticks;

	if (rate < RATE_LEAST || rate > RATE_MOST)
		return 0;
	return (uint64_t)rate;
}

/* Sorted anchors without those that repeat or go backwards. */
static uint32_t drop_impossible(struct tp_align_map *map, struct tp_clock_anchor *anchor,
				uint32_t n)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct tp_clock_anchor *last = kept ? &anchor[kept - 1] : NULL;

		if (last && anchor[i].ticks == last->ticks &&
		    anchor[i].mono_ns == last->mono_ns)
			continue;
		/* The line must rise: times on it are compared. */
		if (anchor[i].mono_ns > TP_ALIGN_FAR ||
		    (last && (anchor[i].ticks <= last->ticks ||
			      anchor[i].mono_ns < last->mono_ns))) {
			map->n_violations++;
			continue;
		}
		anchor[kept++] = anchor[i];
	}
	return kept;
}

static int64_t line_error(const struct tp_align_map *map, const struct tp_clock_anchor *anchor,
			  uint32_t n)
{
	uint64_t bracket = 0;
	int64_t off = 0;
	uint32_t hint = 0;

	for (uint32_t i = 0; i < n; i++) {
		int64_t d = tp_align_ns(map, &hint, anchor[i].ticks) - (int64_t)anchor[i].mono_ns;

		if (d < 0)
			d = -d;
		if (d > off)
			off = d;
		if (anchor[i].bracket_ticks > bracket)
			bracket = anchor[i].bracket_ticks;
	}
	/* An absurd bracket is still a bound. */
	if (bracket > TP_ALIGN_FAR / 16)
		bracket = TP_ALIGN_FAR / 16;
	bracket = (uint64_t)((unsigned __int128)bracket * map->knot[0].rate >> 32);
	return (int64_t)(bracket / 2) + off + 1;
}

int tp_align_fit(struct tp_align_map *map, struct tp_clock_anchor *anchor, uint32_t n,
		 bool is_tsc)
{
	uint32_t n_knots = 0;

	memset(map, 0, sizeof(*map));
	if (!n)
		return -ENODATA;
	qsort(anchor, n, sizeof(anchor[0]), compare_anchors);
	n = drop_impossible(map, anchor, n);
	if (!n)
		return -ENODATA;
	map->knot = calloc(n + 1, sizeof(map->knot[0]));
	if (!map->knot)
		return -ENOMEM;

	for (uint32_t i = 0; i < n; i++) {
		struct tp_align_knot *k = &map->knot[n_knots];

		/* The last anchor is always a knot: it takes the place of one too near to it. */
		if (n_knots && anchor[i].mono_ns - (uint64_t)k[-1].ns < PIECE_NS) {
			if (i + 1 < n)
				continue;
			if (n_knots > 1)
				k--, n_knots--;
		}
		k->ticks = anchor[i].ticks;
		k->ns = (int64_t)anchor[i].mono_ns;
		n_knots++;
	}
	map->n_knots = n_knots;
	for (uint32_t i = 0; i < n_knots; i++) {
		struct tp_align_knot *k = &map->knot[i];

		if (i + 1 < n_knots)
			k->rate = rate_between(k[1].ticks - k->ticks, (uint64_t)(k[1].ns - k->ns));
		else
			k->rate = i ? k[-1].rate : is_tsc ? 0 : ONE_TO_ONE;
	}
	for (uint32_t i = 0; i < n_knots; i++) {
		if (map->knot[i].rate)
			continue;
		/* Ticks of unknown length: the order is right, the lengths are a guess. */
		for (uint32_t j = 0; j < n_knots; j++)
			map->knot[j].rate = ONE_TO_ONE;
		map->n_knots = 1;
		map->error_ns = TP_ALIGN_UNBOUNDED;
		return -ENODATA;
	}
	map->error_ns = line_error(map, anchor, n);
	return 0;
}

/* The other way round, as far as ticks go. */
static uint64_t ticks_at(const struct tp_align_map *map, int64_t ns)
{
	uint32_t at = 0;
	const struct tp_align_knot *k;
	unsigned __int128 d;

	while (at + 1 < map->n_knots && map->knot[at + 1].ns <= ns)
		at++;
	k = &map->knot[at];
	d = ((unsigned __int128)(uint64_t)(ns < k->ns ? k->ns - ns : ns - k->ns) << 32) / k->rate;
	if (ns < k->ns)
		return d > k->ticks ? 0 : k->ticks - (uint64_t)d;
	return d > TP_ALIGN_FAR ? k->ticks : k->ticks + (uint64_t)d;
}

static int64_t bent(const struct tp_align_bend *bend, uint32_t n, int64_t ns)
{
	uint32_t lo = 0, hi = n;

	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (bend[mid].ns <= ns)
			lo = mid;
		else
			hi = mid;
	}
	if (ns <= bend[lo].ns || lo + 1 == n)
		return bend[lo].run_ns + (ns - bend[lo].ns);
	return bend[lo].run_ns + (int64_t)((__int128)(ns - bend[lo].ns) *
					   (bend[lo + 1].run_ns - bend[lo].run_ns) /
					   (bend[lo + 1].ns - bend[lo].ns));
}

static int compare_knots(const void *a, const void *b)
{
	const struct tp_align_knot *x = a, *y = b;

	return (x->ticks > y->ticks) - (x->ticks < y->ticks);
}

int tp_align_bend(struct tp_align_map *map, const struct tp_align_bend *bend, uint32_t n)
{
	struct tp_align_knot *knot = calloc((size_t)map->n_knots + n, sizeof(*knot));
	uint64_t last_rate = map->n_knots ? map->knot[map->n_knots - 1].rate : 0;
	uint64_t longest = 0;
	uint32_t hint = 0, kept = 0, n_knots = map->n_knots + n;

	if (!knot)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_knots; i++) {
		knot[i].ticks = i < map->n_knots ? map->knot[i].ticks
						 : ticks_at(map, bend[i - map->n_knots].ns);
		knot[i].ns = bent(bend, n, tp_align_ns(map, &hint, knot[i].ticks));
	}
	qsort(knot, n_knots, sizeof(*knot), compare_knots);
	for (uint32_t i = 0; i < n_knots; i++) {
		if (kept && (knot[i].ticks <= knot[kept - 1].ticks ||
			     knot[i].ns <= knot[kept - 1].ns))
			continue;
		knot[kept++] = knot[i];
	}
	for (uint32_t i = 0; i + 1 < kept; i++) {
		uint64_t ticks = knot[i + 1].ticks - knot[i].ticks;

		knot[i].rate = rate_between(ticks, (uint64_t)(knot[i + 1].ns - knot[i].ns));
		if (!knot[i].rate)
			knot[i].rate = last_rate;
		if (ticks > longest)
			longest = ticks;
	}
	knot[kept - 1].rate = last_rate;
	free(map->knot);
	map->knot = knot;
	map->n_knots = kept;
	/* Rates have 32 fractional bits. */
	if (map->error_ns >= 0)
		map->error_ns += (int64_t)(longest >> 32) + 1;
	return 0;
}

void tp_align_free(struct tp_align_map *map)
{
	free(map->knot);
	memset(map, 0, sizeof(*map));
}

int64_t tp_align_real_offset(const struct tp_clock_anchor *anchor, uint32_t n)
{
	int64_t *d = n ? malloc(n * sizeof(d[0])) : NULL, median;

	if (!d)
		return n ? (int64_t)(anchor[0].real_ns - anchor[0].mono_ns) : 0;
	for (uint32_t i = 0; i < n; i++)
		d[i] = (int64_t)(anchor[i].real_ns - anchor[i].mono_ns);
	tp_sort_i64(d, n);
	median = d[n / 2];
	free(d);
	return median;
}

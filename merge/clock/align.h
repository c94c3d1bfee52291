/* SPDX-License-Identifier: Apache-2.0 */
/*
 * align.h - ticks of many processes -> nanoseconds of one run, with a stated error
 *
 * Pure functions: no files, no clock. A process's ticks become CLOCK_MONOTONIC of its host on
 * a line of pieces through its anchors. Processes of one host (one boot) share that clock and
 * nothing more is done to them: correcting what is already right would only add error. How
 * hosts are put side by side stands in place_hosts.c and clocks.h.
 */
#ifndef TP_MERGE_ALIGN_H
#define TP_MERGE_ALIGN_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/clock.h"

#define TP_ALIGN_UNBOUNDED (-1)	/* as an error: no bound is known */
#define TP_ALIGN_FAR (1ull << 61)	/* ns from a knot; what is further away is no time of a run */

struct tp_align_knot {
	uint64_t ticks;
	int64_t ns;
	uint64_t rate;		/* ns per tick from here on, 32 fractional bits */
};

struct tp_align_map {
	struct tp_align_knot *knot;	/* ascending in both ticks and ns */
	uint32_t n_knots;
	int64_t error_ns;		/* half the widest bracket, plus how far anchors lie off the line */
	uint32_t n_violations;		/* anchors whose clocks went backwards: not used */
};

/*
 * Anchors of one process in any order (they are sorted here). is_tsc: a tick is not a
 * nanosecond. 0, -ENOMEM, -ENODATA (no anchor; with is_tsc, no two anchors apart: the rate is
 * then taken from the anchors' realtime or left 1:1 and error_ns is TP_ALIGN_UNBOUNDED).
 */
int tp_align_fit(struct tp_align_map *map, struct tp_clock_anchor *anchor, uint32_t n,
		 bool is_tsc);
void tp_align_free(struct tp_align_map *map);

/* One more clock behind: from ns on, time is run_ns, straight up to the next; n of them, in
 * order. The map gives run_ns then. 0 or -ENOMEM (the map is what it was). */
struct tp_align_bend {
	int64_t ns, run_ns;
};
int tp_align_bend(struct tp_align_map *map, const struct tp_align_bend *bend, uint32_t n);

/* Difference REALTIME - MONOTONIC of a host: the median over its anchors. */
int64_t tp_align_real_offset(const struct tp_clock_anchor *anchor, uint32_t n);

/* Monotone in ticks. *hint (0 at first) is the piece used last: events come in some order. */
static inline int64_t tp_align_ns(const struct tp_align_map *map, uint32_t *hint,
				  uint64_t ticks)
{
	const struct tp_align_knot *k = &map->knot[*hint];
	unsigned __int128 ns;
	uint64_t d;

	if (__builtin_expect((ticks < k->ticks && *hint > 0) ||
			     (*hint + 1 < map->n_knots && ticks >= k[1].ticks), 0)) {
		uint32_t lo = 0, hi = map->n_knots;

		while (hi - lo > 1) {
			uint32_t mid = lo + (hi - lo) / 2;

			if (map->knot[mid].ticks <= ticks)
				lo = mid;
			else
				hi = mid;
		}
		*hint = lo;
		k = &map->knot[lo];
	}
	if (__builtin_expect(ticks >= k->ticks, 1)) {
		d = ticks - k->ticks;
		ns = (unsigned __int128)d * k->rate >> 32;
		return k->ns + (int64_t)(ns < TP_ALIGN_FAR ? ns : TP_ALIGN_FAR);
	}
	d = k->ticks - ticks;
	/* Rounded up, so that times before the first knot are monotone as well. */
	ns = ((unsigned __int128)d * k->rate + 0xffffffffu) >> 32;
	return k->ns - (int64_t)(ns < TP_ALIGN_FAR ? ns : TP_ALIGN_FAR);
}

/* A piece of a map by itself: of ticks less than n behind `from`, ns + ((ticks - from) * rate >> 32) is what
 * tp_align_ns() gives and `added` ns more. n 0: of none. */
struct tp_align_piece {
	uint64_t from, n, rate;
	int64_t ns;
};

static inline struct tp_align_piece tp_align_piece(const struct tp_align_map *map, uint32_t knot,
						   int64_t added)
{
	const struct tp_align_knot *k = &map->knot[knot];
	struct tp_align_piece piece = {.from = k->ticks, .rate = k->rate};
	unsigned __int128 most = UINT64_MAX;

	if (knot + 1 < map->n_knots)
		most = k[1].ticks - k->ticks;
	if (k->rate && most > ((unsigned __int128)TP_ALIGN_FAR << 32) / k->rate)
		most = ((unsigned __int128)TP_ALIGN_FAR << 32) / k->rate;
	if (!__builtin_add_overflow(k->ns, added, &piece.ns) && piece.ns < (int64_t)TP_ALIGN_FAR &&
	    piece.ns > -(int64_t)TP_ALIGN_FAR)
		piece.n = (uint64_t)most;
	return piece;
}

#endif

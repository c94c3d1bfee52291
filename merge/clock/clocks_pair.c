/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clocks_pair.c - one pair of hosts in one stretch: which lines its orders allow
 *
 * Orders that fit no line with the others are left out, those first that lie furthest off. Of
 * each set that contradicts itself at least one is wrong; which one nobody knows, so all go:
 * bounds become wider by that, never false.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "merge/clock/clocks_in.h"

enum {
	FEW_WRONG = 6,		/* orders: no reason to cut a stretch */
	SHARE_WRONG = 64,	/* or one in so many */
	MOST_TRIES = 48,
	CAREFUL_TRIES = 8,	/* then all go at once that are far off */
	MOST_WRONG = 5,		/* one order in so many: then the pair says nothing */
};
#define ROUNDED_NS 50.0		/* what is left of not knowing when an order was, and of rounding */

/* The first order whose sender's time is not before `ns`. */
static uint32_t find_first(const struct tp_clocks *clocks, const struct tp_clocks_way *way,
			   uint32_t from, int64_t ns)
{
	uint32_t lo = 0, hi = way->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (tp_clocks_time(clocks, from, way->moment[mid].sent_ns) < ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The orders of one way, as points off the line between the bases. Those before the first
 * stretch and between two belong to the stretch behind them. */
static int take_orders(const struct tp_clocks *clocks, const struct tp_clocks_pair *pair, int k,
		       const struct tp_clocks_stretch *stretch, bool is_rough,
		       struct tp_clocks_side *side)
{
	const struct tp_clocks_way *way = &pair->way[k];
	const struct tp_clocks_stretch *last = &clocks->stretch[clocks->n_stretches - 1];
	uint32_t from = k ? pair->b : pair->a, to = k ? pair->a : pair->b;
	int64_t base = clocks->host[pair->b].base_ns - clocks->host[pair->a].base_ns;
	int64_t after = stretch == clocks->stretch ? -TP_CLOCKS_FAR * 2 : stretch[-1].last_ns;
	int64_t until = stretch == last ? TP_CLOCKS_FAR * 2 : stretch->last_ns;
	uint32_t first = find_first(clocks, way, from, after);
	uint32_t end = find_first(clocks, way, from, until);

	side->n = end - first;
	side->point = malloc((side->n + 1) * sizeof(*side->point));
	if (!side->point)
		return -ENOMEM;
	for (uint32_t i = 0; i < side->n; i++) {
		const struct tp_clocks_moment *m = &way->moment[first + i];
		int64_t sent = tp_clocks_time(clocks, from, m->sent_ns);
		int64_t got = tp_clocks_time(clocks, to, m->got_ns);
		int64_t x = k ? m->sent_ns - m->got_ns - base : m->got_ns - m->sent_ns - base;
		/* The clocks drift while the order is on its way. */
		double slack = is_rough ? 0
					: fabs((double)(got - sent)) / 1e9 * TP_CLOCKS_DRIFT +
						  ROUNDED_NS;

		side->point[i] = (struct tp_hull_point){
			.t = (double)(sent - stretch->first_ns) / 1e9,
			.x = (double)x + (k ? -slack : slack),
			.own = (double)x,
		};
	}
	return 0;
}

static bool drop_point(struct tp_clocks_side *side, uint32_t at)
{
	if (at >= side->n)
		return false;
	memmove(&side->point[at], &side->point[at + 1], (side->n - at - 1) * sizeof(*side->point));
	side->n--;
	return true;
}

/* The later first: the others' indices stay. */
static uint32_t drop_tight(struct tp_clocks_side *side, const uint32_t tight[2])
{
	uint32_t n = 0;

	if (tight[1] != UINT32_MAX)
		n += drop_point(side, tight[1]);
	if (tight[0] != UINT32_MAX)
		n += drop_point(side, tight[0]);
	return n;
}

/* All that the nearest line misses by more than half of its worst. */
static uint32_t drop_far(struct tp_clocks_side *side, const struct tp_hull_lines *lines, int k)
{
	const struct tp_hull_corner *c = &lines->nearest;
	double middle = (c->low + c->high) / 2;
	uint32_t kept = 0, n = side->n;

	for (uint32_t i = 0; i < n; i++) {
		const struct tp_hull_point *p = &side->point[i];
		double off = middle + c->slope * p->t - p->x;

		if ((k ? -off : off) <= lines->miss / 2)
			side->point[kept++] = *p;
	}
	side->n = kept;
	return n - kept;
}

static int fit(struct tp_hull_lines *lines, const struct tp_clocks_side *side)
{
	return tp_hull_fit(lines, side[0].point, side[0].n, side[1].point, side[1].n,
			   TP_CLOCKS_DRIFT);
}

/* Drops what contradicts until a line fits or too much is gone. */
static int fit_without_wrong(struct tp_clocks *clocks, struct tp_clocks_stretch *stretch,
			     struct tp_clocks_side *side, bool may_cut, struct tp_hull_lines *lines)
{
	uint32_t n_orders = side[0].n + side[1].n, n_dropped = 0, n_tries = 0;
	bool can_cut = may_cut &&
		       stretch->last_ns - stretch->first_ns >= 2 * TP_CLOCKS_LEAST_NS;
	int err = fit(lines, side);

	while (!err && !lines->n_corners) {
		if (can_cut && n_dropped > FEW_WRONG && n_dropped > n_orders / SHARE_WRONG) {
			stretch->is_cut_wanted = true;
			return 0;
		}
		if (n_tries++ == MOST_TRIES || n_dropped > n_orders / MOST_WRONG) {
			clocks->n_dropped += n_orders;
			return 0;
		}
		if (n_tries > CAREFUL_TRIES)
			n_dropped += drop_far(&side[0], lines, 0) + drop_far(&side[1], lines, 1);
		else
			n_dropped += drop_tight(&side[0], lines->tight_upper) +
				     drop_tight(&side[1], lines->tight_lower);
		tp_hull_free(lines);
		err = fit(lines, side);
	}
	clocks->n_dropped += n_dropped;
	return err;
}

/* The line that misses least, as if it missed nothing: at both ends of the stretch. */
static int take_nearest(const struct tp_hull_lines *lines, double seconds,
			struct tp_clocks_side *side)
{
	const struct tp_hull_corner *c = &lines->nearest;
	double middle = (c->low + c->high) / 2;

	for (int k = 0; k < 2; k++) {
		struct tp_hull_point *two = realloc(side[k].point, 2 * sizeof(*two));
		double off = k ? -lines->miss : lines->miss;

		if (!two)
			return -ENOMEM;
		side[k].point = two;
		side[k].n = 2;
		two[0] = (struct tp_hull_point){.t = 0, .x = middle + off};
		two[1] = (struct tp_hull_point){
			.t = seconds, .x = middle + off + c->slope * seconds};
	}
	return 0;
}

int tp_clocks_bound_pair(struct tp_clocks *clocks, const struct tp_clocks_pair *pair,
			 struct tp_clocks_stretch *stretch, bool is_rough, bool may_cut,
			 struct tp_clocks_bounds *bounds)
{
	struct tp_clocks_side *side = bounds->side;
	struct tp_hull_lines lines = {0};
	int err = 0;

	*bounds = (struct tp_clocks_bounds){0};
	if (!clocks->host[pair->a].is_reached || !clocks->host[pair->b].is_reached)
		return 0;
	for (int k = 0; k < 2 && !err; k++)
		err = take_orders(clocks, pair, k, stretch, is_rough, &side[k]);
	if (!err && is_rough)
		err = fit(&lines, side);
	else if (!err)
		err = fit_without_wrong(clocks, stretch, side, may_cut, &lines);
	if (!err && !lines.n_corners && is_rough)
		err = take_nearest(&lines,
				   (double)(stretch->last_ns - stretch->first_ns) / 1e9 + 1e-3,
				   side);
	else if (!err && !lines.n_corners)
		side[0].n = side[1].n = 0;
	for (int k = 0; k < 2 && !err; k++) {
		uint32_t n = side[k].n;

		side[k].n = tp_hull_keep(side[k].point, n, !k);
		err = n && !side[k].n ? -ENOMEM : 0;
	}
	tp_hull_free(&lines);
	return err;
}

void tp_clocks_bounds_free(struct tp_clocks_bounds *bounds)
{
	free(bounds->side[0].point);
	free(bounds->side[1].point);
	*bounds = (struct tp_clocks_bounds){0};
}

int tp_clocks_bounds_at(const struct tp_clocks_bounds *bounds, const double *t, uint32_t n,
			struct tp_clocks_range *range)
{
	struct tp_hull_lines lines;
	int err = fit(&lines, bounds->side);

	for (uint32_t i = 0; i < n && !err; i++) {
		range[i] = (struct tp_clocks_range){-INFINITY, INFINITY, 0};
		if (lines.n_corners)
			tp_hull_range(&lines, t[i], &range[i].low, &range[i].high);
	}
	tp_hull_free(&lines);
	return err;
}

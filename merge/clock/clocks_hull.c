/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clocks_hull.c - convex hulls of bounds, and the lines that fit between them
 */
#include "merge/clock/clocks_hull.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Corners of the hull that faces the lines, by t; `sign` 1: below upper points, -1: above lower
 * ones. */
struct hull {
	const struct tp_hull_point *point;
	uint32_t *at;
	uint32_t n;
	double sign;
};

static double edge(const struct hull *hull, uint32_t i)
{
	const struct tp_hull_point *a = &hull->point[hull->at[i]];
	const struct tp_hull_point *b = &hull->point[hull->at[i + 1]];

	return (b->x - a->x) / (b->t - a->t);
}

static int make_hull(struct hull *hull, const struct tp_hull_point *point, uint32_t n, double sign)
{
	*hull = (struct hull){.point = point, .sign = sign};
	hull->at = malloc((n + 1) * sizeof(*hull->at));
	if (!hull->at)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		const struct tp_hull_point *p = &point[i];

		/* Of several at one time the one that bounds most. */
		if (hull->n && point[hull->at[hull->n - 1]].t >= p->t) {
			if (sign * point[hull->at[hull->n - 1]].x <= sign * p->x)
				continue;
			hull->n--;
		}
		while (hull->n > 1) {
			const struct tp_hull_point *a = &point[hull->at[hull->n - 2]];
			const struct tp_hull_point *b = &point[hull->at[hull->n - 1]];
			double turn = (b->x - a->x) * (p->t - a->t) - (p->x - a->x) * (b->t - a->t);

			if (sign * turn < 0)
				break;
			hull->n--;
		}
		hull->at[hull->n++] = i;
	}
	return 0;
}

/* The corner that a line of this slope touches. */
static uint32_t touched(const struct hull *hull, double slope)
{
	uint32_t lo = 0, hi = hull->n - 1;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (hull->sign * edge(hull, mid) < hull->sign * slope)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* At t 0, of the line of this slope that touches the hull. */
static double intercept(const struct hull *hull, double slope)
{
	const struct tp_hull_point *p;

	if (!hull->n)
		return hull->sign * INFINITY;
	p = &hull->point[hull->at[touched(hull, slope)]];
	return p->x - slope * p->t;
}

static void note_tight(const struct hull *hull, double slope, uint32_t tight[2])
{
	uint32_t at = touched(hull, slope);

	tight[0] = hull->at[at];
	/* On an edge: both its ends. */
	if (at + 1 < hull->n && fabs(edge(hull, at) - slope) <= 1e-9 * (1 + fabs(slope)))
		tight[1] = hull->at[at + 1];
}

static int compare_slopes(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static uint32_t take_slopes(const struct hull *hull, double most, double *slope, uint32_t n)
{
	for (uint32_t i = 0; i + 1 < hull->n; i++) {
		double s = edge(hull, i);

		if (s > -most && s < most)
			slope[n++] = s;
	}
	return n;
}

static struct tp_hull_corner corner_at(const struct hull *upper, const struct hull *lower,
				       double slope)
{
	return (struct tp_hull_corner){slope, intercept(lower, slope), intercept(upper, slope)};
}

/* Where high - low of two neighbours crosses zero. */
static double crossing(const struct tp_hull_corner *a, const struct tp_hull_corner *b)
{
	double ga = a->high - a->low, gb = b->high - b->low;

	return a->slope + (b->slope - a->slope) * (ga / (ga - gb));
}

/* Of all slopes in order those for which a line is possible, and where that ends. */
static void keep_possible(struct tp_hull_lines *lines, const struct hull *upper,
			  const struct hull *lower)
{
	const struct tp_hull_corner *all = lines->corner;
	uint32_t n = lines->n_corners, first = 0, last, best = 0, kept = 0;
	struct tp_hull_corner before, behind;
	bool has_before, has_behind;

	for (uint32_t i = 1; i < n; i++) {
		if (all[i].high - all[i].low > all[best].high - all[best].low)
			best = i;
	}
	lines->nearest = all[best];
	if (all[best].high < all[best].low) {
		lines->miss = (all[best].low - all[best].high) / 2;
		note_tight(upper, all[best].slope, lines->tight_upper);
		note_tight(lower, all[best].slope, lines->tight_lower);
		lines->n_corners = 0;
		return;
	}
	while (all[first].high < all[first].low)
		first++;
	last = n - 1;
	while (all[last].high < all[last].low)
		last--;
	has_before = first > 0;
	has_behind = last + 1 < n;
	if (has_before)
		before = corner_at(upper, lower, crossing(&all[first - 1], &all[first]));
	if (has_behind)
		behind = corner_at(upper, lower, crossing(&all[last], &all[last + 1]));
	/* There is room for both: each stands for at least one that is left out. */
	memmove(lines->corner + has_before, all + first, (last - first + 1) * sizeof(*all));
	kept = last - first + 1;
	if (has_before) {
		lines->corner[0] = before;
		kept++;
	}
	if (has_behind)
		lines->corner[kept++] = behind;
	lines->n_corners = kept;
}

int tp_hull_fit(struct tp_hull_lines *lines, const struct tp_hull_point *upper, uint32_t n_upper,
		const struct tp_hull_point *lower, uint32_t n_lower, double most_slope)
{
	struct hull below = {0}, above = {0};
	double *slope = NULL;
	uint32_t n = 0;
	int err;

	*lines = (struct tp_hull_lines){.tight_upper = {UINT32_MAX, UINT32_MAX},
					.tight_lower = {UINT32_MAX, UINT32_MAX}};
	err = make_hull(&below, upper, n_upper, 1);
	if (!err)
		err = make_hull(&above, lower, n_lower, -1);
	if (!err) {
		slope = malloc(((size_t)below.n + above.n + 2) * sizeof(*slope));
		lines->corner = malloc(((size_t)below.n + above.n + 2) * sizeof(*lines->corner));
		err = slope && lines->corner ? 0 : -ENOMEM;
	}
	if (!err) {
		slope[n++] = -most_slope;
		n = take_slopes(&below, most_slope, slope, n);
		n = take_slopes(&above, most_slope, slope, n);
		slope[n++] = most_slope;
		qsort(slope, n, sizeof(*slope), compare_slopes);
		for (uint32_t i = 0; i < n; i++)
			lines->corner[i] = corner_at(&below, &above, slope[i]);
		lines->n_corners = n;
		keep_possible(lines, &below, &above);
	}
	free(below.at);
	free(above.at);
	free(slope);
	if (err)
		tp_hull_free(lines);
	return err;
}

uint32_t tp_hull_keep(struct tp_hull_point *point, uint32_t n, bool is_upper)
{
	struct hull hull;

	if (make_hull(&hull, point, n, is_upper ? 1 : -1))
		return 0;
	for (uint32_t i = 0; i < hull.n; i++)
		point[i] = point[hull.at[i]];
	free(hull.at);
	return hull.n;
}

void tp_hull_free(struct tp_hull_lines *lines)
{
	free(lines->corner);
	lines->corner = NULL;
	lines->n_corners = 0;
}

void tp_hull_range(const struct tp_hull_lines *lines, double t, double *low, double *high)
{
	*low = INFINITY;
	*high = -INFINITY;
	for (uint32_t i = 0; i < lines->n_corners; i++) {
		const struct tp_hull_corner *c = &lines->corner[i];

		if (c->low + c->slope * t < *low)
			*low = c->low + c->slope * t;
		if (c->high + c->slope * t > *high)
			*high = c->high + c->slope * t;
	}
}

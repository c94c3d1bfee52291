/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clocks_hull.h - all lines between points that they must stay below and above
 *
 * Pure geometry. A line x = a + slope * t that stays below every upper point touches at most
 * their convex hull; for each slope the highest one is known, and likewise the lowest above
 * all lower points. Slopes for which the one lies above the other are all that is possible:
 * between the slopes of the hulls' edges both are straight, so corners say everything.
 */
#ifndef TP_MERGE_CLOCKS_HULL_H
#define TP_MERGE_CLOCKS_HULL_H

#include <stdbool.h>
#include <stdint.h>

struct tp_hull_point {
	double t, x;
	double own;		/* the caller's: not looked at */
};

struct tp_hull_corner {
	double slope;
	double low, high;	/* at t 0: of the lowest and the highest line of this slope */
};

struct tp_hull_lines {
	struct tp_hull_corner *corner;	/* by slope; none: no line is possible */
	uint32_t n_corners;
	/* Where there is none: the line that misses by least, by how much, and the points that
	 * it misses so far (indices, UINT32_MAX: none). */
	struct tp_hull_corner nearest;
	double miss;
	uint32_t tight_upper[2], tight_lower[2];
};

/*
 * Points ascend in t; either array may be empty (then low or high are infinite). Slopes are
 * within +- most_slope. 0 or -ENOMEM.
 */
int tp_hull_fit(struct tp_hull_lines *lines, const struct tp_hull_point *upper, uint32_t n_upper,
		const struct tp_hull_point *lower, uint32_t n_lower, double most_slope);
/* Only the points that may matter stay, in order; is_upper: below them runs the line. Returns
 * how many. 0 with points: out of memory. */
uint32_t tp_hull_keep(struct tp_hull_point *point, uint32_t n, bool is_upper);
void tp_hull_free(struct tp_hull_lines *lines);

/* Bounds on all possible lines at t. */
void tp_hull_range(const struct tp_hull_lines *lines, double t, double *low, double *high);

#endif

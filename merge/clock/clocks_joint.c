/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clocks_joint.c - a few hosts at once: what all ways through other hosts allow together
 *
 * Lines add up along a way, and so do the ranges of their values at any moment. At a row of
 * moments, also outside the stretch (they stand for the slopes), each pair's range becomes
 * what the shortest ways allow; as points these bound the pair's lines again, which makes its
 * ranges at other moments narrower, and so on: a few times are enough.
 *
 * Then one host after the other gets the middle of what is left to it, which leaves less to
 * the next: so no two of these lines contradict an order.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "merge/clock/clocks_in.h"

enum { TIMES = 3 };
#define LEAST_GAP_NS 1.0	/* ranges are not made narrower: rounding would cross them */

struct joint {
	uint32_t n_hosts, n;		/* n moments */
	const double *t;
	const struct tp_clocks_bounds *of[TP_CLOCKS_JOINT][TP_CLOCKS_JOINT];	/* i < j; or NULL */
	/* [moment][i][j]: j ahead of i at most. */
	double most[TP_CLOCKS_MOMENTS][TP_CLOCKS_JOINT][TP_CLOCKS_JOINT];
};

static void shorten(struct joint *joint)
{
	const uint32_t n = joint->n_hosts;

	for (uint32_t m = 0; m < joint->n; m++) {
		double (*most)[TP_CLOCKS_JOINT] = joint->most[m];

		for (uint32_t k = 0; k < n; k++)
			for (uint32_t i = 0; i < n; i++)
				for (uint32_t j = 0; j < n; j++)
					if (i != j && most[i][k] + most[k][j] < most[i][j])
						most[i][j] = most[i][k] + most[k][j];
	}
}

static int compare_points(const void *a, const void *b)
{
	const struct tp_hull_point *x = a, *y = b;

	return (x->t > y->t) - (x->t < y->t);
}

/* Its orders, and what is known of its values at the moments. */
static int gather(const struct joint *joint, uint32_t i, uint32_t j, struct tp_clocks_bounds *all)
{
	const struct tp_clocks_bounds *own = joint->of[i][j];

	*all = (struct tp_clocks_bounds){0};
	for (int k = 0; k < 2; k++) {
		struct tp_clocks_side *side = &all->side[k];
		uint32_t n = own ? own->side[k].n : 0;

		side->point = malloc((n + joint->n) * sizeof(*side->point));
		if (!side->point)
			return -ENOMEM;
		if (n)
			memcpy(side->point, own->side[k].point, n * sizeof(*side->point));
		side->n = n;
		for (uint32_t m = 0; m < joint->n; m++) {
			double x = k ? -joint->most[m][j][i] : joint->most[m][i][j];

			if (isfinite(x))
				side->point[side->n++] = (struct tp_hull_point){
					.t = joint->t[m], .x = x};
		}
		qsort(side->point, side->n, sizeof(*side->point), compare_points);
	}
	return 0;
}

/* Each pair's lines, within what is known by now. */
static int narrow(struct joint *joint)
{
	struct tp_clocks_range range[TP_CLOCKS_MOMENTS];
	int err = 0;

	for (uint32_t i = 0; i < joint->n_hosts; i++) {
		for (uint32_t j = i + 1; j < joint->n_hosts && !err; j++) {
			struct tp_clocks_bounds all;

			err = gather(joint, i, j, &all);
			if (!err)
				err = tp_clocks_bounds_at(&all, joint->t, joint->n, range);
			for (uint32_t m = 0; m < joint->n && !err; m++) {
				if (!(range[m].high - range[m].low >= LEAST_GAP_NS))
					continue;
				joint->most[m][i][j] = fmin(joint->most[m][i][j], range[m].high);
				joint->most[m][j][i] = fmin(joint->most[m][j][i], -range[m].low);
			}
			tp_clocks_bounds_free(&all);
		}
	}
	return err;
}

static int close_all(struct joint *joint, uint32_t n_times)
{
	int err = 0;

	for (uint32_t i = 0; i < n_times && !err; i++) {
		shorten(joint);
		err = narrow(joint);
	}
	shorten(joint);
	return err;
}

/* Host h runs in the middle from now on: a straight line through both ends of the stretch. */
static void settle(struct joint *joint, uint32_t h, uint32_t first, uint32_t last)
{
	double from = (joint->most[first][0][h] - joint->most[first][h][0]) / 2;
	double to = (joint->most[last][0][h] - joint->most[last][h][0]) / 2;
	double seconds = joint->t[last] - joint->t[first];
	double slope = seconds > 0 ? (to - from) / seconds : 0;

	if (!isfinite(from) || !isfinite(to))
		return;
	for (uint32_t m = 0; m < joint->n; m++) {
		double x = from + slope * (joint->t[m] - joint->t[first]);

		joint->most[m][0][h] = x + LEAST_GAP_NS;
		joint->most[m][h][0] = -x + LEAST_GAP_NS;
	}
}

int tp_clocks_bound_joint(const struct tp_clocks *clocks, const struct tp_clocks_bounds *bounds,
			  const double *t, uint32_t n, struct tp_clocks_range *range)
{
	static const double outside[] = {-10, -3, -1, -0.3, 0.3, 0.7, 1.3, 2, 4, 11};
	const uint32_t n_hosts = clocks->n_hosts;
	double moment[TP_CLOCKS_MOMENTS], seconds = fmax(t[n - 1] - t[0], 1e-3);
	struct joint *joint = malloc(sizeof(*joint));
	int err;

	if (!joint)
		return -ENOMEM;
	memset(joint->of, 0, sizeof(joint->of));
	memcpy(moment, t, n * sizeof(*t));
	joint->n_hosts = n_hosts;
	joint->t = moment;
	joint->n = n;
	for (uint32_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++)
		moment[joint->n++] = t[0] + outside[i] * seconds;
	for (uint32_t m = 0; m < joint->n; m++)
		for (uint32_t i = 0; i < n_hosts; i++)
			for (uint32_t j = 0; j < n_hosts; j++)
				joint->most[m][i][j] = i == j ? 0 : INFINITY;
	for (uint32_t k = 0; k < clocks->n_pairs; k++)
		joint->of[clocks->pair[k].a][clocks->pair[k].b] = &bounds[k];
	err = narrow(joint);
	if (!err)
		err = close_all(joint, TIMES);
	for (uint32_t m = 0; m < n; m++)
		for (uint32_t h = 0; h < n_hosts; h++)
			range[m * n_hosts + h] = (struct tp_clocks_range){
				.low = -joint->most[m][h][0], .high = joint->most[m][0][h]};
	for (uint32_t h = 1; h < n_hosts && !err; h++) {
		settle(joint, h, 0, n - 1);
		for (uint32_t m = 0; m < n; m++)
			range[m * n_hosts + h].at =
				(joint->most[m][0][h] - joint->most[m][h][0]) / 2;
		err = close_all(joint, 1);
	}
	free(joint);
	return err;
}

/* ---- the last nanoseconds ---- */

enum { SWEEPS = 400 };
#define ROOM_NS 30.0		/* that a line keeps to each order */

/* A host's line, by its values at both ends of the stretch. */
struct line {
	double value[2];
};

/* Moves the lines of two hosts just so far that the point is no longer missed. */
static bool move_lines(struct line *a, struct line *b, bool is_a_fixed,
		       const struct tp_hull_point *point, bool is_upper, double seconds)
{
	double w[2] = {1 - point->t / seconds, point->t / seconds};
	double ahead = (b->value[0] - a->value[0]) * w[0] + (b->value[1] - a->value[1]) * w[1];
	double miss = is_upper ? ahead - point->own + ROOM_NS : point->own + ROOM_NS - ahead;
	double step;

	/* Also when one of them is not bounded. */
	if (!(miss > 0))
		return false;
	step = miss / ((w[0] * w[0] + w[1] * w[1]) * (is_a_fixed ? 1 : 2)) * (is_upper ? -1 : 1);
	for (int k = 0; k < 2; k++) {
		b->value[k] += step * w[k];
		a->value[k] -= is_a_fixed ? 0 : step * w[k];
	}
	return true;
}

int tp_clocks_settle(const struct tp_clocks *clocks, const struct tp_clocks_bounds *bounds,
		     const double *t, uint32_t n, struct tp_clocks_range *range)
{
	const uint32_t n_hosts = clocks->n_hosts;
	struct tp_clocks_range *last = &range[(size_t)(n - 1) * n_hosts];
	double seconds = fmax(t[n - 1] - t[0], 1e-3);
	struct line *line = calloc(n_hosts + 1, sizeof(*line));
	bool is_moved = n > 1;

	if (!line)
		return -ENOMEM;
	for (uint32_t h = 0; h < n_hosts; h++)
		line[h] = (struct line){{range[h].at, last[h].at}};
	for (uint32_t i = 0; i < SWEEPS && is_moved; i++) {
		is_moved = false;
		for (uint32_t k = 0; k < clocks->n_pairs; k++) {
			const struct tp_clocks_pair *pair = &clocks->pair[k];

			for (int way = 0; way < 2; way++)
				for (uint32_t p = 0; p < bounds[k].side[way].n; p++)
					is_moved |= move_lines(
						&line[pair->a], &line[pair->b], !pair->a,
						&bounds[k].side[way].point[p], !way, seconds);
		}
	}
	for (uint32_t m = 0; m < n; m++)
		for (uint32_t h = 1; h < n_hosts; h++)
			range[(size_t)m * n_hosts + h].at =
				line[h].value[0] +
				(line[h].value[1] - line[h].value[0]) * (t[m] - t[0]) / seconds;
	free(line);
	return 0;
}

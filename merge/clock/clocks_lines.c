/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clocks_lines.c - what the orders of all pairs say -> a line of each host, with bounds
 *
 * At some moments of each stretch it is told between which bounds each host's clock lies, through all
 * ways over other hosts; a line goes through the middle of them.
 */
#include "merge/clock/clocks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "merge/clock/clocks_in.h"
#include "merge/kit/grow.h"
#include "merge/kit/sum.h"

enum { MOST_WAYS = 64 };	/* hosts in a row */

/* ---- bounds of all hosts at all moments ---- */

struct bounds {
	int64_t at_ns;
	bool is_first, is_last;	/* of its stretch: the line bends there at most */
};

struct round {
	struct bounds *moment;
	uint32_t n, cap;
	struct tp_clocks_range *range;	/* n rows of n_hosts */
	uint32_t cap_ranges;
};

/* Through one pair, from a host whose clock is bounded to the other. */
static bool relax(struct tp_clocks_range *to, const struct tp_clocks_range *from, double low,
		  double high)
{
	bool is_better = false;

	if (from->low + low > to->low) {
		to->low = from->low + low;
		is_better = true;
	}
	if (from->high + high < to->high) {
		to->high = from->high + high;
		is_better = true;
	}
	return is_better;
}

/* Shortest ways from host 0 over all pairs; of_pair: n moments of each. */
static void join_hosts(const struct tp_clocks *clocks, const struct tp_clocks_range *of_pair,
		       uint32_t n, struct tp_clocks_range *range)
{
	bool is_better = true;

	for (uint32_t i = 0; i < clocks->n_hosts; i++)
		range[i] = (struct tp_clocks_range){i ? -INFINITY : 0, i ? INFINITY : 0, 0};
	/* Contradictions would go round for ever. */
	for (uint32_t i = 0; is_better && i < clocks->n_hosts && i < MOST_WAYS; i++) {
		is_better = false;
		for (uint32_t k = 0; k < clocks->n_pairs; k++) {
			const struct tp_clocks_pair *pair = &clocks->pair[k];
			const struct tp_clocks_range *r = &of_pair[(size_t)k * n];
			struct tp_clocks_range *a = &range[pair->a], *b = &range[pair->b];

			is_better |= relax(b, a, r->low, r->high);
			is_better |= pair->a && relax(a, b, -r->high, -r->low);
		}
	}
	for (uint32_t i = 0; i < clocks->n_hosts; i++)
		range[i].at = (range[i].low + range[i].high) / 2;
}

/* Many hosts: at each moment by itself. */
static int bound_each(const struct tp_clocks *clocks, const struct tp_clocks_bounds *bounds,
		      const double *t, uint32_t n, struct tp_clocks_range *range)
{
	struct tp_clocks_range *of_pair = calloc((size_t)n * clocks->n_pairs + 1, sizeof(*of_pair));
	int err = of_pair ? 0 : -ENOMEM;

	for (uint32_t k = 0; k < clocks->n_pairs && !err; k++)
		err = tp_clocks_bounds_at(&bounds[k], t, n, &of_pair[(size_t)k * n]);
	for (uint32_t i = 0; i < n && !err; i++)
		join_hosts(clocks, of_pair + i, n, &range[(size_t)i * clocks->n_hosts]);
	free(of_pair);
	return err;
}

/* The host's own bounds there, and what those at another moment allow. */
static void carry(struct tp_clocks_range *to, const struct tp_clocks_range *from, int64_t ns)
{
	double drift = (double)ns / 1e9 * TP_CLOCKS_DRIFT;
	double low = fmax(to->low, from->low - drift), high = fmin(to->high, from->high + drift);

	if (low <= high) {
		to->low = low;
		to->high = high;
	}
}

static void carry_on(const struct tp_clocks *clocks, struct round *round)
{
	const uint32_t n = clocks->n_hosts;

	for (uint32_t k = 1; k + 1 < 2 * round->n; k++) {
		/* There and back again. */
		bool is_back = k >= round->n;
		uint32_t to = is_back ? 2 * round->n - 2 - k : k;
		uint32_t from = is_back ? to + 1 : to - 1;
		int64_t ns = round->moment[to].at_ns - round->moment[from].at_ns;

		for (uint32_t h = 1; h < n; h++)
			carry(&round->range[(size_t)to * n + h],
			      &round->range[(size_t)from * n + h], ns < 0 ? -ns : ns);
	}
}

static bool is_joint(const struct tp_clocks *clocks)
{
	return clocks->n_hosts > 2 && clocks->n_hosts <= TP_CLOCKS_JOINT &&
	       clocks->n_stretches <= TP_CLOCKS_INNER_STRETCHES;
}

static int bound_stretch(struct tp_clocks *clocks, struct tp_clocks_stretch *stretch,
			 struct round *round, bool is_rough, bool may_cut)
{
	struct tp_clocks_bounds *bounds = calloc(clocks->n_pairs + 1, sizeof(*bounds));
	int64_t moment[TP_CLOCKS_IN_STRETCH];
	double t[TP_CLOCKS_IN_STRETCH];
	uint32_t n = tp_clocks_moments(clocks, stretch, moment), n_hosts = clocks->n_hosts;
	struct tp_clocks_range *range;
	int err = bounds ? 0 : -ENOMEM;

	stretch->is_cut_wanted = false;
	for (uint32_t k = 0; k < clocks->n_pairs && !err; k++)
		err = tp_clocks_bound_pair(clocks, &clocks->pair[k], stretch, is_rough, may_cut,
					   &bounds[k]);
	if (!err && (!tp_grow(&round->moment, &round->cap, (uint64_t)round->n + n,
			      sizeof(*round->moment)) ||
		     !tp_grow(&round->range, &round->cap_ranges,
			      (uint64_t)(round->n + n) * n_hosts, sizeof(*round->range))))
		err = -ENOMEM;
	for (uint32_t i = 0; i < n && !err; i++) {
		t[i] = (double)(moment[i] - stretch->first_ns) / 1e9;
		round->moment[round->n + i] = (struct bounds){moment[i], i == 0, i == n - 1};
	}
	if (!err) {
		range = &round->range[(size_t)round->n * n_hosts];
		err = is_joint(clocks) && !is_rough
			      ? tp_clocks_bound_joint(clocks, bounds, t, n, range)
			      : bound_each(clocks, bounds, t, n, range);
		if (!err && !is_rough)
			err = tp_clocks_settle(clocks, bounds, t, n, range);
		round->n += n;
	}
	/* Pairs that contradict each other. */
	for (size_t i = 0; i < (size_t)n * n_hosts && !err; i++) {
		if (range[i].low > range[i].high && may_cut &&
		    stretch->last_ns - stretch->first_ns >= 2 * TP_CLOCKS_LEAST_NS)
			stretch->is_cut_wanted = true;
	}
	for (uint32_t k = 0; bounds && k < clocks->n_pairs; k++)
		tp_clocks_bounds_free(&bounds[k]);
	free(bounds);
	return err;
}

/* ---- lines ---- */

void tp_clocks_forget(struct tp_clocks *clocks)
{
	for (uint32_t i = 0; i < clocks->n_hosts; i++) {
		free(clocks->host[i].line.point);
		clocks->host[i].line = (struct tp_clocks_host){0};
	}
}

static int64_t rounded(double ns)
{
	return (int64_t)llround(ns);
}

/* Between the knots around moment i, in ns off the host's base. */
static double line_at(const struct round *round, const double *middle, uint32_t i)
{
	uint32_t before = i, behind = i;
	double part;

	while (!round->moment[before].is_first)
		before--;
	while (!round->moment[behind].is_last)
		behind++;
	if (round->moment[behind].at_ns == round->moment[before].at_ns)
		return middle[before];
	part = (double)(round->moment[i].at_ns - round->moment[before].at_ns) /
	       (double)(round->moment[behind].at_ns - round->moment[before].at_ns);
	return middle[before] + (middle[behind] - middle[before]) * part;
}

/* Where the line of a host runs at moment i; before: where it did at the one before. */
static double middle_of(const struct round *round, const struct tp_clocks_range *r,
			const double *before, uint32_t i)
{
	double middle = (r->low + r->high) / 2, drift;

	if (isfinite(r->at))
		middle = fmin(fmax(r->at, r->low), r->high);
	if (!before || !round->moment[i].is_first)
		return middle;
	/* No faster across a gap than clocks drift. */
	drift = (double)(round->moment[i].at_ns - round->moment[i - 1].at_ns) / 1e9 *
		TP_CLOCKS_DRIFT;
	return fmin(fmax(middle, *before - drift), *before + drift);
}

/* False: out of memory. */
static bool draw_line(struct tp_clocks *clocks, uint32_t host, const struct round *round,
		      struct tp_clocks_host *line)
{
	double *middle = calloc(round->n + 1, sizeof(*middle));

	*line = (struct tp_clocks_host){0};
	line->point = calloc(round->n + 1, sizeof(*line->point));
	if (!middle || !line->point) {
		free(middle);
		free(line->point);
		line->point = NULL;
		return false;
	}
	for (uint32_t i = 0; i < round->n; i++) {
		const struct tp_clocks_range *r = &round->range[(size_t)i * clocks->n_hosts + host];

		middle[i] = middle_of(round, r, i ? &middle[i - 1] : NULL, i);
	}
	for (uint32_t i = 0; i < round->n; i++) {
		const struct tp_clocks_range *r = &round->range[(size_t)i * clocks->n_hosts + host];
		struct tp_clocks_point *point = &line->point[line->n_points];
		double off = line_at(round, middle, i);

		double error = fmax(r->high - off, off - r->low);

		/* No way to it, or the ways contradict each other. */
		if (!(r->low <= r->high && error < TP_CLOCKS_WIDE && fabs(off) < TP_CLOCKS_WIDE)) {
			line->n_points = 0;
			break;
		}
		*point = (struct tp_clocks_point){
			.own_ns = tp_add(round->moment[i].at_ns,
					 clocks->host[host].base_ns + rounded(off)),
			.run_ns = round->moment[i].at_ns,
			.error_ns = rounded(error) + 1,
			.is_behind_gap = round->moment[i].is_first,
		};
		if (line->n_points && (point->own_ns <= point[-1].own_ns ||
				       point->run_ns <= point[-1].run_ns)) {
			/* Two stretches meet; or a clock went back, which none may. */
			if (point->error_ns > point[-1].error_ns)
				point[-1].error_ns = point->error_ns;
			if (point->own_ns < point[-1].own_ns)
				point[-1].error_ns = tp_add(point[-1].error_ns,
							    point[-1].own_ns - point->own_ns);
			continue;
		}
		line->n_points++;
	}
	if (!line->n_points) {
		free(line->point);
		line->point = NULL;
	}
	free(middle);
	return true;
}

int tp_clocks_draw(struct tp_clocks *clocks, bool is_rough, bool may_cut, bool *is_cut_wanted)
{
	struct round round = {0};
	int err = 0;

	*is_cut_wanted = false;
	clocks->n_dropped = 0;
	for (uint32_t i = 0; i < clocks->n_stretches && !err; i++) {
		err = bound_stretch(clocks, &clocks->stretch[i], &round, is_rough, may_cut);
		*is_cut_wanted |= clocks->stretch[i].is_cut_wanted;
	}
	if (!err)
		carry_on(clocks, &round);
	/* What was drawn before said where orders lie until now. */
	tp_clocks_forget(clocks);
	for (uint32_t h = 1; h < clocks->n_hosts && !err; h++) {
		if (!draw_line(clocks, h, &round, &clocks->host[h].line))
			err = -ENOMEM;
	}
	free(round.moment);
	free(round.range);
	return err;
}

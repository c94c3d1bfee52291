/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clocks.c - orders of events on pairs of hosts -> each host's time, with bounds
 *
 * Two rounds at least: where on the time axis an order lies is known only as well as the
 * clocks are. The first round, from medians, makes it known well enough that what is left
 * (the drift over the error of that) is nanoseconds; the second gives the bounds.
 */
#include "merge/clock/clocks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "merge/clock/clocks_in.h"
#include "merge/kit/grow.h"
#include "merge/kit/sum.h"

enum {
	MOST_WAYS = 64,		/* hosts in a row */
	MOST_CUTS = 6,		/* rounds of halving: a minute is then below a second */
};

struct tp_clocks *tp_clocks_new(uint32_t n_hosts)
{
	struct tp_clocks *clocks = calloc(1, sizeof(*clocks));

	if (!clocks)
		return NULL;
	clocks->n_hosts = n_hosts;
	clocks->host = calloc(n_hosts + 1, sizeof(*clocks->host));
	if (!clocks->host) {
		free(clocks);
		return NULL;
	}
	return clocks;
}

static void forget_lines(struct tp_clocks *clocks)
{
	for (uint32_t i = 0; i < clocks->n_hosts; i++) {
		free(clocks->host[i].line.point);
		clocks->host[i].line = (struct tp_clocks_host){0};
	}
}

void tp_clocks_free(struct tp_clocks *clocks)
{
	if (!clocks)
		return;
	forget_lines(clocks);
	for (uint32_t i = 0; i < clocks->n_pairs; i++) {
		free(clocks->pair[i].way[0].moment);
		free(clocks->pair[i].way[1].moment);
	}
	free(clocks->pair);
	tp_keyed_free(&clocks->by_hosts);
	free(clocks->host);
	free(clocks->need);
	free(clocks->stretch);
	free(clocks);
}

/* ---- what is given ---- */

static struct tp_clocks_pair *pair_of(struct tp_clocks *clocks, uint32_t a, uint32_t b)
{
	uint32_t hash = tp_keyed_hash((uint64_t)a << 32 | b), at, row;

	for (row = tp_keyed_first(&clocks->by_hosts, hash, &at); row != TP_NO_KEYED;
	     row = tp_keyed_next(&clocks->by_hosts, hash, &at)) {
		if (clocks->pair[row].a == a && clocks->pair[row].b == b)
			return &clocks->pair[row];
	}
	if (!tp_grow(&clocks->pair, &clocks->cap_pairs, (uint64_t)clocks->n_pairs + 1,
		     sizeof(*clocks->pair)) ||
	    !tp_keyed_add(&clocks->by_hosts, hash, clocks->n_pairs))
		return NULL;
	clocks->pair[clocks->n_pairs] = (struct tp_clocks_pair){.a = a, .b = b};
	return &clocks->pair[clocks->n_pairs++];
}

static void thin_out(struct tp_clocks_way *way)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < way->n; i += 2)
		way->moment[kept++] = way->moment[i];
	way->n = kept;
	way->every *= 2;
}

int tp_clocks_add(struct tp_clocks *clocks, const struct tp_clocks_order *order)
{
	bool is_back = order->from > order->to;
	struct tp_clocks_pair *pair;
	struct tp_clocks_way *way;

	if (order->from == order->to || order->from >= clocks->n_hosts ||
	    order->to >= clocks->n_hosts)
		return 0;
	clocks->n_orders++;
	if (order->sent_ns > TP_CLOCKS_FAR || order->sent_ns < -TP_CLOCKS_FAR ||
	    order->got_ns > TP_CLOCKS_FAR || order->got_ns < -TP_CLOCKS_FAR) {
		clocks->n_absurd++;
		return 0;
	}
	pair = is_back ? pair_of(clocks, order->to, order->from)
		       : pair_of(clocks, order->from, order->to);
	if (!pair)
		return -ENOMEM;
	way = &pair->way[is_back];
	if (!way->every)
		way->every = 1;
	if (way->n_seen++ % way->every)
		return 0;
	if (way->n >= TP_CLOCKS_MOST_ORDERS)
		thin_out(way);
	if (!tp_grow(&way->moment, &way->cap, (uint64_t)way->n + 1, sizeof(*way->moment)))
		return -ENOMEM;
	way->moment[way->n++] = (struct tp_clocks_moment){.sent_ns = order->sent_ns,
							  .got_ns = order->got_ns};
	return 0;
}

int tp_clocks_need(struct tp_clocks *clocks, uint32_t host, int64_t first_ns, int64_t last_ns)
{
	if (host >= clocks->n_hosts || first_ns > last_ns || first_ns < -TP_CLOCKS_FAR ||
	    last_ns > TP_CLOCKS_FAR)
		return 0;
	if (!tp_grow(&clocks->need, &clocks->cap_needs, (uint64_t)clocks->n_needs + 1,
		     sizeof(*clocks->need)))
		return -ENOMEM;
	clocks->need[clocks->n_needs++] = (struct tp_clocks_span){first_ns, last_ns, host};
	return 0;
}

/* ---- where everything lies, roughly ---- */

static int compare_moments(const void *a, const void *b)
{
	const struct tp_clocks_moment *x = a, *y = b;

	return (x->sent_ns > y->sent_ns) - (x->sent_ns < y->sent_ns);
}

static int compare_i64(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The median of got - sent; scratch has room for all. */
static int64_t median_of(const struct tp_clocks_way *way, int64_t *scratch)
{
	for (uint32_t i = 0; i < way->n; i++)
		scratch[i] = way->moment[i].got_ns - way->moment[i].sent_ns;
	qsort(scratch, way->n, sizeof(*scratch), compare_i64);
	return scratch[way->n / 2];
}

/* Each pair's clocks are about `apart_ns` apart; orders in the order of their sending. */
static int measure_pairs(struct tp_clocks *clocks)
{
	int64_t *scratch = malloc((TP_CLOCKS_MOST_ORDERS + 1) * sizeof(*scratch));

	if (!scratch)
		return -ENOMEM;
	for (uint32_t i = 0; i < clocks->n_pairs; i++) {
		struct tp_clocks_pair *pair = &clocks->pair[i];
		int64_t up, down;

		for (int k = 0; k < 2; k++) {
			if (pair->way[k].n)
				qsort(pair->way[k].moment, pair->way[k].n,
				      sizeof(pair->way[k].moment[0]), compare_moments);
		}
		pair->is_usable = pair->way[0].n && pair->way[1].n;
		if (!pair->is_usable)
			continue;
		up = median_of(&pair->way[0], scratch);
		down = -median_of(&pair->way[1], scratch);
		pair->apart_ns = down + (up - down) / 2;
	}
	free(scratch);
	return 0;
}

static void set_base(struct tp_clocks_host_in *to, const struct tp_clocks_host_in *from,
		     int64_t apart_ns, bool *is_more)
{
	int64_t base = from->base_ns + apart_ns;

	/* Through many hosts with absurd clocks. */
	if (to->is_reached || base > TP_CLOCKS_FAR || base < -TP_CLOCKS_FAR)
		return;
	to->is_reached = true;
	to->base_ns = base;
	*is_more = true;
}

static void reach_hosts(struct tp_clocks *clocks)
{
	bool is_more = true;

	clocks->host[0].is_reached = true;
	while (is_more) {
		is_more = false;
		for (uint32_t i = 0; i < clocks->n_pairs; i++) {
			const struct tp_clocks_pair *pair = &clocks->pair[i];
			struct tp_clocks_host_in *a = &clocks->host[pair->a];
			struct tp_clocks_host_in *b = &clocks->host[pair->b];

			if (!pair->is_usable || a->is_reached == b->is_reached)
				continue;
			if (a->is_reached)
				set_base(b, a, pair->apart_ns, &is_more);
			else
				set_base(a, b, -pair->apart_ns, &is_more);
		}
	}
}

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

static int do_round(struct tp_clocks *clocks, bool is_rough, bool may_cut, bool *is_cut_wanted)
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
	forget_lines(clocks);
	for (uint32_t h = 1; h < clocks->n_hosts && !err; h++) {
		if (!draw_line(clocks, h, &round, &clocks->host[h].line))
			err = -ENOMEM;
	}
	free(round.moment);
	free(round.range);
	return err;
}

int tp_clocks_solve(struct tp_clocks *clocks)
{
	bool is_cut_wanted;
	int err;

	if (!clocks->n_hosts)
		return 0;
	err = measure_pairs(clocks);
	if (err)
		return err;
	reach_hosts(clocks);
	err = tp_clocks_stretch(clocks);
	if (!err)
		err = do_round(clocks, true, false, &is_cut_wanted);
	for (uint32_t i = 0; !err; i++) {
		err = do_round(clocks, false, i < MOST_CUTS, &is_cut_wanted);
		if (err || !is_cut_wanted)
			break;
		if (!tp_clocks_cut(clocks))
			err = -ENOMEM;
	}
	return err;
}

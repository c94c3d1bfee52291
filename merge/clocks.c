/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clocks.c - orders of events on pairs of hosts -> each host's time, with bounds
 *
 * Two rounds at least: where on the time axis an order lies is known only as well as the
 * clocks are. The first round, from medians, makes it known well enough that what is left
 * (the drift over the error of that) is nanoseconds; the second gives the bounds.
 */
#include "merge/clocks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "merge/clocks_in.h"
#include "merge/grow.h"

enum {
	MOST_STRETCHES = 4096,
	MOST_BOUNDS = 1 << 20,	/* of pairs in stretches: then these are longer */
	MOST_WAYS = 64,		/* hosts in a row */
	MOST_CUTS = 6,		/* rounds of halving: a minute is then below a second */
	MOST_INNER = 8,		/* moments within a stretch: see choose_moments */
	MOST_JOINT = 256,	/* stretches of few hosts that are looked at together */
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

/* ---- stretches ---- */

static int compare_spans(const void *a, const void *b)
{
	const struct tp_clocks_span *x = a, *y = b;

	return (x->first_ns > y->first_ns) - (x->first_ns < y->first_ns);
}

static bool add_stretch(struct tp_clocks *clocks, int64_t first, int64_t last)
{
	if (!tp_grow(&clocks->stretch, &clocks->cap_stretches,
		     (uint64_t)clocks->n_stretches + 1, sizeof(*clocks->stretch)))
		return false;
	clocks->stretch[clocks->n_stretches++] =
		(struct tp_clocks_stretch){.first_ns = first, .last_ns = last};
	return true;
}

/* [first, last] in parts of at most `most`. */
static bool add_stretches(struct tp_clocks *clocks, int64_t first, int64_t last, int64_t most)
{
	int64_t n = (last - first) / most + 1;

	for (int64_t i = 0; i < n; i++) {
		int64_t from = first + (last - first) / n * i;
		int64_t to = i + 1 < n ? first + (last - first) / n * (i + 1) : last;

		if (!add_stretch(clocks, from, to))
			return false;
	}
	return true;
}

/* Times that are needed, on the axis of host 0: those close to each other are one stretch. */
static int make_stretches(struct tp_clocks *clocks)
{
	struct tp_clocks_span *need = clocks->need;
	int64_t most = TP_CLOCKS_STRETCH_NS, first, last = INT64_MIN;
	int64_t n_most = MOST_BOUNDS / (clocks->n_pairs + 1) + 1;
	uint32_t n = 0;

	for (uint32_t i = 0; i < clocks->n_needs; i++) {
		if (!clocks->host[need[i].host].is_reached)
			continue;
		need[n] = need[i];
		need[n].first_ns = tp_clocks_time(clocks, need[i].host, need[i].first_ns);
		need[n++].last_ns = tp_clocks_time(clocks, need[i].host, need[i].last_ns);
	}
	clocks->n_needs = n;
	if (!n)
		return 0;
	qsort(need, n, sizeof(*need), compare_spans);
	for (uint32_t i = 0; i < n; i++) {
		if (need[i].last_ns > last)
			last = need[i].last_ns;
	}
	/* Longer ones are less true, but years of them must not fill the memory. */
	if (n_most > MOST_STRETCHES)
		n_most = MOST_STRETCHES;
	if ((last - need[0].first_ns) / n_most > most)
		most = (last - need[0].first_ns) / n_most;
	first = need[0].first_ns;
	last = need[0].last_ns;
	for (uint32_t i = 1; i < n; i++) {
		int64_t longer = need[i].last_ns > last ? need[i].last_ns : last;

		if (need[i].first_ns > last && longer - first > most) {
			if (!add_stretches(clocks, first, last, most))
				return -ENOMEM;
			first = need[i].first_ns;
			longer = need[i].last_ns;
		}
		last = longer;
	}
	return add_stretches(clocks, first, last, most) ? 0 : -ENOMEM;
}

/* Moments of a stretch: its ends, some at even distances, and the ends of what is needed, some
 * of many. */
static uint32_t choose_moments(const struct tp_clocks *clocks,
			       const struct tp_clocks_stretch *stretch, int64_t *moment)
{
	int64_t inner[3 * MOST_INNER], step = (stretch->last_ns - stretch->first_ns) / MOST_INNER;
	uint32_t n = 0, n_seen = 0, every = 1, n_moments = 0;

	if (clocks->n_stretches > MOST_JOINT)
		goto ends;
	for (uint32_t i = 0; i < 2 * clocks->n_needs; i++) {
		const struct tp_clocks_span *need = &clocks->need[i / 2];
		int64_t at = i & 1 ? need->last_ns : need->first_ns;

		if (at <= stretch->first_ns || at >= stretch->last_ns || n_seen++ % every)
			continue;
		if (n == 2 * MOST_INNER) {
			for (uint32_t k = 0; k < MOST_INNER; k++)
				inner[k] = inner[2 * k];
			n = MOST_INNER;
			every *= 2;
		}
		inner[n++] = at;
	}
	for (uint32_t i = 1; i < MOST_INNER; i++)
		inner[n++] = stretch->first_ns + i * step;
ends:
	qsort(inner, n, sizeof(inner[0]), compare_i64);
	moment[n_moments++] = stretch->first_ns;
	for (uint32_t i = 0; i < n; i++) {
		if (inner[i] > moment[n_moments - 1])
			moment[n_moments++] = inner[i];
	}
	if (stretch->last_ns > moment[n_moments - 1])
		moment[n_moments++] = stretch->last_ns;
	return n_moments;
}

/* Those that no line fits become two each. False: out of memory. */
static bool cut_stretches(struct tp_clocks *clocks)
{
	uint32_t n = clocks->n_stretches;
	struct tp_clocks_stretch *old = clocks->stretch;
	bool is_good = true;

	clocks->stretch = NULL;
	clocks->n_stretches = clocks->cap_stretches = 0;
	for (uint32_t i = 0; i < n && is_good; i++) {
		int64_t middle = old[i].first_ns + (old[i].last_ns - old[i].first_ns) / 2;

		if (old[i].is_cut_wanted)
			is_good = add_stretch(clocks, old[i].first_ns, middle) &&
				  add_stretch(clocks, middle, old[i].last_ns);
		else
			is_good = add_stretch(clocks, old[i].first_ns, old[i].last_ns);
	}
	free(old);
	return is_good;
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

	for (uint32_t i = 1; i < round->n; i++) {
		for (uint32_t h = 1; h < n; h++)
			carry(&round->range[(size_t)i * n + h], &round->range[(size_t)(i - 1) * n + h],
			      round->moment[i].at_ns - round->moment[i - 1].at_ns);
	}
	for (uint32_t i = round->n; i-- > 1;) {
		for (uint32_t h = 1; h < n; h++)
			carry(&round->range[(size_t)(i - 1) * n + h], &round->range[(size_t)i * n + h],
			      round->moment[i].at_ns - round->moment[i - 1].at_ns);
	}
}

static bool is_joint(const struct tp_clocks *clocks)
{
	return clocks->n_hosts > 2 && clocks->n_hosts <= TP_CLOCKS_JOINT &&
	       clocks->n_stretches <= MOST_JOINT;
}

static int bound_stretch(struct tp_clocks *clocks, struct tp_clocks_stretch *stretch,
			 struct round *round, bool is_rough, bool may_cut)
{
	struct tp_clocks_bounds *bounds = calloc(clocks->n_pairs + 1, sizeof(*bounds));
	int64_t moment[3 * MOST_INNER + 2];
	double t[3 * MOST_INNER + 2];
	uint32_t n = choose_moments(clocks, stretch, moment), n_hosts = clocks->n_hosts;
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
static double middle_of(const struct round *round, const struct tp_clocks_range *r, const double *before, uint32_t i)
{
	double middle = (r->low + r->high) / 2, drift;

	if (isfinite(r->at))
		middle = fmin(fmax(r->at, r->low), r->high);
	if (!before || !round->moment[i].is_first)
		return middle;
	/* No faster across a gap than clocks drift. */
	drift = (double)(round->moment[i].at_ns - round->moment[i - 1].at_ns) / 1e9 * TP_CLOCKS_DRIFT;
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

		/* No way to it, or the ways contradict each other. */
		if (!(r->low > -TP_CLOCKS_WIDE && r->high < TP_CLOCKS_WIDE && r->low <= r->high)) {
			line->n_points = 0;
			break;
		}
		*point = (struct tp_clocks_point){
			.own_ns = round->moment[i].at_ns + clocks->host[host].base_ns + rounded(off),
			.run_ns = round->moment[i].at_ns,
			.error_ns = rounded(fmax(r->high - off, off - r->low)) + 1,
			.is_behind_gap = round->moment[i].is_first,
		};
		if (line->n_points && (point->own_ns <= point[-1].own_ns ||
				       point->run_ns <= point[-1].run_ns)) {
			/* Two stretches meet; or a clock went back, which none may. */
			if (point->error_ns > point[-1].error_ns)
				point[-1].error_ns = point->error_ns;
			if (point->own_ns < point[-1].own_ns)
				point[-1].error_ns += point[-1].own_ns - point->own_ns;
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
	err = make_stretches(clocks);
	if (!err)
		err = do_round(clocks, true, false, &is_cut_wanted);
	for (uint32_t i = 0; !err; i++) {
		err = do_round(clocks, false, i < MOST_CUTS, &is_cut_wanted);
		if (err || !is_cut_wanted)
			break;
		if (!cut_stretches(clocks))
			err = -ENOMEM;
	}
	return err;
}

/* ---- the answer ---- */

const struct tp_clocks_host *tp_clocks_of(const struct tp_clocks *clocks, uint32_t host)
{
	return &clocks->host[host].line;
}

/* The last point at or before, 0 when there is none. */
static uint32_t find_point(const struct tp_clocks_host *host, int64_t own_ns)
{
	uint32_t lo = 0, hi = host->n_points;

	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (host->point[mid].own_ns <= own_ns)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

int64_t tp_clocks_run_ns(const struct tp_clocks_host *host, int64_t own_ns)
{
	const struct tp_clocks_point *p;
	uint32_t at;

	if (!host->n_points)
		return own_ns;
	at = find_point(host, own_ns);
	p = &host->point[at];
	if (own_ns <= p->own_ns || at + 1 == host->n_points)
		return p->run_ns + (own_ns - p->own_ns);
	return p->run_ns + (int64_t)((__int128)(own_ns - p->own_ns) * (p[1].run_ns - p->run_ns) /
				     (p[1].own_ns - p->own_ns));
}

int64_t tp_clocks_own_ns(const struct tp_clocks_host *host, int64_t run_ns)
{
	uint32_t lo = 0, hi = host->n_points;
	const struct tp_clocks_point *p = host->point;

	if (!hi)
		return run_ns;
	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (p[mid].run_ns <= run_ns)
			lo = mid;
		else
			hi = mid;
	}
	p += lo;
	if (run_ns <= p->run_ns || lo + 1 == host->n_points)
		return p->own_ns + (run_ns - p->run_ns);
	return p->own_ns + (int64_t)((__int128)(run_ns - p->run_ns) * (p[1].own_ns - p->own_ns) /
				     (p[1].run_ns - p->run_ns));
}

/* Not beyond any time that could be. */
static int64_t whole_ns(double ns)
{
	return ns < (double)TP_CLOCKS_FAR ? (int64_t)ceil(ns) : TP_CLOCKS_FAR;
}

/* At one of its own times between two points, or beyond (one of them is NULL). */
static double error_at(const struct tp_clocks_point *a, const struct tp_clocks_point *b,
		       int64_t own_ns)
{
	double behind = a ? (double)(own_ns - a->own_ns) / 1e9 : 0;
	double before = b ? (double)(b->own_ns - own_ns) / 1e9 : 0;

	if (!a)
		return (double)b->error_ns + before * TP_CLOCKS_DRIFT;
	if (!b)
		return (double)a->error_ns + behind * TP_CLOCKS_DRIFT;
	if (!b->is_behind_gap)
		return (double)a->error_ns +
		       (double)(b->error_ns - a->error_ns) * (behind / (behind + before));
	/* The line drifts, too, by no more than that. */
	return fmin((double)a->error_ns + 2 * behind * TP_CLOCKS_DRIFT,
		    (double)b->error_ns + 2 * before * TP_CLOCKS_DRIFT);
}

/* Where in a gap the error is greatest. */
static int64_t worst_between(const struct tp_clocks_point *a, const struct tp_clocks_point *b)
{
	double more = (double)(b->error_ns - a->error_ns) / (4 * TP_CLOCKS_DRIFT) * 1e9;
	double middle = (double)(b->own_ns - a->own_ns) / 2 + more;

	if (middle < 0)
		return a->own_ns;
	return middle < (double)(b->own_ns - a->own_ns) ? a->own_ns + (int64_t)middle : b->own_ns;
}

int64_t tp_clocks_error(const struct tp_clocks_host *host, int64_t first_ns, int64_t last_ns)
{
	const int64_t end[2] = {first_ns, last_ns};
	double worst = 0;

	if (!host->n_points)
		return -1;
	for (int k = 0; k < 2; k++) {
		uint32_t at = find_point(host, end[k]);
		const struct tp_clocks_point *a = &host->point[at];

		if (end[k] < a->own_ns)
			worst = fmax(worst, error_at(NULL, a, end[k]));
		else
			worst = fmax(worst, error_at(a, at + 1 < host->n_points ? a + 1 : NULL, end[k]));
	}
	for (uint32_t i = find_point(host, first_ns); i < host->n_points; i++) {
		const struct tp_clocks_point *p = &host->point[i];

		if (p->own_ns > last_ns)
			break;
		if (p->own_ns >= first_ns)
			worst = fmax(worst, (double)p->error_ns);
		if (i + 1 < host->n_points && p[1].is_behind_gap) {
			int64_t at = worst_between(p, p + 1);

			if (at >= first_ns && at <= last_ns)
				worst = fmax(worst, error_at(p, p + 1, at));
		}
	}
	return whole_ns(worst);
}

uint64_t tp_clocks_n_orders(const struct tp_clocks *clocks)
{
	return clocks->n_orders;
}

uint64_t tp_clocks_n_dropped(const struct tp_clocks *clocks)
{
	return clocks->n_dropped + clocks->n_absurd;
}

uint64_t tp_clocks_impossible(const struct tp_clocks *clocks, tp_clocks_time_fn time, void *ctx)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < clocks->n_pairs; i++) {
		const struct tp_clocks_pair *pair = &clocks->pair[i];

		for (int k = 0; k < 2; k++) {
			uint32_t from = k ? pair->b : pair->a, to = k ? pair->a : pair->b;

			for (uint32_t m = 0; m < pair->way[k].n; m++) {
				const struct tp_clocks_moment *moment = &pair->way[k].moment[m];

				n += time(ctx, from, moment->sent_ns) > time(ctx, to, moment->got_ns);
			}
		}
	}
	return n;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clocks_answer.c - what was found out about hosts' clocks: times, errors, counts
 */
#include <math.h>

#include "merge/clock/clocks_in.h"
#include "merge/kit/sum.h"

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
		return tp_add(p->run_ns, tp_sub(own_ns, p->own_ns));
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
		return tp_add(p->own_ns, tp_sub(run_ns, p->run_ns));
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
	double behind = a ? (double)tp_sub(own_ns, a->own_ns) / 1e9 : 0;
	double before = b ? (double)tp_sub(b->own_ns, own_ns) / 1e9 : 0;

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

/* Where in a gap the error is largest. */
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
			worst = fmax(worst, error_at(a, at + 1 < host->n_points ? a + 1 : NULL,
						     end[k]));
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

uint64_t tp_clocks_violations(const struct tp_clocks *clocks, tp_clocks_time_fn time, void *ctx)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < clocks->n_pairs; i++) {
		const struct tp_clocks_pair *pair = &clocks->pair[i];

		for (int k = 0; k < 2; k++) {
			uint32_t from = k ? pair->b : pair->a, to = k ? pair->a : pair->b;

			for (uint32_t m = 0; m < pair->way[k].n; m++) {
				const struct tp_clocks_moment *moment = &pair->way[k].moment[m];

				n += time(ctx, from, moment->sent_ns) >
				     time(ctx, to, moment->got_ns);
			}
		}
	}
	return n;
}

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
#include <stdlib.h>
#include <string.h>

#include "merge/clock/clocks_in.h"
#include "merge/kit/grow.h"
#include "merge/kit/stats.h"

enum { MOST_CUTS = 6 };	/* rounds of halving: a minute is then below a second */

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

void tp_clocks_free(struct tp_clocks *clocks)
{
	if (!clocks)
		return;
	tp_clocks_forget(clocks);
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

/* The median of got - sent; scratch has room for all. */
static int64_t median_of(const struct tp_clocks_way *way, int64_t *scratch)
{
	for (uint32_t i = 0; i < way->n; i++)
		scratch[i] = way->moment[i].got_ns - way->moment[i].sent_ns;
	tp_sort_i64(scratch, way->n);
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

/* ---- rounds ---- */

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
		err = tp_clocks_draw(clocks, true, false, &is_cut_wanted);
	for (uint32_t i = 0; !err; i++) {
		err = tp_clocks_draw(clocks, false, i < MOST_CUTS, &is_cut_wanted);
		if (err || !is_cut_wanted)
			break;
		if (!tp_clocks_cut(clocks))
			err = -ENOMEM;
	}
	return err;
}

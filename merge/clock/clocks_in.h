/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clocks_in.h - the inside of clocks.h, for the files clocks*.c only
 */
#ifndef TP_MERGE_CLOCKS_IN_H
#define TP_MERGE_CLOCKS_IN_H

#include "merge/clock/clocks.h"
#include "merge/clock/clocks_hull.h"
#include "merge/kit/keyed.h"

#define TP_CLOCKS_FAR (1ll << 60)	/* ns: further away is no time of a host */
#define TP_CLOCKS_WIDE 1e17		/* ns: bounds so wide say nothing */

enum { TP_CLOCKS_MOST_ORDERS = 1 << 15 };	/* kept of a pair, each way */

struct tp_clocks_moment {
	int64_t sent_ns, got_ns;
};

struct tp_clocks_way {
	struct tp_clocks_moment *moment;	/* by sent_ns once all are there */
	uint32_t n, cap, every;			/* kept: each so many */
	uint64_t n_seen;
};

struct tp_clocks_pair {
	uint32_t a, b;			/* a < b */
	struct tp_clocks_way way[2];	/* from a to b, from b to a */
	int64_t apart_ns;		/* b's clock - a's, about */
	bool is_usable;			/* bounded from both sides */
};

struct tp_clocks_span {
	int64_t first_ns, last_ns;
	uint32_t host;
};

struct tp_clocks_stretch {
	int64_t first_ns, last_ns;	/* on host 0's clock */
	bool is_cut_wanted;
};

/* ns by which a clock may be ahead of another, and where in that range its line runs. */
struct tp_clocks_range {
	double low, high, at;
};

struct tp_clocks_host_in {
	struct tp_clocks_host line;
	int64_t base_ns;		/* its clock - host 0's, about */
	bool is_reached;
};

struct tp_clocks {
	uint32_t n_hosts;
	struct tp_clocks_host_in *host;
	struct tp_clocks_pair *pair;
	uint32_t n_pairs, cap_pairs;
	struct tp_keyed by_hosts;
	struct tp_clocks_span *need;
	uint32_t n_needs, cap_needs;
	struct tp_clocks_stretch *stretch;
	uint32_t n_stretches, cap_stretches;
	uint64_t n_orders, n_absurd, n_dropped;
};

/* As well as it is known so far. */
static inline int64_t tp_clocks_time(const struct tp_clocks *clocks, uint32_t host, int64_t own_ns)
{
	const struct tp_clocks_host_in *h = &clocks->host[host];

	return h->line.n_points ? tp_clocks_run_ns(&h->line, own_ns) : own_ns - h->base_ns;
}

/* What the orders of a pair in a stretch say: points that lines stay below [0] and above [1]. */
struct tp_clocks_side {
	struct tp_hull_point *point;
	uint32_t n;
};
struct tp_clocks_bounds {
	struct tp_clocks_side side[2];
};

/* ---- clocks_stretch.c ---- */

enum {
	TP_CLOCKS_INNER = 8,		/* moments looked at in a stretch, twice: see there */
	TP_CLOCKS_IN_STRETCH = 3 * TP_CLOCKS_INNER + 2,
	TP_CLOCKS_INNER_STRETCHES = 256,/* of more only the ends, and each pair by itself */
};

/* From what is needed: those close to each other are one stretch. 0 or -ENOMEM. */
int tp_clocks_stretch(struct tp_clocks *clocks);
/* In order; the ends of the stretch are the first and the last. */
uint32_t tp_clocks_moments(const struct tp_clocks *clocks, const struct tp_clocks_stretch *stretch,
			   int64_t moment[TP_CLOCKS_IN_STRETCH]);
/* Those that no line fits become two each. False: out of memory. */
bool tp_clocks_cut(struct tp_clocks *clocks);

/* ---- clocks_lines.c ---- */

/* A line of each host that is reached, from those that are there; *is_cut_wanted: of some stretch.
 * is_rough, may_cut: as below. 0 or -ENOMEM. */
int tp_clocks_draw(struct tp_clocks *clocks, bool is_rough, bool may_cut, bool *is_cut_wanted);
/* There are none any more. */
void tp_clocks_forget(struct tp_clocks *clocks);

/* ---- clocks_pair.c ---- */

/*
 * By how much (off their bases) b's clock may be ahead of a's in a stretch: hulls in which
 * some line fits, or nothing. may_cut: a stretch in which none fits wants to be cut. is_rough:
 * one that is near will do. 0 or -ENOMEM.
 */
int tp_clocks_bound_pair(struct tp_clocks *clocks, const struct tp_clocks_pair *pair,
			 struct tp_clocks_stretch *stretch, bool is_rough, bool may_cut,
			 struct tp_clocks_bounds *bounds);
void tp_clocks_bounds_free(struct tp_clocks_bounds *bounds);
/* The range of the lines that fit at each moment (seconds from the start of the stretch). */
int tp_clocks_bounds_at(const struct tp_clocks_bounds *bounds, const double *t, uint32_t n,
			struct tp_clocks_range *range);

/* ---- clocks_joint.c ---- */

enum { TP_CLOCKS_JOINT = 8, TP_CLOCKS_MOMENTS = 48 };

/*
 * Few hosts at once: what each pair allows, and what the ways through all others allow. t: n
 * moments; range[i * n_hosts + h]: of host h against host 0 at moment i, with a line (at) that
 * contradicts no pair. `bounds` of all pairs. 0 or -ENOMEM.
 */
int tp_clocks_bound_joint(const struct tp_clocks *clocks, const struct tp_clocks_bounds *bounds,
			  const double *t, uint32_t n, struct tp_clocks_range *range);
/* Moves lines that still contradict an order, if only by its rounding. 0 or -ENOMEM. */
int tp_clocks_settle(const struct tp_clocks *clocks, const struct tp_clocks_bounds *bounds,
		     const double *t, uint32_t n, struct tp_clocks_range *range);

#endif

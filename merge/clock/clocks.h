/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clocks.h - the clocks of several hosts on one, from what cannot have happened the other way
 *
 * Pure: no files, no clock. The input are orders: this happened on one host (by its
 * CLOCK_MONOTONIC) before that on another. Each bounds how far the two clocks are apart at that
 * moment. Within a stretch of at most a minute two clocks are taken to drift apart evenly, on
 * any line that no order contradicts (clocks_hull.h); between stretches, where the rate may have
 * been corrected, and beyond them by at most TP_CLOCKS_DRIFT. So the bounds hold everywhere,
 * not only where there are orders. Where no line fits, stretches are cut in halves, down to a
 * second; orders that still contradict all others are left out, and counted.
 *
 * Hosts that share no orders are joined through others, with the sum of the bounds.
 */
#ifndef TP_MERGE_CLOCKS_H
#define TP_MERGE_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#define TP_CLOCKS_STRETCH_NS 60000000000ll
#define TP_CLOCKS_LEAST_NS 1000000000ll
/* ns a second: the kernel's own limit for slewing a clock, 500 ppm. */
#define TP_CLOCKS_DRIFT 500000.0

struct tp_clocks_order {
	uint32_t from, to;	/* hosts */
	int64_t sent_ns;	/* on from's clock: before ... */
	int64_t got_ns;		/* ... this, on to's */
};

/* A host's time, and how far it may be off, at some moments. Between two it is straight. */
struct tp_clocks_point {
	int64_t own_ns, run_ns;	/* its own clock, and that of host 0 */
	int64_t error_ns;
	bool is_behind_gap;	/* the point before belongs to another stretch: between the two
				 * nothing was asked for, and the error is more than at both */
};

struct tp_clocks_host {
	struct tp_clocks_point *point;	/* ascending; none: not bounded against host 0 */
	uint32_t n_points;
};

struct tp_clocks;

struct tp_clocks *tp_clocks_new(uint32_t n_hosts);
void tp_clocks_free(struct tp_clocks *clocks);

/* Order by order; a pair's oldest are thinned out when there are too many. 0 or -ENOMEM. */
int tp_clocks_add(struct tp_clocks *clocks, const struct tp_clocks_order *order);
/* Between these times (its own) host `host` has events: bounds are wanted there. */
int tp_clocks_need(struct tp_clocks *clocks, uint32_t host, int64_t first_ns, int64_t last_ns);
/* 0 or -ENOMEM. Once. */
int tp_clocks_solve(struct tp_clocks *clocks);

const struct tp_clocks_host *tp_clocks_of(const struct tp_clocks *clocks, uint32_t host);
/* Time of host 0; without bounds: its own. Rises with own_ns. */
int64_t tp_clocks_run_ns(const struct tp_clocks_host *host, int64_t own_ns);
/* The other way round. */
int64_t tp_clocks_own_ns(const struct tp_clocks_host *host, int64_t run_ns);
/* The largest error between two of its own times; -1: not bounded. */
int64_t tp_clocks_error(const struct tp_clocks_host *host, int64_t first_ns, int64_t last_ns);

/* Orders that were given, and of those the ones that fit no line. */
uint64_t tp_clocks_n_orders(const struct tp_clocks *clocks);
uint64_t tp_clocks_n_dropped(const struct tp_clocks *clocks);
/* Causality violations when `time` says when events were, of the orders that are kept. */
typedef int64_t (*tp_clocks_time_fn)(void *ctx, uint32_t host, int64_t own_ns);
uint64_t tp_clocks_violations(const struct tp_clocks *clocks, tp_clocks_time_fn time, void *ctx);

#endif

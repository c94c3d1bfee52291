/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_rate.h - how often samples are taken: as the user says, or by what they cost
 *
 * By the cost: as often as takes one of 200 parts of a core, 10 to 500 times a second; but 500 times until
 * 2 ms have been spent in a window, for many windows are short. Pure; one thread at a time.
 */
#ifndef TP_PROBE_PYSAMPLE_RATE_H
#define TP_PROBE_PYSAMPLE_RATE_H

#include <stdint.h>

#include "runtime/base/hash.h"

enum {
	TP_PYSAMPLE_PART = 200,		/* of a core */
	TP_PYSAMPLE_FIRST_NS = 2000000,	/* that may be spent in a window before this counts */
	TP_PYSAMPLE_WAKE_NS = 10000,	/* what it takes the thread to wake for a round, in any case */
	TP_PYSAMPLE_SHORTEST_MS = 2,
	TP_PYSAMPLE_LONGEST_MS = 100,
	TP_PYSAMPLE_ROUNDS = 16,	/* the last ones, whose mean counts */
	TP_PYSAMPLE_OUTSIDE_PART = 2500,	/* of a core, outside windows: what is said is 2000 */
	TP_PYSAMPLE_OUTSIDE_SHORTEST_MS = 100,
	TP_PYSAMPLE_OUTSIDE_LONGEST_MS = 10000,
};

struct tp_pysample_rate {
	uint64_t fixed_ms;	/* between two rounds; 0: by the cost */
	uint64_t cost_ns;	/* of a round, of late: time on a core */
	uint64_t spent_ns;	/* in this window */
};

/* hz: 0 to 1000; 0: by the cost. */
static inline void tp_pysample_rate_init(struct tp_pysample_rate *rate, uint64_t hz)
{
	*rate = (struct tp_pysample_rate){.fixed_ms = hz ? 1000 / hz : 0};
}

/* A window begins. */
static inline void tp_pysample_rate_window(struct tp_pysample_rate *rate)
{
	rate->spent_ns = 0;
}

/* A round has taken so long on a core. */
static inline void tp_pysample_rate_note(struct tp_pysample_rate *rate, uint64_t round_ns)
{
	if (!rate->cost_ns)
		rate->cost_ns = round_ns;
	rate->cost_ns = (rate->cost_ns * (TP_PYSAMPLE_ROUNDS - 1) + round_ns) / TP_PYSAMPLE_ROUNDS;
	rate->spent_ns += round_ns + TP_PYSAMPLE_WAKE_NS;
}

/* Mean time from one round to the next, 1 at least. */
static inline uint64_t tp_pysample_rate_ms(const struct tp_pysample_rate *rate)
{
	uint64_t ms = (rate->cost_ns + TP_PYSAMPLE_WAKE_NS) * TP_PYSAMPLE_PART / 1000000;

	if (rate->fixed_ms)
		return rate->fixed_ms;
	if (rate->spent_ns < TP_PYSAMPLE_FIRST_NS || ms < TP_PYSAMPLE_SHORTEST_MS)
		return TP_PYSAMPLE_SHORTEST_MS;
	return ms < TP_PYSAMPLE_LONGEST_MS ? ms : TP_PYSAMPLE_LONGEST_MS;
}

/* The same outside windows. */
static inline uint64_t tp_pysample_rate_outside_ms(const struct tp_pysample_rate *rate)
{
	const uint64_t ms = (rate->cost_ns + TP_PYSAMPLE_WAKE_NS) * TP_PYSAMPLE_OUTSIDE_PART / 1000000;

	if (rate->fixed_ms)
		return rate->fixed_ms;
	if (ms < TP_PYSAMPLE_OUTSIDE_SHORTEST_MS)
		return TP_PYSAMPLE_OUTSIDE_SHORTEST_MS;
	return ms < TP_PYSAMPLE_OUTSIDE_LONGEST_MS ? ms : TP_PYSAMPLE_OUTSIDE_LONGEST_MS;
}

/* When one that is drawn so often is due: half to one and a half of the mean. *drawn: of the last time. */
static inline uint64_t tp_pysample_rate_draw_ms(uint64_t mean_ms, uint64_t *drawn)
{
	uint64_t ms;

	*drawn = tp_hash_mix(*drawn + 0x9e3779b97f4a7c15u);
	ms = mean_ms / 2 + (*drawn >> 32) % (mean_ms + 1);
	return ms ? ms : 1;
}

#endif

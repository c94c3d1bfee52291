/* SPDX-License-Identifier: Apache-2.0 */
/*
 * burst.h - a call of some nanoseconds beside its floor: bursts of both in turn, paced so that the
 * drain keeps up
 */
#ifndef TP_BENCH_BURST_H
#define TP_BENCH_BURST_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/clock.h"

enum { BURSTS_MOST = 4000 };

struct bursts {
	uint32_t n;		/* of each, BURSTS_MOST at most */
	uint32_t calls;		/* in each */
	long pause_ns;		/* before each round */
	double ns_per_tick;
};

struct burst_pair {	/* ns a call */
	double ours, floor;	/* medians */
	double noise;		/* middle half of ours */
};

static inline double burst_calibrate(void)
{
	struct tp_clock_anchor a, b;

	tp_clock_take_anchor(&a);
	usleep(50000);
	tp_clock_take_anchor(&b);
	return (double)(b.mono_ns - a.mono_ns) / (double)(b.ticks - a.ticks);
}

static inline int burst_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static inline double burst_of(const struct bursts *bursts, void (*call)(void))
{
	uint64_t begin = tp_clock_now();

	for (uint32_t i = 0; i < bursts->calls; i++)
		call();
	return (double)(tp_clock_now() - begin) * bursts->ns_per_tick / bursts->calls;
}

static inline struct burst_pair burst_measure(const struct bursts *bursts, void (*call)(void),
					      void (*floor_call)(void))
{
	const struct timespec pause = {.tv_nsec = bursts->pause_ns};
	static double ours[BURSTS_MOST], lowest[BURSTS_MOST];
	uint32_t n = bursts->n;

	for (uint32_t i = 0; i < n; i++) {
		nanosleep(&pause, NULL);
		burst_of(bursts, i & 1 ? call : floor_call);	/* caches as in a loop */
		ours[i] = burst_of(bursts, call);
		lowest[i] = burst_of(bursts, floor_call);
	}
	qsort(ours, n, sizeof(ours[0]), burst_compare);
	qsort(lowest, n, sizeof(lowest[0]), burst_compare);
	return (struct burst_pair){ours[n / 2], lowest[n / 2], ours[n * 3 / 4] - ours[n / 4]};
}

#endif

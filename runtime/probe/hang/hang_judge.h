/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang_judge.h - does the training hang? Times and counters in, a verdict out
 *
 * A training is late when no step has ended for the time of its limit: what TRAINPROF_HANG says, or
 * ten times the running median of its steps where that is more, and four times as much before the
 * first step. A late one hangs when nothing has gone on for half of that time; and also when, for
 * longer, processor time was all that was used, at one place or by few functions.
 *
 * Pure: no clock, no file. One thread.
 */
#ifndef TP_PROBE_HANG_JUDGE_H
#define TP_PROBE_HANG_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	TP_HANG_STEPS = 31,	/* of which the median is taken */
	TP_HANG_FUNCTIONS = 32,	/* a program that goes through more of them does various things */
};

/* What one look saw. Counters grow, from anywhere; one that falls (a child is gone) did not grow. */
struct tp_hang_seen {
	uint64_t mono_ns;
	uint64_t steps;		/* that have ended */
	uint64_t step_ns;	/* duration of the last one */
	uint64_t activity;	/* another value when a range, an operator, a collective or a block of
				 * tensor memory came or went */
	bool is_closer;		/* what follows was looked at, too: tp_hang_wants_closer */
	uint64_t cpu_ns;	/* that the process and those that it started used, or were ready to
				 * use while others had the cores */
	bool is_running;	/* the thread of the steps was on a core, or ready to be */
	uint64_t io_bytes;	/* read and written by calls */
	uint64_t switches;	/* how often the thread of the steps has waited for something */
	uint64_t stack;		/* its Python stack as a number; 0: not known */
	uint64_t function;	/* the innermost function of that; 0: not known */
	bool is_excused;	/* a debugger holds it, or it waits for its user */
};

enum tp_hang_verdict {
	TP_HANG_RUNS,		/* steps come */
	TP_HANG_LATE,		/* none for half of the limit, but something goes on */
	TP_HANG_QUIET,		/* and nothing goes on */
	TP_HANG_STUCK,		/* it hangs */
	TP_HANG_SPINS,		/* it computes where it stands, and has for long */
};

struct tp_hang_judge {
	uint64_t least_ns;	/* the limit that was asked for */
	struct tp_hang_seen last;
	bool has_last;
	uint64_t step_ns[TP_HANG_STEPS];
	uint32_t n_steps;
	uint64_t late_ns;	/* without a step, as far as we were awake */
	uint64_t quiet_ns;	/* of it, at the end: without anything */
	uint64_t still_ns;	/* likewise: on the processor at one place, or without anything */
	uint64_t busy_ns;	/* likewise: with nothing but processor time */
	uint64_t function[TP_HANG_FUNCTIONS];
	uint32_t n_functions;	/* more than TP_HANG_FUNCTIONS: many */
};

/* late_ns: so long there has been no step already. */
void tp_hang_judge_init(struct tp_hang_judge *judge, uint64_t least_ns, uint64_t late_ns);

/* The next look should see all: a step is late by a quarter of the limit. */
bool tp_hang_wants_closer(const struct tp_hang_judge *judge);

enum tp_hang_verdict tp_hang_judge_look(struct tp_hang_judge *judge, const struct tp_hang_seen *seen);

/* In use now, and the median of the last steps (0: none). */
uint64_t tp_hang_limit_ns(const struct tp_hang_judge *judge);
uint64_t tp_hang_median_ns(const struct tp_hang_judge *judge);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang_judge.c - counts for how long a training had no step, and for how long nothing went on
 *
 * A process that is stopped (SIGSTOP, a debugger, a machine that sleeps) takes no looks meanwhile:
 * the gap between two counts as one period at most.
 */
#include "runtime/probe/hang/hang_judge.h"

#include <string.h>

enum {
	MEDIANS = 10,		/* steps that take so much longer than others are late */
	FIRST_TIMES = 4,	/* before the first step: data are fetched, programs compiled */
	STILL_TIMES = 2, BUSY_TIMES = 5,
	CPU_PERCENT = 20,	/* of a core: less is what idle threads use */
	IO_A_SECOND = 256 << 10, /* bytes; less is what logs and progress bars write */
	SWITCHES_A_SECOND = 50,	/* more is a thread that gets what it waits for */
};
static const uint64_t most_gap_ns = 3000000000u;

void tp_hang_judge_init(struct tp_hang_judge *judge, uint64_t least_ns, uint64_t late_ns)
{
	memset(judge, 0, sizeof(*judge));
	judge->least_ns = least_ns;
	judge->late_ns = late_ns;
}

uint64_t tp_hang_median_ns(const struct tp_hang_judge *judge)
{
	uint32_t n = judge->n_steps < TP_HANG_STEPS ? judge->n_steps : TP_HANG_STEPS;

	/* The one that has as many below it as above. */
	for (uint32_t i = 0; i < n; i++) {
		uint32_t below = 0, equal = 0;

		for (uint32_t k = 0; k < n; k++) {
			below += judge->step_ns[k] < judge->step_ns[i];
			equal += judge->step_ns[k] == judge->step_ns[i];
		}
		if (below <= n / 2 && below + equal > n / 2)
			return judge->step_ns[i];
	}
	return 0;
}

uint64_t tp_hang_limit_ns(const struct tp_hang_judge *judge)
{
	uint64_t limit = tp_hang_median_ns(judge) * MEDIANS;

	if (limit < judge->least_ns)
		limit = judge->least_ns;
	return judge->n_steps ? limit : limit * FIRST_TIMES;
}

bool tp_hang_wants_closer(const struct tp_hang_judge *judge)
{
	return judge->late_ns >= tp_hang_limit_ns(judge) / 4;
}

static void begin_anew(struct tp_hang_judge *judge)
{
	judge->late_ns = judge->quiet_ns = judge->still_ns = judge->busy_ns = 0;
	judge->n_functions = 0;
}

static void note_function(struct tp_hang_judge *judge, uint64_t function)
{
	if (!function || judge->n_functions > TP_HANG_FUNCTIONS)
		return;
	for (uint32_t i = 0; i < judge->n_functions; i++)
		if (judge->function[i] == function)
			return;
	if (judge->n_functions < TP_HANG_FUNCTIONS)
		judge->function[judge->n_functions] = function;
	judge->n_functions++;
}

static uint64_t grown(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* Something went on that a program that hangs does not do. */
static bool goes_on(const struct tp_hang_seen *last, const struct tp_hang_seen *seen, uint64_t ns)
{
	if (seen->is_excused || seen->activity != last->activity)
		return true;
	/* What was not looked at may have gone on. */
	if (!seen->is_closer || !last->is_closer)
		return true;
	return grown(seen->io_bytes, last->io_bytes) >= ns / 1000 * IO_A_SECOND / 1000000 ||
	       grown(seen->switches, last->switches) >= ns / 1000 * SWITCHES_A_SECOND / 1000000;
}

static void count(struct tp_hang_judge *judge, const struct tp_hang_seen *seen, uint64_t ns)
{
	const struct tp_hang_seen *last = &judge->last;
	bool is_busy = seen->is_running ||
		       grown(seen->cpu_ns, last->cpu_ns) >= ns / 100 * CPU_PERCENT;
	uint64_t counted = ns < most_gap_ns ? ns : most_gap_ns;

	judge->late_ns += counted;
	if (goes_on(last, seen, ns)) {
		judge->quiet_ns = judge->still_ns = judge->busy_ns = 0;
		judge->n_functions = 0;
		return;
	}
	note_function(judge, seen->function);
	judge->busy_ns += counted;
	judge->quiet_ns = is_busy ? 0 : judge->quiet_ns + counted;
	judge->still_ns = is_busy && (!seen->stack || seen->stack != last->stack) ?
				  0 : judge->still_ns + counted;
}

static enum tp_hang_verdict decide(const struct tp_hang_judge *judge)
{
	uint64_t limit = tp_hang_limit_ns(judge), late = judge->late_ns;

	if (late < limit / 2)
		return TP_HANG_RUNS;
	if (late >= limit && judge->quiet_ns >= limit / 2)
		return TP_HANG_STUCK;
	if (late >= limit * STILL_TIMES && judge->still_ns >= limit / 2)
		return TP_HANG_SPINS;
	if (late >= limit * BUSY_TIMES && judge->busy_ns >= limit * (BUSY_TIMES - 1) &&
	    judge->n_functions && judge->n_functions <= TP_HANG_FUNCTIONS)
		return TP_HANG_SPINS;
	return judge->quiet_ns >= limit / 8 ? TP_HANG_QUIET : TP_HANG_LATE;
}

enum tp_hang_verdict tp_hang_judge_look(struct tp_hang_judge *judge, const struct tp_hang_seen *seen)
{
	if (seen->steps != judge->last.steps) {
		if (seen->steps && seen->step_ns)
			judge->step_ns[judge->n_steps++ % TP_HANG_STEPS] = seen->step_ns;
		begin_anew(judge);
	} else if (judge->has_last) {
		count(judge, seen, seen->mono_ns - judge->last.mono_ns);
	}
	judge->last = *seen;
	judge->has_last = true;
	return decide(judge);
}

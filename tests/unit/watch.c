/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.c - which steps are slow, when they have drifted, when memory is high
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>

#include "runtime/engine/trigger/watch.h"

static uint64_t seed;

/* Uniform in (0, 1): a generator of our own, so that runs are alike everywhere. */
static double uniform(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

/* ---- what steps of real runs look like; in microseconds ---- */

static double steady(uint32_t step)
{
	return 50000 * (1 + 0.02 * normal());
}

static double skewed(uint32_t step)
{
	return 50000 * exp(0.15 * normal());
}

/* Steps of twice the usual time are common. */
static double scattered(uint32_t step)
{
	return 50000 * exp(0.3 * normal());
}

/* A machine that moves between two speeds for seconds at a time. */
static double two_speeds(uint32_t step)
{
	return (step / 100 % 3 ? 57000 : 88000) * (1 + 0.04 * normal());
}

/* Sequences of any length, a different one each step. */
static double lengths(uint32_t step)
{
	return 30000 + 40000 * uniform();
}

/* Slower and slower, and a tail. */
static double creeping(uint32_t step)
{
	return 40000 * (1 + step / 400000.0) * exp(0.08 * normal());
}

static const struct {
	const char *name;
	double (*step)(uint32_t step);
	double times;	/* a planted step is so much slower than there */
} noises[] = {
	{"steady", steady, 1}, {"skewed", skewed, 1.2}, {"scattered", scattered, 2},
	{"two speeds", two_speeds, 2}, {"lengths", lengths, 2}, {"creeping", creeping, 1},
};
enum { N_NOISES = sizeof(noises) / sizeof(noises[0]), STEPS = 200000, PLANTED_EVERY = 997 };

Test(watch, finds_every_planted_slow_step_and_at_most_one_in_ten_thousand_others)
{
	static const double planted[] = {2.3, 3, 5, 40};
	const struct tp_watch_spec spec = {.slow = 2000};

	for (size_t i = 0; i < N_NOISES; i++) {
		uint32_t n_planted = 0, n_found = 0, n_false = 0, ratio;
		struct tp_watch watch;

		seed = 12345 + i;
		tp_watch_init(&watch, &spec);
		for (uint32_t step = 0; step < STEPS; step++) {
			bool is_planted = step > 1000 && step % PLANTED_EVERY == 0;
			double us = noises[i].step(step);
			bool is_found;

			/* Slow is what is so many times a usual step, whatever this one would have been. */
			if (is_planted)
				us = (double)watch.sorted[watch.n / 2] *
				     planted[n_planted % 4] * noises[i].times;
			is_found = tp_watch_step(&watch, (uint64_t)us, &ratio) == TP_WATCH_SLOW;
			n_planted += is_planted;
			n_found += is_found && is_planted;
			n_false += is_found && !is_planted;
			if (is_found)
				cr_expect_geq(ratio, spec.slow);
		}
		cr_expect_eq(n_found, n_planted, "%s: %u of %u found", noises[i].name, n_found, n_planted);
		cr_expect_leq(n_false, STEPS / 10000, "%s: %u steps of noise", noises[i].name, n_false);
	}
}

Test(watch, says_nothing_of_the_first_steps)
{
	const struct tp_watch_spec spec = {.slow = 1500};
	struct tp_watch watch;
	uint32_t ratio;

	tp_watch_init(&watch, &spec);
	for (uint32_t i = 0; i < TP_WATCH_LEAST; i++)
		cr_expect_eq(tp_watch_step(&watch, i ? 100 : 5000, &ratio), TP_WATCH_NOTHING);
	cr_expect_eq(tp_watch_step(&watch, 5000, &ratio), TP_WATCH_SLOW);
	cr_expect_eq(ratio, 50000);
}

Test(watch, measures_a_slow_step_by_the_steps_before_it)
{
	const struct tp_watch_spec spec = {.slow = 2000};
	struct tp_watch watch;
	uint32_t ratio;

	tp_watch_init(&watch, &spec);
	for (uint32_t i = 0; i < 1000; i++)
		tp_watch_step(&watch, 100, &ratio);
	cr_expect_eq(tp_watch_step(&watch, 199, &ratio), TP_WATCH_NOTHING);
	cr_expect_eq(tp_watch_step(&watch, 200, &ratio), TP_WATCH_SLOW);
	/* Once all of them are so, none is slow. */
	for (uint32_t i = 0; i < TP_WATCH_STEPS; i++)
		tp_watch_step(&watch, 200, &ratio);
	cr_expect_eq(tp_watch_step(&watch, 200, &ratio), TP_WATCH_NOTHING);
	cr_expect_eq(ratio, TP_WATCH_RATIO);
}

/* Feeds n steps; how often it says `what`. */
static uint32_t feed(struct tp_watch *watch, uint32_t n, uint64_t duration, enum tp_watch_what what)
{
	uint32_t n_said = 0, ratio;

	for (uint32_t i = 0; i < n; i++)
		n_said += tp_watch_step(watch, duration + i % 7, &ratio) == what;
	return n_said;
}

Test(watch, says_a_drift_once_until_it_has_gone_back)
{
	const struct tp_watch_spec spec = {.drift = 1300};
	struct tp_watch watch;

	tp_watch_init(&watch, &spec);
	cr_expect_eq(feed(&watch, 2000, 1000, TP_WATCH_DRIFT), 0);
	cr_expect_eq(feed(&watch, 2000, 1250, TP_WATCH_DRIFT), 0);
	cr_expect_eq(feed(&watch, 2000, 1400, TP_WATCH_DRIFT), 1);
	cr_expect_eq(feed(&watch, 2000, 1200, TP_WATCH_DRIFT), 0, "not far enough back");
	cr_expect_eq(feed(&watch, 2000, 1400, TP_WATCH_DRIFT), 0);
	cr_expect_eq(feed(&watch, 2000, 1000, TP_WATCH_DRIFT), 0);
	cr_expect_eq(feed(&watch, 2000, 1400, TP_WATCH_DRIFT), 1);
	/* A single slow step is no drift. */
	cr_expect_eq(feed(&watch, 2000, 1000, TP_WATCH_DRIFT), 0);
	cr_expect_eq(feed(&watch, 1, 100000, TP_WATCH_DRIFT), 0);
}

Test(watch, says_memory_once_until_it_is_a_tenth_below)
{
	const struct tp_watch_spec spec = {.memory = 1000, .device_memory = 500};
	static const struct {
		uint64_t bytes, device;
		enum tp_watch_what what;
	} rows[] = {
		{999, 499, TP_WATCH_NOTHING}, {1000, 0, TP_WATCH_MEMORY}, {5000, 0, TP_WATCH_NOTHING},
		{950, 0, TP_WATCH_NOTHING},   {1000, 0, TP_WATCH_NOTHING}, {899, 0, TP_WATCH_NOTHING},
		{1000, 500, TP_WATCH_DEVICE_MEMORY}, {1000, 500, TP_WATCH_MEMORY},
		{1000, 500, TP_WATCH_NOTHING},
	};
	struct tp_watch watch;

	tp_watch_init(&watch, &spec);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(tp_watch_memory(&watch, rows[i].bytes, rows[i].device), rows[i].what,
			     "row %zu", i);
}

Test(watch, watches_nothing_that_was_not_asked_for)
{
	const struct tp_watch_spec spec = {0};
	struct tp_watch watch;
	uint32_t ratio;

	tp_watch_init(&watch, &spec);
	for (uint32_t i = 0; i < 1000; i++)
		cr_expect_eq(tp_watch_step(&watch, i % 100 ? 100 : 1000000, &ratio), TP_WATCH_NOTHING);
	cr_expect_eq(tp_watch_memory(&watch, UINT64_MAX, UINT64_MAX), TP_WATCH_NOTHING);
}

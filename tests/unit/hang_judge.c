/* SPDX-License-Identifier: Apache-2.0 */
/* What is a hang and what only takes long, by looks a second apart. */
#include <criterion/criterion.h>

#include "runtime/probe/hang/hang_judge.h"

enum { LIMIT = 60 };		/* s */
#define SECOND 1000000000ull

static struct tp_hang_judge judge;
static struct tp_hang_seen seen;

/* What goes on in each second. */
struct life {
	uint64_t step_ns;	/* a step ends, and took so long */
	uint64_t activity, cpu_ns, io_bytes, switches, stack, functions;
	bool is_excused, is_running;
};

static enum tp_hang_verdict live(const struct life *life, uint32_t seconds)
{
	enum tp_hang_verdict verdict = TP_HANG_RUNS;

	for (uint32_t i = 0; i < seconds; i++) {
		seen.mono_ns += SECOND;
		seen.steps += life->step_ns != 0;
		if (life->step_ns)
			seen.step_ns = life->step_ns;
		seen.is_closer = tp_hang_wants_closer(&judge);
		seen.activity += life->activity;
		seen.cpu_ns += life->cpu_ns;
		seen.io_bytes += life->io_bytes;
		seen.switches += life->switches;
		seen.stack += life->stack;
		seen.function = life->functions ? 1 + i % life->functions : 0;
		seen.is_excused = life->is_excused;
		seen.is_running = life->is_running;
		verdict = tp_hang_judge_look(&judge, &seen);
	}
	return verdict;
}

static void train(uint64_t step_ns)
{
	tp_hang_judge_init(&judge, LIMIT * SECOND, 0);
	seen = (struct tp_hang_seen){.stack = 1000};
	cr_assert_eq(live(&(struct life){.step_ns = step_ns, .activity = 1}, 40), TP_HANG_RUNS);
}

Test(hang_judge, steps_that_come_are_no_hang)
{
	train(SECOND / 10);
	cr_expect_eq(live(&(struct life){.step_ns = SECOND / 10}, 1000), TP_HANG_RUNS);
}

Test(hang_judge, nothing_for_the_limit_is_a_hang_and_not_a_second_before)
{
	train(SECOND / 10);
	cr_expect_eq(live(&(struct life){0}, LIMIT / 2 - 1), TP_HANG_RUNS);
	cr_expect_eq(live(&(struct life){0}, LIMIT / 2), TP_HANG_QUIET);
	cr_expect_eq(live(&(struct life){0}, 1), TP_HANG_STUCK);
	cr_expect_eq(live(&(struct life){0}, 1000), TP_HANG_STUCK);
	cr_expect_eq(live(&(struct life){.step_ns = SECOND}, 1), TP_HANG_RUNS);
}

Test(hang_judge, steps_that_take_long_make_the_limit_longer)
{
	train(20 * SECOND);
	cr_expect_eq(tp_hang_median_ns(&judge), 20 * SECOND);
	cr_expect_eq(tp_hang_limit_ns(&judge), 200 * SECOND);
	cr_expect_neq(live(&(struct life){0}, 199), TP_HANG_STUCK);
	cr_expect_eq(live(&(struct life){0}, 1), TP_HANG_STUCK);
}

Test(hang_judge, before_the_first_step_it_waits_four_times_as_long)
{
	tp_hang_judge_init(&judge, LIMIT * SECOND, 0);
	seen = (struct tp_hang_seen){0};
	cr_expect_neq(live(&(struct life){0}, 4 * LIMIT), TP_HANG_STUCK);
	cr_expect_eq(live(&(struct life){0}, 1), TP_HANG_STUCK);
	/* Of that it had waited a part before it was looked at. */
	tp_hang_judge_init(&judge, LIMIT * SECOND, 2 * LIMIT * SECOND);
	cr_expect_neq(live(&(struct life){0}, 2 * LIMIT), TP_HANG_STUCK);
	cr_expect_eq(live(&(struct life){0}, 1), TP_HANG_STUCK);
}

Test(hang_judge, whatever_goes_on_is_no_hang)
{
	static const struct life lives[] = {
		{.activity = 1},			/* evaluation */
		{.io_bytes = 1 << 20},			/* a checkpoint to a slow disk */
		{.switches = 200},			/* data from a network */
		{.is_excused = true},			/* a debugger */
		{.cpu_ns = SECOND, .stack = 1, .functions = 100}, /* compilation */
	};

	for (uint32_t i = 0; i < sizeof(lives) / sizeof(lives[0]); i++) {
		train(SECOND / 10);
		cr_expect_eq(live(&lives[i], 100 * LIMIT), TP_HANG_LATE, "life %u", i);
		cr_expect_eq(live(&(struct life){0}, LIMIT / 2), TP_HANG_STUCK, "life %u, then none", i);
	}
}

Test(hang_judge, a_little_of_everything_is_nothing)
{
	train(SECOND / 10);
	cr_expect_eq(live(&(struct life){.cpu_ns = SECOND / 20, .io_bytes = 1000, .switches = 3, .stack = 1},
			  LIMIT), TP_HANG_STUCK);
}

Test(hang_judge, a_counter_that_falls_did_not_grow)
{
	const struct life falls = {.cpu_ns = -(SECOND / 1000), .io_bytes = -5ull};

	train(SECOND / 10);
	seen.cpu_ns = seen.io_bytes = 1000 * SECOND;
	cr_expect_eq(live(&falls, LIMIT), TP_HANG_STUCK);
}

Test(hang_judge, a_thread_that_spins_at_one_place_takes_twice_the_limit)
{
	const struct life spins = {.cpu_ns = SECOND, .functions = 1};

	train(SECOND / 10);
	cr_expect_eq(live(&spins, 2 * LIMIT - 1), TP_HANG_LATE);
	cr_expect_eq(live(&spins, 1), TP_HANG_SPINS);
}

Test(hang_judge, a_loop_of_few_functions_takes_five_times_the_limit)
{
	const struct life loop = {.cpu_ns = SECOND, .stack = 1, .functions = 3};

	train(SECOND / 10);
	cr_expect_eq(live(&loop, 5 * LIMIT - 1), TP_HANG_LATE);
	cr_expect_eq(live(&loop, 1), TP_HANG_SPINS);
}

Test(hang_judge, what_computes_where_no_stack_is_known_is_left_alone)
{
	train(SECOND / 10);
	seen.stack = 0;
	cr_expect_eq(live(&(struct life){.cpu_ns = SECOND}, 100 * LIMIT), TP_HANG_LATE);
}

Test(hang_judge, who_gets_no_core_is_not_quiet)
{
	train(SECOND / 10);
	cr_expect_eq(live(&(struct life){.is_running = true, .stack = 1, .functions = 100}, 100 * LIMIT),
		     TP_HANG_LATE);
}

Test(hang_judge, a_process_that_was_stopped_was_not_late_meanwhile)
{
	train(SECOND / 10);
	for (uint32_t i = 0; i < 10; i++) {
		seen.mono_ns += 3600 * SECOND;
		cr_expect_eq(tp_hang_judge_look(&judge, &seen), i < 9 ? TP_HANG_RUNS : TP_HANG_LATE);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples_garbage.c - tests of what samples say of Python's garbage collection
 */
#include "tests/unit/samples_rig.h"

TestSuite(samples_garbage, .init = samples_init);

/* In the first n_steps steps, 5 of 10 samples between operators collect garbage. */
static const char *collect_in(uint32_t n_steps)
{
	uint32_t main = frame(proc, 0, "<module>", TRAIN, 50), grow = frame(proc, main, "grow", TRAIN, 14);

	for (uint32_t i = 0; i < STEPS; i++) {
		span(TP_REC_OP, "aten::mm", i * STEP, i * STEP + STEP / 2);
		for (uint32_t k = 0; k < 10; k++) {
			sample(proc, 0, main, i * STEP + k * MS + MS, 0);
			sample(proc, 0, grow, i * STEP + STEP / 2 + k * MS + MS, 0);
			event[n_events - 1].flags |= k < 5 && i < n_steps ? TP_SAMPLE_COLLECTS : 0;
		}
	}
	return print(&tp_view_overview);
}

Test(samples_garbage, garbage_is_named_where_many_steps_collect_it)
{
	const char *text = collect_in(STEPS);

	expect(text, "garbage             in 25.0 % of the samples in steps Python collects garbage, in 4 of 4 steps");
	expect(text, "most of it in me/train.py:14 grow");
	/* What is left of the function is its own. */
	expect(text, "host-code           25.0 % of the samples");
	/* Half of them: nothing else is in the time between operators. */
	expect_not(text, "what runs between");
	samples_init();
	/* A few long collections say nothing of the others. */
	text = collect_in(2);
	expect_not(text, "Python collects garbage");
	samples_init();
	text = collect_in(0);
	expect(text, "host-code           50.0 % of the samples");
}

/* 40 ms between two lines of each step; of n samples there, all in the first step, some collect. */
static const char *collect_between_lines(uint32_t n, uint32_t n_collecting)
{
	uint32_t first, second;

	samples_init();
	first = frame(proc, 0, "<module>", TRAIN, 20);
	second = frame(proc, 0, "<module>", TRAIN, 21);
	for (uint32_t i = 0; i < STEPS; i++) {
		int64_t at = (int64_t)i * STEP;

		stand(first, at + 1);
		span(TP_REC_OP, "aten::mm", at + 2, at + 40 * MS);
		stand(second, at + 80 * MS);
		span(TP_REC_OP, "aten::mm", at + 80 * MS + 1, at + 99 * MS);
		for (uint32_t k = 0; k < 10; k++)
			sample(proc, 0, first, at + (1 + k) * MS, 0);
	}
	for (uint32_t k = 0; k < n; k++) {
		sample(proc, 0, first, (41 + k) * MS, 0);
		event[n_events - 1].flags |= k < n_collecting ? TP_SAMPLE_COLLECTS : 0;
	}
	return print(&tp_view_overview);
}

/* One long collection: neither garbage nor code of every step. */
Test(samples_garbage, a_collection_is_no_code_between_two_lines)
{
	expect(collect_between_lines(8, 4), "host-code           up to 40.0 % of a step");
	expect_not(collect_between_lines(8, 5), "host-code");
	expect(collect_between_lines(12, 5), "host-code           up to 40.0 % of a step");
}

Test(samples_garbage, garbage_is_named_where_the_run_outside_windows_collects_it)
{
	proc->started = "outside.1=200 0 24 0 1\noutside.1.0=200 t /home/me/train.py:9 main\n";
	expect(collect_in(1), "garbage             outside windows Python collects garbage in 12.0 % of 200 samples");
	expect(print(&tp_view_overview), "in windows most of it in me/train.py:14 grow");
	expect(print(&tp_view_hot), "Outside windows, by samples");
	expect(print(&tp_view_hot), "Python collects garbage in 24 of 200 samples (12.0 %), training.");
	expect(print(&tp_view_hot), "me/train.py:9 main");
}

Test(samples_garbage, samples_outside_windows_have_to_be_many_or_a_part_that_windows_confirm)
{
	static const struct {
		const char *outside;
		uint32_t n_steps;	/* of windows that collect, 5 samples of each */
		const char *told;
	} row[] = {
		{"outside.1=8 0 2 0 1\noutside.1.0=8 t /home/me/train.py:9 main\n", 2,
		 "garbage             outside windows Python collects garbage in 25.0 % of 8 samples"},
		{"outside.1=9 0 2 0 1\noutside.1.0=9 t /home/me/train.py:9 main\n", 2, NULL},
		{"outside.1=8 0 2 0 1\noutside.1.0=8 t /home/me/train.py:9 main\n", 1, NULL},
		{"outside.1=200 0 9 0 1\noutside.1.0=200 t /home/me/train.py:9 main\n", 1, NULL},
		{"outside.1=2000 0 90 0 1\noutside.1.0=2000 t /home/me/train.py:9 main\n", 1, NULL},
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const char *text;

		samples_init();
		proc->started = row[i].outside;
		text = collect_in(row[i].n_steps);
		if (row[i].told)
			expect(text, row[i].told);
		else
			expect_not(text, "Python collects garbage");
	}
}

Test(samples_garbage, hot_says_how_many_samples_collect)
{
	collect_in(STEPS);
	expect(print(&tp_view_hot), "Python collects garbage in 20 of 40 samples (50.0 %), between operators.");
	samples_init();
	collect_in(0);
	expect_not(print(&tp_view_hot), "garbage");
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples_lock.c - tests of what samples say of the interpreter's lock, and of functions that call operators
 */
#include "tests/unit/samples_rig.h"

TestSuite(samples_lock, .init = samples_init);

/* The training thread wants the lock so often, of 20 samples; another thread has its own function. */
static void contend(uint32_t n_wanted)
{
	uint32_t main = frame(proc, 0, "<module>", TRAIN, 50), watch = frame(proc, 0, "watch", TRAIN, 9);

	for (uint32_t i = 0; i < STEPS; i++)
		span(TP_REC_OP, "aten::mm", i * STEP, i * STEP + STEP - MS);
	for (uint32_t i = 0; i < 20; i++) {
		sample(proc, 0, main, i * 20 * MS + MS, i < n_wanted ? WAITS : 0);
		event[n_events - 1].flags |= i < n_wanted ? TP_SAMPLE_WANTS_LOCK : 0;
		sample(proc, 1, watch, i * 20 * MS + MS, 0);
	}
}

Test(samples_lock, who_holds_pythons_lock_is_named)
{
	const char *text;

	contend(12);
	text = print(&tp_view_overview);
	expect(text, "in 60.0 % of the samples in steps the training waits for Python's lock");
	expect(text, "train.py:9 watch");
	samples_init();
	contend(9);
	expect(print(&tp_view_overview), "interpreter-lock");
	samples_init();
	contend(4);
	expect_not(print(&tp_view_overview), "interpreter-lock");
}

/* In a short window few samples see it; the times of the threads tell that it sleeps. */
Test(samples_lock, few_that_want_pythons_lock_count_where_the_training_sleeps)
{
	static const struct {
		const char *threads;
		uint32_t n_wanted;
		bool is_told;
	} row[] = {
		/* The training thread ran and waited for a core 60 % of the time; another one 95 %. */
		{"thread.1000=400 200 python\nthread.2000=900 50 watch\n", 3, true},
		{"thread.1000=400 200 python\nthread.2000=900 50 watch\n", 2, false},
		{"thread.1000=600 250 python\nthread.2000=900 50 watch\n", 3, false},
		{"thread.1000=400 200 python\nthread.2000=300 50 watch\n", 3, false},
	};
	char totals[200];

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const char *text;

		samples_init();
		contend(row[i].n_wanted);
		snprintf(totals, sizeof(totals), "threads.wall=1000\nthreads.cores=2\nthreads.cpu=1300\n"
			 "threads.wait=250\n%s", row[i].threads);
		fake.run.window[0].totals = totals;
		text = print(&tp_view_overview);
		cr_expect_eq(strstr(text, "up to 40.0 % of the time the training waits for Python's lock: it sleeps, "
				    "and was seen to wait for the lock 3 times") != NULL, row[i].is_told, "%s", text);
		cr_expect_eq(strstr(text, "interpreter-lock") != NULL, row[i].is_told, "%s", text);
	}
}

Test(samples_lock, what_saves_or_makes_an_optimizer_is_no_calling_of_operators)
{
	static const struct {
		const char *file, *function;
		bool is_named;
	} row[] = {
		{"/x/site-packages/torch/serialization.py", "f", true},
		{"/x/site-packages/torch/nn/modules/module.py", "f", false},
		{"/x/site-packages/torch/nn/modules/module.py", "Module._named_members", true},
		{"/x/site-packages/torch/nn/modules/module.py", "Module.named_modules", true},
		{"/x/site-packages/torch/optim/optimizer.py", "Optimizer.__init__", true},
		{"/x/site-packages/torch/optim/optimizer.py", "Optimizer.add_param_group", true},
		{"/x/site-packages/torch/optim/optimizer.py", "Optimizer.zero_grad", false},
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		uint32_t save;
		bool is_named;

		samples_init();
		span(TP_REC_OP, "aten::mm", 0, STEP / 2);
		save = frame(proc, frame(proc, 0, "remember", TRAIN, 30), row[i].function, row[i].file, 3);
		for (uint32_t k = 0; k < 40; k++)
			sample(proc, 0, save, STEP / 2 + k * MS, 0);
		is_named = strstr(print(&tp_view_overview), "train.py:30 remember") != NULL;
		cr_expect_eq(is_named, row[i].is_named, "%s of %s", row[i].function, row[i].file);
	}
}

/* A function that runs behind each of three lines, of a fifth of a step each time. */
Test(samples_lock, a_function_that_is_called_from_several_lines_is_counted_whole)
{
	uint32_t main = frame(proc, 0, "<module>", TRAIN, 50), count = frame(proc, main, "count", TRAIN, 14),
		 line[3];
	const char *text;

	for (uint32_t k = 0; k < 3; k++)
		line[k] = frame(proc, 0, "main", TRAIN, 60 + k);
	for (uint32_t i = 0; i < 3 * STEPS; i++) {
		int64_t at = i / 3 * STEP + i % 3 * 33 * MS;

		stand(line[i % 3], at);
		span(TP_REC_OP, "aten::mm", at + 20 * MS, at + 33 * MS);
		for (uint32_t k = 0; k < 4; k++) {
			sample(proc, 0, count, at + (4 * k + 1) * MS, 0);
			sample(proc, 0, main, at + (21 + 2 * k) * MS, 0);
		}
	}
	text = print(&tp_view_overview);
	expect(text, "host-code           50.0 % of the samples in steps");
	expect(text, "train.py:14 count");
}

/* Of each step n_gaps of 12 ms before operators of a line, the first one after another line; n_torch samples
 * of them are in torch's own code, which gives tensors back, n_own in a function of the program's. */
static const char *print_gaps(uint32_t n_gaps, uint32_t n_torch, uint32_t n_own)
{
	uint32_t first = frame(proc, 0, "main", TRAIN, 60), line = frame(proc, 0, "main", TRAIN, 61),
		 inside = frame(proc, line, "Sequential.forward", "/x/site-packages/torch/nn/modules/container.py", 253);

	for (uint32_t i = 0; i < STEPS; i++) {
		stand(first, i * STEP);
		span(TP_REC_OP, "aten::mm", i * STEP + 1, i * STEP + 10 * MS);
		stand(line, i * STEP + 10 * MS);
		for (uint32_t k = 0; k < n_gaps; k++)
			span(TP_REC_OP, "aten::mm", i * STEP + (22 + 20 * k) * MS + !k * MS / 2,
			     i * STEP + (k + 1 < n_gaps ? 30 + 20 * k : 100) * MS);
	}
	for (uint32_t k = 0; k < n_torch + n_own; k++)
		sample(proc, 0, k < n_torch ? inside : line, k % STEPS * STEP + 12 * MS + k, 0);
	return print(&tp_view_overview);
}

Test(samples_lock, what_torch_does_between_operators_is_no_code_of_the_programs)
{
	static const struct {
		uint32_t n_gaps, n_torch, n_own;
		bool is_told;
	} row[] = {{3, 2, 0, true}, {3, 3, 0, false}, {3, 4, 2, false}, {3, 3, 4, true}, {1, 9, 0, true}};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const char *text;

		samples_init();
		text = print_gaps(row[i].n_gaps, row[i].n_torch, row[i].n_own);
		cr_expect_eq(strstr(text, "host-code") != NULL, row[i].is_told, "%u: %s", i, text);
	}
}

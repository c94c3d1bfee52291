/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples_advice.c - tests of what the overview says because of samples: whose functions, which advice
 */
#include "tests/unit/samples_rig.h"

TestSuite(samples_advice, .init = samples_init);

/* ---- data loading ---- */

/* So many of 100 ms waits for data in each step, by the ledger, too. */
static void wait_for_data(const char *iterator, int64_t ms)
{
	char name[100];

	snprintf(name, sizeof(name), "enumerate(DataLoader)#%s.__next__", iterator);
	for (uint32_t i = 0; i < STEPS; i++) {
		fake_step_row(&fake, proc, i, i * STEP, STEP)->data_wait_ns = ms * MS;
		span(TP_REC_RANGE, name, i * STEP, i * STEP + ms * MS);
		span(TP_REC_OP, "aten::mm", i * STEP + ms * MS, (i + 1) * STEP);
	}
}

static uint32_t in_loader(const char *called, const char *file)
{
	uint32_t stack = frame(proc, 0, "<module>", TRAIN, 50);

	stack = frame(proc, stack, "_BaseDataLoaderIter.__next__", DATA "dataloader.py", 700);
	if (strcmp(called, "Weighted.__iter__") == 0)
		stack = frame(proc, stack, "_BaseDataLoaderIter._next_index", DATA "dataloader.py", 600);
	else
		stack = frame(proc, stack, "_MapDatasetFetcher.fetch", DATA "_utils/fetch.py", 54);
	return frame(proc, stack, called, file, 12);
}

static uint32_t in_worker(bool is_idle, const char *called)
{
	uint32_t stack = frame(worker, 0, "<module>", TRAIN, 50);

	stack = frame(worker, stack, "_worker_loop", DATA "_utils/worker.py", 300);
	if (is_idle)
		return frame(worker, stack, "Queue.get", "/usr/lib/python3.11/multiprocessing/queues.py", 100);
	stack = frame(worker, stack, "_MapDatasetFetcher.fetch", DATA "_utils/fetch.py", 54);
	stack = frame(worker, stack, "Photos.__getitem__", TRAIN, 30);
	stack = frame(worker, stack, called, TRAIN, 33);
	return frame(worker, stack, "jitter.<locals>.<listcomp>", TRAIN, 34);
}

static void sample_often(struct tp_proc *of, uint32_t stack, uint32_t n, uint32_t waits_in)
{
	for (uint32_t i = 0; i < n; i++)
		sample(of, 0, stack, (i % STEPS) * STEP + (i + 1) * 100000ll, waits_in);
}

Test(samples_advice, who_waits_for_data_in_its_own_process_hears_in_which_function)
{
	static const struct {
		const char *called, *file, *stage, *place, *todo;
		uint32_t waits_in;
	} row[] = {
		{"Photos.__getitem__", TRAIN, "the dataset", "train.py:12 Photos.__getitem__",
		 "less work for each sample there, or DataLoader with num_workers > 0", 0},
		{"Photos.__getitem__", TRAIN, "the dataset", "train.py:12 Photos.__getitem__",
		 "it waits, for storage or a network", WAITS},
		{"pad", TRAIN, "making batches", "train.py:12 pad", "by one operator", 0},
		{"Weighted.__iter__", TRAIN, "the sampler", "train.py:12 Weighted.__iter__",
		 "however many workers", 0},
		{"TensorDataset.__getitem__", DATA "dataset.py", "the dataset", "", "index whole batches", 0},
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const char *text;

		samples_init();
		wait_for_data(i % 2 ? "_SingleProcessDataLoaderIter" : "_StatefulSingleProcessDataLoaderIter", 40);
		sample_often(proc, in_loader(row[i].called, row[i].file), 40, row[i].waits_in);
		text = print(&tp_view_overview);
		expect(text, "data-loading");
		expect(text, row[i].stage);
		expect(text, row[i].place);
		expect(text, row[i].todo);
	}
}

/* Three are enough where nearly all are there. */
Test(samples_advice, few_samples_name_nobody)
{
	static const struct {
		uint32_t n_pad, n_sampler;
		bool is_named;
	} row[] = {{2, 0, false}, {3, 1, true}, {3, 3, false}};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const char *text;

		samples_init();
		wait_for_data("_SingleProcessDataLoaderIter", 40);
		sample_often(proc, in_loader("pad", TRAIN), row[i].n_pad, 0);
		sample_often(proc, in_loader("Weighted.__iter__", TRAIN), row[i].n_sampler, 0);
		text = print(&tp_view_overview);
		cr_expect_eq(strstr(text, "give DataLoader num_workers > 0") != NULL, !row[i].is_named, "%s", text);
		cr_expect_eq(strstr(text, "train.py:12 pad") != NULL, row[i].is_named, "%s", text);
	}
}

static void add_cores(uint64_t percent)
{
	static const char name[] = "core\0%\0cpu";

	for (uint32_t i = 0; i < STEPS; i++) {
		struct tp_event one = fake_span(&fake, proc, 0, TP_REC_COUNTER,
						fake_string(&fake, TP_STRING_COUNTER, name, sizeof(name) - 1),
						i * STEP, i * STEP);

		one.arg = percent;
		event[n_events++] = one;
	}
}

Test(samples_advice, more_workers_are_advised_only_where_they_can_run)
{
	static const struct {
		uint64_t busy_percent;
		uint32_t waits_in;
		const char *todo;
	} row[] = {
		{97, 0, "the cores are full, and more workers would not help"},
		{50, 0, "or more num_workers: cores are idle"},
		{97, WAITS, "more num_workers: they wait there"},
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const char *text;

		samples_init();
		wait_for_data("_MultiProcessingDataLoaderIter", 40);
		add_cores(row[i].busy_percent);
		sample_often(worker, in_worker(false, "jitter"), 40, row[i].waits_in);
		text = print(&tp_view_overview);
		expect(text, "train.py:33 jitter");
		expect(text, "100.0 % of the workers' samples are in the dataset");
		expect(text, row[i].todo);
	}
}

Test(samples_advice, idle_workers_are_not_accused_of_a_little)
{
	wait_for_data("_MultiProcessingDataLoaderIter", 18);
	sample_often(worker, in_worker(true, ""), 40, WAITS);
	expect_not(print(&tp_view_overview), "data-loading");
	samples_init();
	wait_for_data("_MultiProcessingDataLoaderIter", 12);
	sample_often(worker, in_worker(false, "jitter"), 40, 0);
	expect(print(&tp_view_overview), "data-loading");
	/* Much of it is not theirs either: what is done with their batches is. */
	samples_init();
	wait_for_data("_MultiProcessingDataLoaderIter", 30);
	sample_often(worker, in_worker(true, ""), 40, WAITS);
	sample_often(worker, in_worker(false, "jitter"), 8, 0);
	expect(print(&tp_view_overview), "in 83.3 % of the workers' samples they have nothing to do");
	expect(print(&tp_view_overview), "fewer workers: ");
	/* Loading takes some time in a healthy run, too. */
	samples_init();
	wait_for_data("_SingleProcessDataLoaderIter", 9);
	expect_not(print(&tp_view_overview), "data-loading");
}

/* While they wait they take no core from the training; what they do in the rest of the time is named. */
Test(samples_advice, workers_that_take_the_cores_may_wait_most_of_the_time)
{
	static char totals[100];
	const char *text;

	snprintf(totals, sizeof(totals), "threads.wall=400000000\nthreads.cores=2\nthreads.cpu=240000000\n"
		 "thread.%u=240000000 120000000 python\n", proc->thread[0].tid);
	fake.run.window[0].totals = totals;
	fake_window(&fake, worker, 0, 0, STEPS * STEP)->totals =
		"threads.wall=400000000\nthreads.cores=2\nthreads.cpu=100000000\n";
	wait_for_data("_MultiProcessingDataLoaderIter", 1);
	add_cores(97);
	sample_often(worker, in_worker(true, ""), 40, WAITS);
	sample_often(worker, in_worker(false, "jitter"), 8, 0);
	text = print(&tp_view_overview);
	expect(text, "busy-workers");
	expect(text, "train.py:33 jitter");
	expect(text, "less work for each sample there: the cores are full");
	expect_not(text, "nothing to do");
}

/* ---- between operators ---- */

/* Half of each step is between operators. */
static void work_between(bool is_asking)
{
	uint32_t main = frame(proc, 0, "<module>", TRAIN, 50),
		 count = frame(proc, main, "count_confusion", TRAIN, 14);

	for (uint32_t i = 0; i < STEPS; i++) {
		span(TP_REC_OP, "aten::mm", i * STEP, i * STEP + STEP / 2);
		for (uint32_t k = 0; k < 5; k++) {
			sample(proc, 0, is_asking ? count : main, i * STEP + k * MS + MS, 0);
			sample(proc, 0, count, i * STEP + STEP / 2 + k * MS + MS, 0);
		}
	}
}

Test(samples_advice, a_function_between_operators_is_named_unless_it_asks_for_them)
{
	const char *text;

	work_between(false);
	text = print(&tp_view_overview);
	expect(text, "50.0 % of the samples in steps are in one function and what it calls, outside operators");
	expect(text, "train.py:14 count_confusion");
	samples_init();
	work_between(true);
	expect_not(print(&tp_view_overview), "host-code");
}

/* n samples of a function between operators beside so many in operators. */
static const char *print_function(uint32_t n, uint32_t n_operators)
{
	uint32_t main = frame(proc, 0, "<module>", TRAIN, 50), hook = frame(proc, main, "hook", TRAIN, 14);

	span(TP_REC_OP, "aten::mm", 0, STEP / 2);
	for (uint32_t k = 0; k < n_operators; k++)
		sample(proc, 0, main, k * MS + MS, 0);
	for (uint32_t k = 0; k < n; k++)
		sample(proc, 0, hook, STEP / 2 + k * MS, 0);
	return print(&tp_view_overview);
}

Test(samples_advice, few_samples_name_a_function_where_they_are_a_large_part)
{
	static const struct {
		uint32_t n, n_operators;
		bool is_named;
	} row[] = {
		{6, 18, true}, {5, 5, false}, {6, 30, false}, {8, 25, true}, {7, 30, false}, {9, 41, false},
		{10, 40, true}, {10, 60, true},
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const char *text;

		samples_init();
		text = print_function(row[i].n, row[i].n_operators);
		cr_expect_eq(strstr(text, "train.py:14 hook") != NULL, row[i].is_named, "%u: %s", i, text);
	}
}

/* ---- the same, with a GPU ---- */

static struct tp_queue queue = {.stream = 7};
static uint32_t n_calls;

/* A kernel from the start of each step on. */
static void add_kernels(int64_t ns)
{
	for (uint32_t i = 0; i < STEPS; i++) {
		span(TP_REC_CALL, "cudaLaunchKernel", i * STEP, i * STEP + 1000);
		event[n_events - 1].link = ++n_calls;
		event[n_events] = fake_span(&fake, proc, 0, TP_REC_KERNEL, fake_text(&fake, "elementwise"),
					    i * STEP + 1000, i * STEP + ns);
		event[n_events].queue = &queue;
		event[n_events++].link = n_calls;
	}
}

static void set_up_gpu(void)
{
	static struct tp_device device = {.name = "a GPU", .major = 8, .n_sms = 108, .warp_threads = 32};

	samples_init();
	n_calls = 0;
	proc->device = &device;
	proc->n_devices = 1;
}

Test(samples_advice, a_function_is_named_that_a_gpu_waits_for)
{
	const char *text;

	set_up_gpu();
	work_between(false);
	add_kernels(STEP / 2);
	text = print(&tp_view_overview);
	expect(text, "host-code ");
	expect(text, "outside operators; the GPU is idle 50.0 % of the time, waiting for the host");
	expect(text, "train.py:14 count_confusion");
	expect_not(text, "host-bound");
	/* It has enough to do meanwhile. */
	set_up_gpu();
	work_between(false);
	add_kernels(STEP - 2 * MS);
	expect_not(print(&tp_view_overview), "host-code");
	/* It has work, and waits for something else. */
	set_up_gpu();
	work_between(false);
	add_kernels(STEP / 2);
	for (uint32_t i = 0; i < n_events; i++)
		if (event[i].kind == TP_REC_CALL && event[i].begin_ns >= STEP) {
			event[i].begin_ns -= STEP / 2 + 5000;
			event[i].end_ns -= STEP / 2 + 5000;
		} else if (event[i].kind == TP_REC_KERNEL && event[i].begin_ns >= (STEPS - 1) * STEP) {
			/* Behind it nothing is asked for. */
			event[i].end_ns = STEPS * STEP;
		}
	expect_not(print(&tp_view_overview), "host-code");
	/* Another thread asks for operators. */
	set_up_gpu();
	work_between(false);
	add_kernels(STEP / 2);
	for (uint32_t i = 0; i < STEPS; i++)
		event[n_events++] = fake_span(&fake, proc, 1, TP_REC_OP, fake_text(&fake, "aten::mm"),
					      i * STEP + STEP / 2, (i + 1) * STEP - MS);
	expect_not(print(&tp_view_overview), "host-code");
	/* Operators are what the host is busy with. */
	set_up_gpu();
	work_between(true);
	add_kernels(STEP / 2);
	text = print(&tp_view_overview);
	expect_not(text, "host-code");
	expect(text, "host-bound");
}

Test(samples_advice, a_wait_before_a_function_is_not_why_the_gpu_is_idle)
{
	set_up_gpu();
	work_between(false);
	add_kernels(STEP / 2);
	for (uint32_t i = 0; i < STEPS; i++)
		span(TP_REC_CALL, "cudaStreamSynchronize", i * STEP + 2 * MS, i * STEP + STEP / 2);
	expect_not(print(&tp_view_overview), "synchronising");
}

Test(samples_advice, the_caller_of_empty_cache_is_named)
{
	uint32_t main, empty;

	for (uint32_t n = 4; n < 6; n++) {
		set_up_gpu();
		main = frame(proc, 0, "<module>", TRAIN, 50);
		empty = frame(proc, main, "empty_cache", "/x/site-packages/torch/cuda/memory.py", 224);
		add_kernels(STEP - 2 * MS);
		for (uint32_t i = 0; i < STEPS; i++)
			span(TP_REC_CALL, "cudaFree", i * STEP + 4 * MS, i * STEP + 10 * MS);
		for (uint32_t i = 0; i < n; i++)
			sample(proc, 0, empty, (i % STEPS) * STEP + (i + 5) * MS, 0);
		for (uint32_t i = 0; i < 9; i++)
			sample(proc, 0, frame(proc, main, "log", TRAIN, 60), i * MS + 20 * MS, 0);
		if (n == 5) {
			expect(print(&tp_view_overview), "leave out torch.cuda.empty_cache()");
			expect(print(&tp_view_overview), "train.py:50 <module>");
		} else {
			expect(print(&tp_view_overview), "expandable_segments:True");
		}
	}
}

/* In half of a step report() runs, and what it calls: one in so many samples format(), else draw(). */
static const char *report_by(uint32_t one_in)
{
	uint32_t main = frame(proc, 0, "<module>", TRAIN, 50), report = frame(proc, main, "report", TRAIN, 20);

	span(TP_REC_OP, "aten::mm", 0, STEP / 2);
	for (uint32_t i = 0; i < 16; i++) {
		uint32_t called = frame(proc, report, i % one_in ? "draw" : "format", TRAIN, i % one_in ? 30 : 40);

		sample(proc, 0, main, i * MS + MS, 0);
		sample(proc, 0, called, STEP / 2 + i * MS, 0);
	}
	return print(&tp_view_overview);
}

Test(samples_advice, a_function_is_named_with_what_it_calls_unless_one_of_these_is_nearly_all)
{
	const char *text = report_by(2);

	expect(text, "50.0 % of the samples");
	expect(text, "train.py:20 report");
	samples_init();
	text = report_by(16);
	expect(text, "46.9 % of the samples");
	expect(text, "train.py:30 draw");
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_overview.c - tests of the first screen
 */
#include <criterion/criterion.h>

#include "merge/kit/utf8.h"
#include "tests/unit/fake_run.h"

enum { MS = 1000000, EVENTS = 256 };

static const struct tp_view_options options = {.top = 20};
static struct fake fake;
static struct tp_event event[EVENTS];
static uint32_t n_events;

static int compare(const void *a, const void *b)
{
	const struct tp_event *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

/* Ten steps of 100 ms, 3 to 5 recorded; a step: 10 ms of data, 60 of operators, 30 other. */
static struct tp_proc *make_rank(int32_t rank)
{
	struct tp_proc *proc = fake_proc(&fake, rank);
	const struct tp_string *data = fake_text(
		&fake, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
	const struct tp_string *mm = fake_op(&fake, "aten::mm");
	const struct tp_string *step = fake_text(&fake, "Optimizer.step#AdamW.step");
	struct tp_window *window = fake_window(&fake, proc, 0, 300 * MS, 600 * MS);

	window->n_events = 12;
	window->meta = "torch=2.13.0\npython=3.11.7\n";
	for (uint32_t i = 0; i < 10; i++) {
		struct tp_step_row *row = fake_step_row(&fake, proc, i, i * 100 * MS, 100 * MS);
		int64_t at = row->begin_ns;

		row->data_wait_ns = 10 * MS;
		row->optimizer_ns = 5 * MS;
		row->live_bytes = 1 << 20;
		row->peak_bytes = (i == 4 ? 6u : 3u) << 20;
		if (i < 3 || i > 5)
			continue;
		row->phase = TP_PHASE_ACTIVE;
		event[n_events++] = fake_step(&fake, proc, i, at, at + 100 * MS);
		event[n_events++] = fake_span(&fake, proc, 0, TP_REC_RANGE, data, at, at + 10 * MS);
		event[n_events++] = fake_span(&fake, proc, 0, TP_REC_OP, mm, at + 10 * MS,
					      at + 70 * MS);
		event[n_events++] = fake_block(&fake, proc, 0, TP_REC_ALLOC, at + 20 * MS, 64,
					       (uint64_t)(i == 4 ? 5 : 2) << 20);
		event[n_events++] = fake_block(&fake, proc, 0, TP_REC_FREE, at + 80 * MS, 64, 0);
		event[n_events++] = fake_span(&fake, proc, 0, TP_REC_RANGE, step, at + 90 * MS,
					      at + 99 * MS);
	}
	return proc;
}

static char *print(uint32_t width, bool has_color)
{
	qsort(event, n_events, sizeof(event[0]), compare);
	return fake_print(&fake, &tp_view_overview, &options, event, n_events, width, has_color);
}

static void set_up(void)
{
	fake_init(&fake);
	n_events = 0;
}

TestSuite(view_overview, .init = set_up);

static void expect_has(const char *text, const char *const *wanted)
{
	for (; *wanted; wanted++)
		cr_expect(strstr(text, *wanted), "no '%s' in:\n%s", *wanted, text);
}

Test(view_overview, tells_what_ran_and_where_a_step_goes)
{
	static const char *const wanted[] = {
		"program   train.py on node7\n",
		"software  torch 2.13.0, Python 3.11.7\n",
		"3 of 10 steps in 1 window, 18 events",
		"1.00 s, 300 ms of it recorded",
		"average of 3 recorded steps",
		"DataLoader  10.0 ms   10.0 %",
		"CPU Exec    60.0 ms   60.0 %",
		"Other       30.0 ms   30.0 %",
		"step         100 ms  100.0 %",
		"aten::mm",
		NULL,
	};
	char *text;

	make_rank(0);
	text = print(100, false);
	expect_has(text, wanted);
	/* No GPU was seen: no rows for it. */
	cr_expect_not(strstr(text, "Kernel"));
	cr_expect_not(strstr(text, "LOST"));
}

Test(view_overview, does_not_call_other_what_was_not_recorded)
{
	char *text;
	uint32_t n = 0;

	make_rank(0);
	text = print(100, false);
	cr_expect_not(strstr(text, "operators were not recorded"), "%s", text);
	for (uint32_t i = 0; i < n_events; i++)
		if (event[i].kind == TP_REC_STEP)
			event[n++] = event[i];
	n_events = n;
	text = print(100, false);
	cr_expect(strstr(text, "operators were not recorded"), "%s", text);
	cr_expect_not(strstr(text, "Other"), "%s", text);
}

Test(view_overview, says_when_and_where_memory_was_at_its_peak)
{
	static const char *const wanted[] = {
		"peak of tensors 6.00 MiB in step 4 (epoch 0), inside aten::mm", NULL};

	make_rank(0);
	expect_has(print(100, false), wanted);
}

/* Step 1, which was not recorded, has as much on the GPU as the recorded step 4. */
static void set_device_peaks(uint64_t host_bytes)
{
	for (uint32_t i = 0; i < fake.run.n_steps; i++) {
		fake.run.step[i].device_peak = (uint64_t)(i == 1 || i == 4 ? 604 : 300) << 20;
		fake.run.step[i].peak_bytes = i ? 1 << 10 : host_bytes;
	}
}

Test(view_overview, says_memory_of_the_gpu_first)
{
	static struct tp_device device = {.id = 1};
	static const char *const both[] = {
		"memory    peak of tensors on GPU 1 604 MiB in step 4 (epoch 0)\n",
		"          peak of tensors on the host 48.8 MiB in step 0 (epoch 0), which was not recorded\n", NULL};
	struct tp_proc *proc = make_rank(0);
	char *text;

	proc->device = &device;
	proc->n_devices = 1;
	set_device_peaks(50000 << 10);
	text = print(120, false);
	expect_has(text, both);
	cr_expect_not(strstr(text, "of recorded steps: "), "%s", text);
	/* What is small beside it is left out. */
	set_device_peaks(2 << 20);
	cr_expect_not(strstr(print(120, false), "on the host"), "%s", print(120, false));
	/* No recorded step comes near it. */
	fake.run.step[1].device_peak *= 2;
	text = print(120, false);
	cr_expect(strstr(text, "on GPU 1 1.18 GiB in step 1 (epoch 0), which was not recorded"), "%s", text);
}

Test(view_overview, says_memory_of_the_gpu_without_a_ledger)
{
	char *text;

	make_rank(0);
	fake.run.n_steps = 0;
	for (uint32_t i = 0; i < n_events; i++)
		if (event[i].kind == TP_REC_ALLOC && event[i].begin_ns > 400 * MS)
			event[i].link = 0;
	text = print(120, false);
	cr_expect(strstr(text, "memory    peak of tensors on GPUs in recorded steps: 5.00 MiB above the window's "
			       "start in step 4\n"), "%s", text);
	cr_expect(strstr(text, "          peak of tensors on the host in recorded steps: 2.00 MiB"), "%s", text);
}

Test(view_overview, advises_on_data_loading_only_where_it_matters)
{
	static const char *const wanted[] = {"10.0 % of step time", "num_workers > 0", NULL};
	char *text;

	make_rank(0);
	expect_has(print(200, false), wanted);
	for (uint32_t i = 0; i < fake.run.n_steps; i++)
		fake.run.step[i].data_wait_ns = 4 * MS;
	text = print(200, false);
	cr_expect(strstr(text, "4.0 % of step time"), "%s", text);
	cr_expect_not(strstr(text, "num_workers"), "%s", text);
}

Test(view_overview, tells_what_was_different_in_the_slowest_step)
{
	static const char *const data[] = {
		"step 7 (after the first): 300 ms, 3.0 times the median; 200 ms more waiting for data",
		NULL};
	static const char *const cpu[] = {
		"step 5 (after the first): 200 ms, 2.0 times the median; most of it in CPU Exec: "
		"100 ms more than in the median step",
		NULL};

	make_rank(0);
	/* Outside windows: the ledger alone knows. */
	fake.run.step[7].dur_ns = 300 * MS;
	fake.run.step[7].data_wait_ns = 210 * MS;
	expect_has(print(200, false), data);
	/* What the profiler does once is no news of the training. */
	fake.run.step[7].phase = TP_PHASE_WARMUP;
	cr_expect_not(strstr(print(200, false), "slowest"), "%s", print(200, false));
	fake.run.step[7].phase = TP_PHASE_WAIT;
	/* Recorded: the breakdown knows. */
	fake.run.step[7].dur_ns = 100 * MS;
	fake.run.step[5].dur_ns = 200 * MS;
	for (uint32_t i = 0; i < n_events; i++) {
		if (event[i].kind == TP_REC_STEP && event[i].link == 5)
			event[i].end_ns += 100 * MS;
		if (event[i].kind == TP_REC_OP && event[i].begin_ns > 500 * MS)
			event[i].end_ns += 100 * MS;
	}
	expect_has(print(200, false), cpu);
}

Test(view_overview, says_how_long_the_process_ran_before_and_after)
{
	static const struct {
		const char *started;
		bool is_past;
		const char *says;
	} row[] = {
		{"age=200000000\n", false, "1.00 s, 300 ms of it recorded; the process had run for 200 ms before\n"},
		{"age=200000000\nafter=300000000\n", false,
		 "300 ms of it recorded; the process had run for 200 ms before, and ran for 300 ms\n"},
		{"age=99000000\nafter=100000000\n", false, "300 ms of it recorded; the process ran for 100 ms after\n"},
		{"after=99000000\n", false, "1.00 s, 300 ms of it recorded\n"},
		{"age=99000000\n", false, "1.00 s, 300 ms of it recorded\n"},
		{"age=200000000\n", true, "1.00 s, 300 ms of it recorded\n"},
		{"age=18446744073709551615\n", false, "1.00 s, 300 ms of it recorded\n"},
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct tp_proc *proc;

		fake_init(&fake);
		n_events = 0;
		make_rank(0);
		proc = fake.run.proc[0];
		proc->started = row[i].started;
		proc->is_past = row[i].is_past;
		expect_has(print(100, false), (const char *[]){row[i].says, NULL});
	}
}

Test(view_overview, compares_ranks_when_there_are_several)
{
	static const char *const wanted[] = {"2 of 2 ranks", "average of 6 recorded steps, all ranks",
					     "rank 0      3  100 ms", "rank 1      3  100 ms",
					     /* The time of both windows, what they share once. */
					     "1.00 s, 350 ms of it recorded", NULL};

	make_rank(0);
	make_rank(1);
	fake.run.window[1].begin_ns += 50 * MS;
	fake.run.window[1].end_ns += 50 * MS;
	expect_has(print(100, false), wanted);
}

/* Each step a collective of all ranks, to which rank 1 comes `late_ms` late. */
static void make_ranks(int64_t late_ms)
{
	for (int32_t rank = 0; rank < 3; rank++) {
		struct tp_proc *proc = make_rank(rank);
		int64_t late = rank == 1 ? late_ms * MS : 0;

		for (uint32_t i = 3; i < 6; i++) {
			int64_t at = i * 100 * MS + 70 * MS;

			event[n_events++] = fake_span(&fake, proc, 0, TP_REC_OP,
						      fake_op(&fake, "aten::bmm"), at, at + late);
			event[n_events++] = fake_span(&fake, proc, 1, TP_REC_RANGE,
						      fake_text(&fake, "gloo:all_reduce"),
						      at + late, at + 19 * MS);
		}
	}
}

Test(view_overview, names_the_rank_for_which_the_others_wait)
{
	static const char *const wanted[] = {
		"What holds it back",
		"rank 1 is the straggler, 18.0 ms late per step: it spends 18.0 ms more than the others in",
		NULL};

	make_ranks(18);
	expect_has(print(200, false), wanted);
}

/* Of 18 ms half and more may be what else the machine does. */
Test(view_overview, does_not_accuse_a_rank_that_had_no_core)
{
	for (uint32_t percent = 5; percent <= 12; percent += 7) {
		static char totals[200];

		set_up();
		make_ranks(18);
		for (uint32_t i = 0; i < fake.run.n_windows; i++) {
			if (fake.run.window[i].proc->rank != 1)
				continue;
			snprintf(totals, sizeof(totals), "threads.wall=1000000000\nthreads.cores=8\n"
				 "thread.%u=700000000 %u0000000 python\n", fake.run.window[i].proc->pid, percent);
			fake.run.window[i].totals = totals;
		}
		cr_expect_eq(strstr(print(200, false), "is the straggler") != NULL, percent == 5, "%s",
			     print(200, false));
	}
}

Test(view_overview, accuses_nobody_when_all_come_together)
{
	make_ranks(1);
	cr_expect_not(strstr(print(200, false), "waiting,"));
}

Test(view_overview, tells_of_processes_that_died_without_calling_it_a_loss)
{
	static const char *const wanted[] = {"died      1 process did not exit cleanly", NULL};
	char *text;

	make_rank(0)->is_dead = true;
	fake.run.window[0].is_whole = false;
	fake.run.window[0].is_recovered = true;
	text = print(100, false);
	expect_has(text, wanted);
	cr_expect_not(strstr(text, "LOST"), "%s", text);
}

Test(view_overview, says_first_what_a_process_did_last_that_died_between_operators)
{
	char *text;

	make_rank(0)->is_dead = true;
	fake.run.window[0].is_whole = false;
	fake.run.window[0].is_recovered = true;
	text = print(200, false);
	cr_expect_eq(strstr(text, "\nWhere they stood when they died\n"
				  "  rank 0: between operators for "), text, "%s", text);
	cr_expect(strstr(text, ", after step 9; the last one was "), "%s", text);
	/* Its windows have ended: it died later. */
	fake.run.window[0].is_whole = true;
	fake.run.window[0].is_recovered = false;
	text = print(200, false);
	cr_expect(strstr(text, ": outside windows, after step 9; what it did there was not recorded ("), "%s",
		  text);
}

Test(view_overview, shows_losses_in_red_and_open_spans)
{
	static const char *const wanted[] = {
		"\033[1;31m  LOST      1,234 events in 1 window",
		"1 window without an end",
		"off       shapes: not found",
		"rank 0 main thread: aten::mm for at least 12.0 ms in Optimizer.step#AdamW.step",
		NULL,
	};
	struct tp_proc *proc = make_rank(0);

	fake.run.window[0].dropped = 1234;
	fake.run.window[0].is_whole = false;
	fake.run.window[0].meta = "off.shapes=not found\n";
	fake.run.n_open = 2;
	fake.run.open[0] = (struct tp_open_at_end){
		proc, &proc->thread[0], fake_text(&fake, "Optimizer.step#AdamW.step"), TP_REC_RANGE,
		0, 100 * MS, 0};
	fake.run.open[1] = (struct tp_open_at_end){
		proc, &proc->thread[0], fake_op(&fake, "aten::mm"), TP_REC_OP, 88 * MS, 100 * MS, 1};
	proc->is_running = true;
	expect_has(print(120, true), wanted);
	/* By exec it became another program: it neither died nor runs. */
	proc->is_running = false;
	proc->is_dead = proc->is_replaced = true;
	cr_expect_not(strstr(print(120, true), "aten::mm for at least"));
}

static void expect_fits(const char *text, uint32_t width)
{
	while (*text) {
		const char *end = strchrnul(text, '\n');

		cr_expect_leq(tp_utf8_width(text, (uint32_t)(end - text)), width, "%.*s",
			      (int)(end - text), text);
		text = *end ? end + 1 : end;
	}
}

Test(view_overview, tells_of_allocations_that_failed)
{
	static const char *const wanted[] = {
		"NO MEMORY 2 allocations failed; the first requested 3.00 GiB, inside aten::mm",
		NULL};
	struct tp_proc *proc = make_rank(0);

	for (uint32_t i = 0; i < 2; i++) {
		event[n_events] = fake_span(&fake, proc, 0, TP_REC_MARK,
					    fake_text(&fake, "out of memory"), 420 * MS + i,
					    420 * MS + i);
		event[n_events++].arg = i ? 5 : 3ull << 30;
	}
	expect_has(print(100, false), wanted);
}

Test(view_overview, says_why_nothing_was_recorded)
{
	static const char *const early[] = {"NOTHING   was recorded: the run ended before its first "
					    "active step, in phase 'wait'",
					    NULL};
	static const char *const filtered[] = {"NOTHING   of it was requested", NULL};
	struct tp_proc *proc = fake_proc(&fake, 0);

	fake_step_row(&fake, proc, 0, 0, MS);
	expect_has(print(200, false), early);
	fake_window(&fake, proc, 0, 0, MS)->n_events = 5;
	expect_has(print(200, false), filtered);
}

Test(view_overview, fits_eighty_columns_and_a_screen)
{
	uint32_t n_lines = 0;
	char *text;

	make_rank(0);
	text = print(80, false);
	expect_fits(text, 80);
	for (const char *at = text; *at; at++)
		n_lines += *at == '\n';
	cr_expect_leq(n_lines, 40, "%s", text);
}

Test(view_overview, prints_empty_and_odd_runs)
{
	struct tp_proc *proc;
	char *text = print(80, false);

	cr_expect(text[0]);
	proc = fake_proc(&fake, -1);
	event[0] = fake_step(&fake, proc, 0, 5, 5);
	event[1] = fake_step(&fake, proc, 1, 5, 5);
	n_events = 2;
	expect_fits(print(80, false), 80);
}

/* An A100 that computes 40 of 100 ms, copies for 5, communicates for 10 (5 beside computing). */
static void add_gpu(struct tp_proc *proc)
{
	static struct tp_queue queue = {.stream = 7}, other = {.at = 1, .stream = 20};
	static struct tp_device device = {
		.name = "NVIDIA A100-SXM4-80GB", .major = 8, .n_sms = 108, .warp_threads = 32,
		.sm_threads = 2048, .sm_registers = 65536, .sm_shared = 167936,
		.block_threads = 1024, .block_registers = 65536, .block_shared = 49152,
		.block_shared_optin = 166912, .memory_bytes = 85ull << 30,
	};
	struct tp_launch launch = {.grid = {54, 1, 1}, .block = {1024, 1, 1}, .registers = 32};
	const struct tp_string *detail =
		fake_string(&fake, TP_STRING_LAUNCH, (char *)&launch, sizeof(launch));
	static const struct {
		uint8_t kind;
		const char *name;
		int begin, end;
	} row[] = {
		{TP_REC_CALL, "cudaLaunchKernel", 11, 12},
		{TP_REC_KERNEL, "volta_h884gemm", 20, 40},
		{TP_REC_CALL, "cudaLaunchKernel", 13, 14},
		{TP_REC_KERNEL, "elementwise", 40, 60},
		{TP_REC_CALL, "cudaMemcpyAsync", 61, 62},
		{TP_REC_MEMCPY, "Memcpy DtoH (Device -> Pinned)", 65, 70},
		{TP_REC_CALL, "cudaLaunchKernel", 15, 16},
		{TP_REC_KERNEL, "ncclDevKernel_AllReduce", 55, 65},
	};

	proc->device = &device;
	proc->n_devices = 1;
	fake.run.window[0].totals = "cupti.version=22\ncupti.kernel=9\n";
	for (int64_t step = 3; step < 6; step++) {
		for (uint32_t i = 0; i < 8; i++) {
			struct tp_event *e = &event[n_events++];

			*e = fake_span(&fake, proc, 0, row[i].kind, fake_text(&fake, row[i].name),
				       (step * 100 + row[i].begin) * MS,
				       (step * 100 + row[i].end) * MS);
			e->link = (uint32_t)(step * 100 + i / 2);
			e->queue = row[i].kind == TP_REC_CALL ? NULL : i == 7 ? &other : &queue;
			e->detail = row[i].kind == TP_REC_KERNEL ? detail : &fake.none;
		}
	}
}

Test(view_overview, shows_what_the_gpu_did)
{
	static const char *const wanted[] = {
		"CUPTI 12.4",
		"  Kernel         40.0 ms   40.0 %",
		"  Memcpy         5.00 ms    5.0 %",
		/* beside a kernel it does not count; 5 of 10 */
		"  Communication  5.00 ms    5.0 %",
		/* beside the kernel and the copy it does not count */
		"  Runtime        3.00 ms    3.0 %",
		"How busy the GPU is in the recorded steps",
		/* The first work begins at 20 ms, long after its call: before it nothing is known. */
		"  0    NVIDIA A100-SXM4-80GB  85.0 GiB         8.0       48.2 %   26.8 %     25.0 %"
		"        40.0 %",
		"GPU idle  51.8 % of the time, waiting for a copy 5.4 %, the host 40.7 %, something else 5.7 %",
		"overlap   kernels compute during 50.0 % of the communication and 0.0 % of the copies",
		"launches  12; launch delay 9.01 ms (median; p99 40.0 ms); queue depth of a stream at "
		"most 2, on average 0.4",
		NULL,
	};
	char *text;

	add_gpu(make_rank(0));
	text = print(120, false);
	expect_has(text, wanted);
	cr_expect_not(strstr(text, "odd "), "%s", text);
	cr_expect_not(strstr(text, "LOST"), "%s", text);
}

/* Kernels of step `from` and later ones are not there. */
static void lose_kernels(int64_t from)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_events; i++)
		if (event[i].kind != TP_REC_KERNEL || event[i].begin_ns < from * 100 * MS)
			event[n++] = event[i];
	n_events = n;
}

Test(view_overview, says_that_work_of_launches_is_missing)
{
	char *text;

	add_gpu(make_rank(0));
	lose_kernels(5);
	text = print(200, false);
	cr_expect(strstr(text, "LOST      3 of 9 launches of kernels and graphs in window 0 have no work that was "
			       "recorded: GPU times of its steps are too small\n"), "%s", text);
	cr_expect(strstr(text, "more: -v health"), "%s", text);
	text = fake_print(&fake, &tp_view_health, &options, event, n_events, 200, false);
	cr_expect(strstr(text, "3 of 9 launches of kernels"), "%s", text);
	cr_expect_not(strstr(text, "all good"), "%s", text);
	/* Into a graph that is captured. */
	event[n_events++] = fake_span(&fake, fake.procs[0], 0, TP_REC_CALL,
				      fake_text(&fake, "cudaStreamBeginCapture_v10000"), 500 * MS, 501 * MS);
	cr_expect_not(strstr(print(200, false), "LOST"), "%s", print(200, false));
}

Test(view_overview, fits_a_screen_with_a_gpu_too)
{
	uint32_t n_lines = 0;
	char *text;

	add_gpu(make_rank(0));
	text = print(80, false);
	expect_fits(text, 80);
	text = print(100, false);
	expect_fits(text, 100);
	for (const char *at = text; *at; at++)
		n_lines += *at == '\n';
	cr_expect_leq(n_lines, 52, "%s", text);
}

Test(view_overview, shows_a_row_for_the_gpu_of_each_rank)
{
	static const char *const wanted[] = {"How busy the GPUs are in the recorded steps", "  rank 0: 0 ",
					     "  rank 1: 0 ", NULL};

	add_gpu(make_rank(0));
	add_gpu(make_rank(1));
	expect_has(print(120, false), wanted);
}

Test(view_overview, tells_what_the_gpus_records_lack)
{
	static const char *const wanted[] = {
		"\033[1;31m  LOST      77 records of the GPU were dropped by CUPTI: a larger "
		"TRAINPROF_CUPTI_BUFFER; and 1 more",
		"odd       1 of 12 pieces of work have no call that was recorded; 1 began before "
		"their call, by up to 500 us; 1 launch started nothing that was recorded",
		NULL,
	};

	add_gpu(make_rank(0));
	fake.run.window[0].totals =
		"cupti.version=22\ncupti.dropped=77\ncupti.kernel.no_time=3\ncupti.unknown=4\n";
	for (uint32_t i = 0, n_calls = 0; i < n_events; i++) {
		if (event[i].kind != TP_REC_CALL)
			continue;
		/* One call has another's id; one is late. */
		if (!n_calls)
			event[i].link = 9999;
		if (n_calls == 1) {
			event[i].begin_ns += 27 * MS + MS / 2;
			event[i].end_ns += 28 * MS;
		}
		n_calls++;
	}
	expect_has(print(200, true), wanted);
}

Test(view_overview, the_heap_by_its_counters)
{
	static const char *const one[] = {
		"heap      peak 3.00 MiB; 1.00 MiB at the end of its last window; 1,234 allocations",
		NULL,
	};
	static const char *const two[] = {
		"heap      peak 5.00 MiB (rank 1), 8.00 MiB in 2 processes; 4.00 MiB at the end of its "
		"last window; 1,244 allocations",
		NULL,
	};

	make_rank(0);
	fake.run.window[0].totals = "heap.peak=3145728\nheap.live=1048576\nheap.allocs=1234\n";
	expect_has(print(200, false), one);
	make_rank(1);
	fake.run.window[1].totals = "heap.peak=5242880\nheap.live=4194304\nheap.allocs=10\n";
	expect_has(print(200, false), two);
}

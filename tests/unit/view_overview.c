/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_overview.c - tests of the first screen
 */
#include "tests/unit/overview_rig.h"

TestSuite(view_overview, .init = set_up);

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

/* Steps 4 to 7 of n are recorded. */
static bool says_windows_are_unlike(uint32_t n, int64_t recorded_ms, int64_t others_ms)
{
	struct tp_proc *proc;

	fake_init(&fake);
	n_events = 0;
	proc = fake_proc(&fake, 0);
	for (uint32_t i = 0; i < n; i++) {
		const bool is_recorded = i >= 4 && i < 8;
		struct tp_step_row *row = fake_step_row(&fake, proc, i, i * 200ll * MS,
							(is_recorded ? recorded_ms : others_ms) * MS);

		row->phase = is_recorded ? TP_PHASE_ACTIVE : TP_PHASE_WAIT;
	}
	return strstr(print(200, false), "windows   the median recorded step took ");
}

Test(view_overview, says_where_recorded_steps_are_no_sample_of_the_run)
{
	cr_expect(says_windows_are_unlike(30, 20, 31));
	cr_expect(strstr(print(200, false), "took 20.0 ms, the median other one 31.0 ms"), "%s", print(200, false));
	cr_expect(says_windows_are_unlike(30, 31, 20));
	cr_expect_not(says_windows_are_unlike(30, 20, 29));
	cr_expect_not(says_windows_are_unlike(30, 29, 20));
	/* The first step counts for nothing: 16 and 15 others. */
	cr_expect(says_windows_are_unlike(21, 20, 31));
	cr_expect_not(says_windows_are_unlike(20, 20, 31));
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
	char *text;

	make_rank(0);
	text = print(80, false);
	expect_fits(text, 80);
	expect_lines(text, 40);
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

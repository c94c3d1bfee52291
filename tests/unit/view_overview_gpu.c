/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_overview_gpu.c - tests of the first screen where there is a GPU
 */
#include "tests/unit/overview_rig.h"

TestSuite(view_overview_gpu, .init = set_up);

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

Test(view_overview_gpu, shows_what_the_gpu_did)
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

Test(view_overview_gpu, says_that_work_of_launches_is_missing)
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

Test(view_overview_gpu, fits_a_screen_with_a_gpu_too)
{
	char *text;

	add_gpu(make_rank(0));
	text = print(80, false);
	expect_fits(text, 80);
	text = print(100, false);
	expect_fits(text, 100);
	expect_lines(text, 52);
}

Test(view_overview_gpu, shows_a_row_for_the_gpu_of_each_rank)
{
	static const char *const wanted[] = {"How busy the GPUs are in the recorded steps", "  rank 0: 0 ",
					     "  rank 1: 0 ", NULL};

	add_gpu(make_rank(0));
	add_gpu(make_rank(1));
	expect_has(print(120, false), wanted);
}

Test(view_overview_gpu, tells_what_the_gpus_records_lack)
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_work.c - tests of the rules on what devices do: each applies where it should, and nowhere else
 */
#include "merge/model/device.h"
#include "tests/unit/advice_gpu_rig.h"

static void set_up(void)
{
	advice_gpu_init();
}

TestSuite(overview_work, .init = set_up);

/* All that is asked for is asked for by line 20. */
static void begin_at_line(void)
{
	add_steps();
	add_line(1, 20);
	add_stack(1, 0);
}

static const struct tp_string *blocks(uint32_t n)
{
	struct tp_launch launch = {.grid = {n, 1, 1}, .block = {1024, 1, 1}};

	return fake_string(&fake, TP_STRING_LAUNCH, (char *)&launch, sizeof(launch));
}

static void add_blocks(const char *name, uint32_t n, int64_t begin, int64_t end)
{
	add_work("cudaLaunchKernel", TP_REC_KERNEL, name, 1 * MS, begin, end, blocks(n));
}

static void add_copy(uint32_t kind, uint32_t from, uint32_t to, int64_t begin, int64_t end)
{
	struct tp_transfer transfer = {.copy_kind = kind, .from_kind = from, .to_kind = to};

	add_work("cudaMemcpyAsync", TP_REC_MEMCPY, "a copy", 2 * MS, begin, end,
		 fake_string(&fake, TP_STRING_TRANSFER, (char *)&transfer, sizeof(transfer)));
}

static void expect_text(const char *text, const char *wanted)
{
	cr_expect(strstr(text, wanted), "'%s' is not in:\n%s", wanted, text);
}

#define AT_LINE_20 "\n                      /home/me/train.py:20 main\n"

/* ---- tensor cores ---- */

Test(overview_work, sees_products_in_float32_where_there_are_tensor_cores)
{
	for (uint32_t major = 6; major < 9; major++) {
		set_up();
		device.major = major;
		begin_at_line();
		add_blocks("ampere_sgemm_128x64_tn", 108, 2 * MS, 98 * MS);
		expect_rules(print(), major < 7 ? (const char *[]){NULL}
						: (const char *[]){"tensor-cores", NULL});
		if (major < 7)
			continue;
		expect_text(print(), "for 96.0 % of the time products and convolutions run in float32");
		expect_text(print(), AT_LINE_20);
	}
}

Test(overview_work, sees_products_whose_calls_were_made_before_the_window)
{
	begin_at_line();
	add_blocks("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_ffma_execute_kernel", 108, 2 * MS,
		   98 * MS);
	for (uint32_t i = 0; i < n_events; i++)
		event[i].link = event[i].kind == TP_REC_KERNEL ? 9999 : event[i].link;
	expect_rules(print(), (const char *[]){"tensor-cores", NULL});
}

/* After the steps the window goes on for as long again. */
Test(overview_work, work_outside_steps_counts_as_far_as_that_in_steps)
{
	begin_at_line();
	fake.run.window[0].end_ns = 2 * STEPS * 100 * MS;
	add_blocks("ampere_sgemm_128x64_tn", 108, 2 * MS, 24 * MS);
	add_blocks("elementwise", 108, 24 * MS, 98 * MS);
	event[n_events] = fake_span(&fake, proc, 0, TP_REC_KERNEL, fake_text(&fake, "elementwise"),
				    STEPS * 100 * MS, 2 * STEPS * 100 * MS);
	event[n_events].queue = &queue;
	event[n_events++].detail = blocks(108);
	expect_rules(print(), (const char *[]){NULL});
	for (uint32_t i = 0; i < n_events; i++)
		if (event[i].kind == TP_REC_KERNEL && event[i].begin_ns >= STEPS * 100 * MS)
			event[i].name = fake_text(&fake, "ampere_sgemm_128x64_tn");
	expect_text(print(), "for 59.8 % of the time products");
}

Test(overview_work, does_not_take_other_kernels_for_products_in_float32)
{
	static const char *const name[] = {
		"ampere_bf16_s16816gemm_bf16_256x128_ldg8_f2f_stages_32x3_nn", "elementwise",
		"cutlass_80_tensorop_d884gemm_64x32_16x4_tn_align1",
	};

	for (uint32_t i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
		set_up();
		begin_at_line();
		for (uint32_t k = 0; k < STEPS; k++)
			add(TP_REC_OP, "aten::linear", k * 100 * MS, (k * 100 + 4) * MS);
		add_blocks(name[i], 108, 2 * MS, 98 * MS);
		expect_rules(print(), (const char *[]){NULL});
	}
}

/* ---- few blocks ---- */

Test(overview_work, sees_kernels_that_leave_most_multiprocessors_empty)
{
	const char *text;

	begin_at_line();
	add_blocks("void at::native::softmax<float>(float*)", 1, 2 * MS, 40 * MS);
	add_blocks("elementwise", 108, 41 * MS, 98 * MS);
	text = print();
	expect_rules(text, (const char *[]){"few-blocks", NULL});
	expect_text(text, "38.0 % of the time runs a kernel that gives work to 0.93 % of the multiprocessors only: 1 "
			  "per step, 38.0 ms each: at::native::softmax<float>");
	expect_text(text, AT_LINE_20);
}

Test(overview_work, does_not_accuse_kernels_of_few_blocks_that_cost_little)
{
	/* Half of the multiprocessors work. */
	begin_at_line();
	add_blocks("softmax", 54, 2 * MS, 98 * MS);
	expect_rules(print(), (const char *[]){NULL});
	/* Devices meet. */
	set_up();
	begin_at_line();
	add_blocks("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 4, 2 * MS, 40 * MS);
	add_blocks("elementwise", 108, 40 * MS, 98 * MS);
	cr_expect_not(strstr(print(), "few-blocks"), "%s", print());
	/* So short ones cost their launches. */
	set_up();
	begin_at_line();
	for (int64_t i = 0; i < 400; i++)
		add_work("cudaLaunchKernel", TP_REC_KERNEL, "softmax", MS, 2 * MS + i * 50000,
			 2 * MS + i * 50000 + 49000, blocks(1));
	cr_expect_not(strstr(print(), "few-blocks"), "%s", print());
}

Test(overview_work, multiprocessors_that_another_kernel_uses_are_not_lost)
{
	static struct tp_queue other = {.stream = 8};

	begin_at_line();
	add_blocks("softmax", 1, 2 * MS, 98 * MS);
	add_blocks("elementwise", 108, 2 * MS, 88 * MS);
	for (uint32_t i = n_events; i--;)
		if (event[i].kind == TP_REC_KERNEL && event[i].link > STEPS)
			event[i].queue = &other;
	expect_rules(print(), (const char *[]){NULL});
}

/* ---- copies ---- */

Test(overview_work, sees_copies_that_no_kernel_runs_beside)
{
	const char *text;

	begin_at_line();
	add_copy(TP_COPY_HTOD, 2, 3, 3 * MS, 43 * MS);
	add_blocks("elementwise", 108, 43 * MS, 98 * MS);
	text = print();
	expect_rules(text, (const char *[]){"exposed-copies", NULL});
	expect_text(text, "for 40.0 % of the time the GPU does nothing but copy, most of it from the host: kernels "
			  "run in 0.0 % of the time of copies");
	expect_text(text, "copy the next batch in a stream of its own");
	expect_text(text, AT_LINE_20);
	set_up();
	begin_at_line();
	add_copy(TP_COPY_DTOH, 3, 2, 3 * MS, 43 * MS);
	add_blocks("elementwise", 108, 43 * MS, 98 * MS);
	text = print();
	expect_rules(text, (const char *[]){"exposed-copies", NULL});
	expect_text(text, "most of it to the host");
	expect_text(text, "copy results less often");
}

Test(overview_work, copies_beside_kernels_and_pageable_ones_are_not_exposed)
{
	static struct tp_queue other = {.stream = 8};

	begin_at_line();
	add_copy(TP_COPY_HTOD, 2, 3, 3 * MS, 43 * MS);
	add_blocks("elementwise", 108, 2 * MS, 98 * MS);
	for (uint32_t i = 0; i < n_events; i++)
		if (event[i].kind == TP_REC_MEMCPY)
			event[i].queue = &other;
	expect_rules(print(), (const char *[]){NULL});
	/* Within the device. */
	set_up();
	begin_at_line();
	add_copy(8, 3, 3, 3 * MS, 43 * MS);
	add_blocks("elementwise", 108, 43 * MS, 98 * MS);
	expect_rules(print(), (const char *[]){NULL});
	/* The other rule's. */
	set_up();
	begin_at_line();
	add_copy(TP_COPY_HTOD, 1, 3, 3 * MS, 43 * MS);
	add_blocks("elementwise", 108, 43 * MS, 98 * MS);
	expect_rules(print(), (const char *[]){"pageable-copies", NULL});
}

/* ---- memory of the driver's ---- */

static void add_calls(const char *name, int64_t begin, int64_t end)
{
	for (uint32_t i = 0; i < STEPS; i++)
		add(TP_REC_CALL, name, i * 100 * MS + begin, i * 100 * MS + end);
}

Test(overview_work, sees_memory_that_is_requested_in_every_step)
{
	begin_at_line();
	add_blocks("elementwise", 108, 2 * MS, 98 * MS);
	add_calls("cudaMalloc", 10 * MS, 13 * MS);
	expect_rules(print(), (const char *[]){"device-allocations", NULL});
	expect_text(print(), "1 calls per step request memory from the driver or return it: 3.0 % of the time");
	expect_text(print(), "expandable_segments:True");
	expect_text(print(), AT_LINE_20);
}

Test(overview_work, memory_of_the_host_matters_where_a_device_waits_for_it)
{
	begin_at_line();
	add_blocks("elementwise", 108, 2 * MS, 98 * MS);
	add_blocks("elementwise", 108, 98 * MS, 102 * MS);
	add_calls("cudaHostAlloc", 10 * MS, 16 * MS);
	expect_rules(print(), (const char *[]){NULL});
	set_up();
	begin_at_line();
	add_calls("cudaHostAlloc", 1 * MS, 11 * MS);
	add_work("cudaLaunchKernel", TP_REC_KERNEL, "elementwise", 12 * MS, 13 * MS, 99 * MS, blocks(108));
	expect_rules(print(), (const char *[]){"device-allocations", NULL});
	expect_text(print(), "keep pinned memory and use it again");
}

static void fail_in(uint32_t n_steps)
{
	begin_at_line();
	add_blocks("elementwise", 108, 2 * MS, 98 * MS);
	for (uint32_t i = 0; i < n_steps; i++) {
		add(TP_REC_MARK, "out of memory", (i * 100 + 5) * MS, (i * 100 + 5) * MS)->arg = 1 << 20;
		add(TP_REC_MARK, "out of memory", (i * 100 + 20) * MS, (i * 100 + 20) * MS)->arg = 1 << 20;
	}
}

Test(overview_work, sees_steps_that_try_again_after_memory_ran_out)
{
	const char *text;

	fail_in(STEPS);
	text = print();
	expect_rules(text, (const char *[]){"device-allocations", NULL});
	expect_text(text, "in 4 of 4 recorded steps memory runs out and the program tries again: up to 20.0 % of "
			  "the time is wasted");
	expect_text(text, AT_LINE_20);
	/* Of the last step the report tells more. */
	set_up();
	fail_in(1);
	expect_rules(print(), (const char *[]){NULL});
}

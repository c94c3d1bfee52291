/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_steps.c - tests of the view of every step
 */
#include <criterion/criterion.h>

#include "merge/kit/utf8.h"
#include "tests/unit/fake_run.h"

enum { MS = 1000000 };

static struct fake fake;

static void set_up(void)
{
	fake_init(&fake);
}

TestSuite(view_steps, .init = set_up);

static char *print(uint32_t top, uint32_t width, bool has_color)
{
	const struct tp_view_options options = {.top = top};

	return fake_print(&fake, &tp_view_steps, &options, NULL, 0, width, has_color);
}

static void make_steps(struct tp_proc *proc, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		fake_step_row(&fake, proc, i, i * 100 * MS, 100 * MS)->data_wait_ns = MS;
}

/* Lines whose first word is a number. */
static uint32_t count_rows(const char *text)
{
	uint32_t n = 0;

	for (const char *at = text; *at; at = *strchrnul(at, '\n') ? strchrnul(at, '\n') + 1 : "") {
		at += strspn(at, " ");
		/* "12 of 100 steps" is no row */
		n += *at >= '0' && *at <= '9' && strstr(at, "  ") &&
		     strstr(at, "  ") < strchrnul(at, '\n');
	}
	return n;
}

Test(view_steps, shows_all_steps_of_a_short_run)
{
	char *text;

	make_steps(fake_proc(&fake, 0), 12);
	text = print(20, 100, false);
	cr_expect_eq(count_rows(text), 12, "%s", text);
	cr_expect_not(strstr(text, "--top 0"), "%s", text);
	cr_expect(strstr(text, "How long steps take: 12 steps, ended by the optimizer"), "%s", text);
}

Test(view_steps, shows_first_last_and_slow_steps_of_a_long_run)
{
	char *text;

	make_steps(fake_proc(&fake, 0), 1000);
	fake.run.step[500].dur_ns = 151 * MS;
	fake.run.step[600].dur_ns = 450 * MS;
	fake.run.step[700].dur_ns = 150 * MS; /* not over 1.5 times: not slow */
	text = print(20, 100, false);
	cr_expect_eq(count_rows(text), 8, "%s", text);
	cr_expect(strstr(text, "slow 1.5x"), "%s", text);
	cr_expect(strstr(text, "slow 4.5x"), "%s", text);
	cr_expect(strstr(text, "2 of 1,000 steps took over 1.5 times"), "%s", text);
	cr_expect(strstr(text, "8 of 1,000 steps shown"), "%s", text);
	cr_expect_eq(count_rows(print(0, 100, false)), 1000);
	/* Fewer rows than slow steps: the slowest. */
	text = print(7, 100, false);
	cr_expect_eq(count_rows(text), 7, "%s", text);
	cr_expect(strstr(text, "slow 4.5x"));
	cr_expect_not(strstr(text, "slow 1.5x"));
}

Test(view_steps, follows_a_run_that_becomes_slower)
{
	/* Twice as long from step 100 on: slow at first, then that is how long a step is. */
	make_steps(fake_proc(&fake, 0), 300);
	for (uint32_t i = 100; i < 300; i++)
		fake.run.step[i].dur_ns = 200 * MS;
	cr_expect(strstr(print(20, 100, false), "; 32 of 300 steps took"), "%s",
		  print(20, 100, false));
}

Test(view_steps, gives_percentiles_by_phase)
{
	struct tp_proc *proc = fake_proc(&fake, 0);
	char *text;

	for (uint32_t i = 0; i < 100; i++)
		fake_step_row(&fake, proc, i, i, (i + 1) * MS)->phase =
			i < 90 ? TP_PHASE_WAIT : TP_PHASE_ACTIVE;
	text = print(20, 100, false);
	cr_expect(strstr(text, "wait       90  45.0 ms  81.0 ms  90.0 ms  90.0 ms"), "%s", text);
	cr_expect(strstr(text, "active     10  95.0 ms  99.0 ms   100 ms   100 ms"), "%s", text);
	cr_expect(strstr(text, "all       100  50.0 ms  90.0 ms  99.0 ms   100 ms"), "%s", text);
}

Test(view_steps, marks_losses_and_skipped_optimizers)
{
	char *text;

	make_steps(fake_proc(&fake, 0), 10);
	fake.run.step[4].flags = TP_F_SKIPPED;
	fake.run.step[5].dropped = 77;
	text = print(20, 100, true);
	cr_expect(strstr(text, "optimizer skipped"), "%s", text);
	cr_expect(strstr(text, "77 lost\033[0m"), "%s", text);
}

Test(view_steps, has_a_part_for_each_process_and_fits)
{
	char *text;

	make_steps(fake_proc(&fake, 0), 50);
	make_steps(fake_proc(&fake, 1), 50);
	fake.run.step[3].device_peak = 1 << 30;
	text = print(20, 80, false);
	cr_expect(strstr(text, "How long steps take, rank 0"));
	cr_expect(strstr(text, "How long steps take, rank 1"));
	for (const char *at = text; *at;) {
		const char *end = strchrnul(at, '\n');

		cr_expect_leq(tp_utf8_width(at, (uint32_t)(end - at)), 80, "%.*s",
			      (int)(end - at), at);
		at = *end ? end + 1 : end;
	}
}

Test(view_steps, shows_many_ranks_in_a_table_and_the_slowest_in_detail)
{
	char *text;

	for (int32_t rank = 0; rank < 12; rank++)
		make_steps(fake_proc(&fake, rank), 20);
	for (uint32_t i = 0; i < 20; i++)
		fake.run.step[7 * 20 + i].dur_ns = 130 * MS;
	text = print(20, 100, false);
	cr_expect(strstr(text, "rank 11     20  100 ms"), "%s", text);
	cr_expect(strstr(text, "rank 7      20  130 ms"), "%s", text);
	cr_expect(strstr(text, "How long steps take, rank 7"), "%s", text);
	/* One phase only: no line that repeats it. */
	cr_expect_not(strstr(text, "\nall "), "%s", text);
	cr_expect_not(strstr(text, "How long steps take, rank 8"), "%s", text);
	cr_expect(strstr(print(0, 100, false), "How long steps take, rank 8"));
}

/* A call in the step, and its work. */
static void add_work(struct fake *of, struct tp_event *event, uint32_t *n, uint32_t correlation,
		     const char *name, uint8_t kind, int64_t begin, int64_t end)
{
	static struct tp_queue stream = {.stream = 7};

	event[*n] = fake_span(of, of->procs[0], 0, TP_REC_CALL, fake_text(of, "cudaLaunchKernel"),
			      begin - 1000, begin - 500);
	event[(*n)++].link = correlation;
	event[*n] = fake_span(of, of->procs[0], 0, kind, fake_text(of, name), begin, end);
	event[*n].queue = &stream;
	event[(*n)++].link = correlation;
}

Test(view_steps, has_what_the_device_did_in_the_steps_that_were_recorded)
{
	struct tp_event event[16];
	struct fake gpu;
	uint32_t n = 0;
	char *text;

	fake_init(&gpu);
	fake_proc(&gpu, 0)->has_gpu = true;
	cr_expect(fake_needs_events(&gpu, &tp_view_steps));
	fake_window(&gpu, gpu.procs[0], 0, 2000000, 4000000)->n_events = 9;
	for (uint32_t i = 0; i < 4; i++)
		fake_step_row(&gpu, gpu.procs[0], i, 1000000 * (i + 1), 1000000);
	for (uint32_t i = 1; i < 3; i++) {
		int64_t begin = 1000000 * (i + 1);

		event[n++] = fake_step(&gpu, gpu.procs[0], i, begin, begin + 1000000);
		add_work(&gpu, event, &n, 2 * i, "gemm", TP_REC_KERNEL, begin + 100000,
			 begin + 100000 + 200000 * i);
		add_work(&gpu, event, &n, 2 * i + 1, "Memcpy HtoD", TP_REC_MEMCPY, begin + 800000,
			 begin + 900000);
	}
	text = fake_print(&gpu, &tp_view_steps, &(struct tp_view_options){0}, event, n, 140, false);
	cr_expect_not_null(strstr(text, "GPU busy  kernels  comm  copies  launched"), "%s", text);
	cr_expect_not_null(strstr(text, " 30.0 %   200 us  0 ns  100 us         2 "), "%s", text);
	cr_expect_not_null(strstr(text, " 50.0 %   400 us  0 ns  100 us         2 "), "%s", text);
	/* Memory that nobody told is no 0. */
	cr_expect_null(strstr(text, "peak"), "%s", text);
	/* Without a device no event is read. */
	gpu.procs[0]->has_gpu = false;
	cr_expect_not(fake_needs_events(&gpu, &tp_view_steps));
	text = fake_print(&gpu, &tp_view_steps, &(struct tp_view_options){0}, event, n, 140, false);
	cr_expect_null(strstr(text, "GPU"), "%s", text);
}

Test(view_steps, says_so_when_there_is_no_step)
{
	cr_expect(strstr(print(20, 80, false), "no step was seen"));
}

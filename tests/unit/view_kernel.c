/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_kernel.c - tests of the kernel view: figures computed by hand
 */
#include <criterion/criterion.h>

#include "merge/kit/utf8.h"
#include "tests/unit/fake_run.h"

static const struct tp_view_options plain = {.top = 20};
static struct fake fake;
static struct tp_proc *proc;
static struct tp_queue queues[2] = {{.stream = 7}, {.at = 1, .stream = 8}};
static struct tp_device device = {
	.major = 8, .n_sms = 100, .warp_threads = 32, .sm_threads = 2048, .sm_registers = 65536,
	.sm_shared = 167936, .block_threads = 1024, .block_registers = 65536,
	.block_shared = 49152, .block_shared_optin = 166912,
};
static struct tp_event event[2000];
static uint32_t n_events;

static void set_up(void)
{
	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	proc->device = &device;
	proc->n_devices = 1;
	fake_window(&fake, proc, 0, 0, 100000000);
	n_events = 0;
}

TestSuite(view_kernel, .init = set_up);

static void add_kernel(const struct tp_string *name, uint32_t queue, uint32_t blocks,
		       uint32_t registers, int64_t begin, int64_t end, uint32_t correlation)
{
	struct tp_launch launch = {.place = {.stream = queues[queue].stream},
				   .grid = {blocks, 1, 1}, .block = {1024, 1, 1},
				   .registers = registers, .shared_dynamic = 2048};
	struct tp_event *e = &event[n_events++];

	*e = fake_span(&fake, proc, 0, TP_REC_KERNEL, name, begin, end);
	e->queue = &queues[queue];
	e->link = correlation;
	e->detail = fake_string(&fake, TP_STRING_LAUNCH, (char *)&launch, sizeof(launch));
}

static void add_call(uint32_t thread, int64_t begin, int64_t end, uint32_t correlation)
{
	struct tp_event *e = &event[n_events++];

	*e = fake_span(&fake, proc, thread, TP_REC_CALL, fake_text(&fake, "cudaLaunchKernel"), begin,
		       end);
	e->link = correlation;
}

static char *print(const struct tp_view_options *options, uint32_t width)
{
	return fake_print(&fake, &tp_view_kernel, options, event, n_events, width, false);
}

/* The n-th line that begins with `name`, its runs of spaces made one. "" if none. */
static const char *line_of(const char *text, const char *name, int nth)
{
	static char line[512];
	const char *at = text;
	size_t n = 0;

	for (; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
		if (!strncmp(at, name, strlen(name)) && !nth--)
			break;
	for (; at && *at && *at != '\n' && n < sizeof(line) - 1; at++)
		if (*at != ' ' || (n && line[n - 1] != ' '))
			line[n++] = *at;
	line[n] = 0;
	return line;
}

Test(view_kernel, gives_times_and_means_weighted_by_time)
{
	const struct tp_string *gemm = fake_text(&fake, "volta_h884gemm");
	const struct tp_string *add = fake_text(
		&fake, "void at::native::add<float>(int, at::(anonymous namespace)::F<(bool)1>)");
	char *text;

	/* 0.5 blocks per SM for 1 us, 2 for 3 us: 1.625; occupancy 0.25 and 1: 0.8125 */
	add_kernel(gemm, 0, 50, 32, 1000, 2000, 1);
	add_kernel(gemm, 1, 200, 32, 3000, 6000, 2);
	for (int i = 0; i < 100; i++)
		add_kernel(add, 0, 4000, 64, 10000 + i * 100, 10010 + i * 100 + (i == 99), 3);
	text = print(&plain, 200);
	cr_expect(strstr(text, "Which kernels take most, by total time"), "%s", text);
	cr_expect_str_eq(line_of(text, "volta", 0),
			 "volta_h884gemm 2 4.00 us 80.0 % 2.00 us 1.00 us 1.00 us 3.00 us 3.00 us 1.6 "
			 "81.2 % yes",
			 "%s", text);
	/* 64 registers: one block of 1024 threads */
	cr_expect_str_eq(line_of(text, "at::native", 0),
			 "at::native::add<float> 100 1.00 us 20.0 % 10 ns 10 ns 10 ns 10 ns 11 ns 40 50.0 %",
			 "%s", text);
	cr_expect(strstr(text, "102 kernels ran for 5.00 us, 80.0 % of it with tensor cores"), "%s",
		  text);
}

Test(view_kernel, separates_launch_shapes_when_asked_but_not_streams)
{
	const struct tp_view_options by_grid = {.by_grid = true};
	const struct tp_string *name = fake_text(&fake, "k");
	char *text;

	add_kernel(name, 0, 50, 32, 1000, 2000, 1);
	add_kernel(name, 1, 50, 32, 1000, 2000, 2);
	add_kernel(name, 0, 60, 32, 2000, 2500, 3);
	add_kernel(name, 0, 60, 33, 3000, 3100, 4);
	text = print(&by_grid, 200);
	cr_expect_str_eq(line_of(text, "k ", 0),
			 "k 50 1024 32 2.00 KiB 2 2.00 us 76.9 % 1.00 us 1.00 us 1.00 us 1.00 us "
			 "1.00 us 0.5 25.0 %", "%s", text);
	cr_expect_str_eq(line_of(text, "k ", 1),
			 "k 60 1024 32 2.00 KiB 1 500 ns 19.2 % 500 ns 500 ns 500 ns 500 ns 500 ns "
			 "0.6 30.0 %");
	cr_expect_str_eq(line_of(text, "k ", 2),
			 "k 60 1024 33 2.00 KiB 1 100 ns 3.8 % 100 ns 100 ns 100 ns 100 ns 100 ns "
			 "0.6 30.0 %");
	text = print(&plain, 200);
	cr_expect(strstr(line_of(text, "k ", 0), "k 4 2.60 us"), "%s", text);
}

Test(view_kernel, names_the_operator_around_the_launch)
{
	const struct tp_view_options by_operator = {.by_operator = true};
	const struct tp_string *name = fake_text(&fake, "k");
	char *text;

	event[n_events++] = fake_span(&fake, proc, 1, TP_REC_RANGE, fake_text(&fake, "forward"), 0,
				      900000);
	event[n_events++] = fake_span(&fake, proc, 1, TP_REC_OP, fake_op(&fake, "aten::linear"), 1000,
				      9000);
	event[n_events++] = fake_span(&fake, proc, 1, TP_REC_OP, fake_op(&fake, "aten::addmm"), 2000,
				      6000);
	add_call(1, 3000, 3500, 11);
	/* Its operator has long ended, and another one runs. */
	add_call(1, 7000, 7500, 12);
	add_call(2, 7100, 7200, 13);
	event[n_events++] = fake_span(&fake, proc, 1, TP_REC_OP, fake_op(&fake, "aten::later"), 20000,
				      90000);
	add_kernel(name, 0, 50, 32, 30000, 31000, 11);
	add_kernel(name, 0, 50, 32, 31000, 31100, 12);
	add_kernel(name, 0, 50, 32, 32000, 32010, 13);
	add_kernel(name, 0, 50, 32, 33000, 33001, 99);
	text = print(&by_operator, 200);
	cr_expect(strstr(line_of(text, "k ", 0), "k aten::addmm 1 1.00 us"), "%s", text);
	cr_expect(strstr(line_of(text, "k ", 1), "k aten::linear 1 100 ns"), "%s", text);
	/* Nothing around the call; no call at all. */
	cr_expect(strstr(line_of(text, "k ", 2), "k - 2 11 ns"), "%s", text);
	/* Only a range, also one inside an operator that is not the innermost. */
	n_events = 1;
	event[n_events++] = fake_span(&fake, proc, 1, TP_REC_OP, fake_op(&fake, "aten::linear"), 1000,
				      9000);
	event[n_events++] = fake_span(&fake, proc, 1, TP_REC_RANGE, fake_text(&fake, "inside"), 2000,
				      6000);
	add_call(1, 3000, 3500, 11);
	add_call(1, 10000, 10500, 12);
	add_kernel(name, 0, 50, 32, 30000, 31000, 11);
	add_kernel(name, 0, 50, 32, 31000, 31100, 12);
	text = print(&by_operator, 200);
	cr_expect(strstr(line_of(text, "k ", 0), "k aten::linear 1 1.00 us"), "%s", text);
	cr_expect(strstr(line_of(text, "k ", 1), "k forward 1 100 ns"), "%s", text);
}

/* No kernel of it is known: neither its blocks nor its occupancy are guessed. */
Test(view_kernel, shows_graphs_that_are_recorded_as_one)
{
	struct tp_launch launch = {.place = {.stream = 7}, .graph = 3};
	char *text;

	event[n_events] = fake_span(&fake, proc, 0, TP_REC_GRAPH,
				    fake_text(&fake, "cudaGraphLaunch"), 1000, 5000);
	event[n_events].queue = &queues[0];
	event[n_events++].detail =
		fake_string(&fake, TP_STRING_LAUNCH, (char *)&launch, sizeof(launch));
	text = print(&plain, 200);
	cr_expect_str_eq(line_of(text, "cudaGraphLaunch", 0),
			 "cudaGraphLaunch 1 4.00 us 100.0 % 4.00 us 4.00 us 4.00 us 4.00 us "
			 "4.00 us ? ?", "%s",
			 text);
}

Test(view_kernel, sorts_by_calls_when_asked)
{
	const struct tp_view_options by_calls = {.top = 1, .sort = "calls"};
	char *text;

	add_kernel(fake_text(&fake, "long"), 0, 1, 32, 0, 1000, 1);
	add_kernel(fake_text(&fake, "often"), 0, 1, 32, 1000, 1001, 2);
	add_kernel(fake_text(&fake, "often"), 0, 1, 32, 2000, 2001, 3);
	text = print(&by_calls, 100);
	cr_expect(strstr(text, "often") && !strstr(text, "long "), "%s", text);
	cr_expect(strstr(text, "1 more rows"), "%s", text);
}

Test(view_kernel, fits_its_width)
{
	static const struct tp_view_options options[] = {
		{.top = 0}, {.by_grid = true}, {.by_operator = true},
		{.by_grid = true, .by_operator = true},
	};
	char name[600];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	add_call(0, 1, 2, 1);
	add_kernel(fake_text(&fake, name), 0, 2147483647, 255, 1000, 1234567, 1);
	add_kernel(fake_text(&fake, name), 0, 2147483647, 255, 2000, 123456789, 1);
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		char *text = print(&options[i], 100);

		for (const char *at = text; *at;) {
			const char *end = strchrnul(at, '\n');

			cr_expect_leq(tp_utf8_width(at, (uint32_t)(end - at)), 100, "%.*s",
				      (int)(end - at), at);
			at = *end ? end + 1 : end;
		}
		/* What a reader came for is there. */
		cr_expect(i == 3 || (strstr(text, "total") && strstr(text, "occup.")), "%s", text);
	}
}

Test(view_kernel, says_so_when_there_is_nothing)
{
	char *text = print(&plain, 100);

	cr_expect(strstr(text, "no kernel was recorded"), "%s", text);
}

Test(view_kernel, does_not_guess_on_a_device_that_is_not_known)
{
	char *text;

	proc->n_devices = 0;
	add_kernel(fake_text(&fake, "k"), 0, 50, 32, 1000, 2000, 1);
	text = print(&plain, 200);
	cr_expect_str_eq(line_of(text, "k ", 0),
			 "k 1 1.00 us 100.0 % 1.00 us 1.00 us 1.00 us 1.00 us 1.00 us ? ?", "%s", text);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_operator.c - tests of the operator view: what torch's key_averages() would say
 */
#include <criterion/criterion.h>

#include "tests/unit/fake_run.h"

static const struct tp_view_options plain = {.top = 20}, all_rows = {.has_top = true};

/* The line of `text` that begins with `name`, its runs of spaces made one. "" if none. */
static const char *line_of(const char *text, const char *name)
{
	static char line[512];
	const char *at = text;
	size_t n = 0;

	while (at && strncmp(at, name, strlen(name))) {
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	for (; at && *at && *at != '\n' && n < sizeof(line) - 1; at++)
		if (*at != ' ' || (n && line[n - 1] != ' '))
			line[n++] = *at;
	line[n] = 0;
	return line;
}

/* A column may be added behind those. */
static bool begins(const char *line, const char *expected)
{
	return !strncmp(line, expected, strlen(expected));
}

static struct fake fake;
static struct tp_proc *proc;

static void set_up(void)
{
	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	fake_window(&fake, proc, 0, 0, 1000000);
}

TestSuite(view_operator, .init = set_up);

Test(view_operator, gives_self_and_total_time_calls_and_memory)
{
	const struct tp_string *outer = fake_op(&fake, "aten::linear");
	const struct tp_string *inner = fake_op(&fake, "aten::addmm");
	const struct tp_event event[] = {
		fake_span(&fake, proc, 0, TP_REC_OP, outer, 1000, 11000),
		fake_span(&fake, proc, 0, TP_REC_OP, inner, 2000, 9000),
		fake_block(&fake, proc, 0, TP_REC_ALLOC, 3000, 0x40, 4096),
		fake_block(&fake, proc, 0, TP_REC_ALLOC, 9500, 0x80, 1024),
		fake_span(&fake, proc, 0, TP_REC_OP, inner, 20000, 21000),
		fake_block(&fake, proc, 0, TP_REC_FREE, 20500, 0x40, 0),
		/* another thread: no child of anybody */
		fake_span(&fake, proc, 1, TP_REC_OP, inner, 20100, 20200),
	};
	char *text = fake_print(&fake, &tp_view_operator, &plain, event, 7, 120, false);

	cr_expect(begins(line_of(text, "aten::addmm"),
			 "aten::addmm 3 8.10 us 73.0 % 8.10 us 2.70 us 0 B 0 B"), "%s", text);
	cr_expect(begins(line_of(text, "aten::linear"),
			 "aten::linear 1 3.00 us 27.0 % 10.0 us 10.0 us 1.00 KiB 5.00 KiB"), "%s",
			 text);
	cr_expect(strstr(text, "aten::addmm") < strstr(text, "aten::linear"));
}

Test(view_operator, has_the_four_tables_of_key_averages_with_memory_of_host_and_devices_apart)
{
	const struct tp_string *outer = fake_op(&fake, "aten::linear");
	const struct tp_string *inner = fake_op(&fake, "aten::addmm");
	struct tp_event event[] = {
		fake_span(&fake, proc, 0, TP_REC_OP, outer, 1000, 11000),
		fake_span(&fake, proc, 0, TP_REC_OP, inner, 2000, 9000),
		fake_block(&fake, proc, 0, TP_REC_ALLOC, 3000, 0x40, 4096),
		fake_block(&fake, proc, 0, TP_REC_ALLOC, 9500, 0x80, 1024),
	};
	char *text;

	event[2].link = TP_DEVICE(1, 0);
	text = fake_print(&fake, &tp_view_averages, &all_rows, event, 4, 160, false);
	cr_expect(begins(line_of(text, "aten::linear"), "aten::linear 3.00 us 30.0 % 10.0 us 100.0 % 10.0 us "
			 "1.00 KiB 1.00 KiB 0 B 4.00 KiB 1"), "%s", text);
	cr_expect(begins(line_of(text, "aten::addmm"), "aten::addmm 7.00 us 70.0 % 7.00 us 70.0 % 7.00 us 0 B 0 B "
			 "4.00 KiB 4.00 KiB 1"), "%s", text);
	cr_expect(strstr(text, "Operators by total CPU time\n") <
		  strstr(text, "Operators by host tensor memory allocated minus freed"));
	cr_expect(strstr(text, "Operators by device tensor memory allocated minus freed"), "%s", text);
	/* Nothing was launched. */
	cr_expect_not(strstr(text, "Operators by device time"), "%s", text);
}

Test(view_operator, adds_the_overloads_of_an_operator_and_ranges_of_its_name)
{
	const struct tp_string *tensor = fake_string(&fake, TP_STRING_OP, "aten::add\0Tensor", 16);
	const struct tp_string *scalar = fake_string(&fake, TP_STRING_OP, "aten::add\0Scalar", 16);
	const struct tp_event event[] = {
		fake_span(&fake, proc, 0, TP_REC_OP, tensor, 0, 1000),
		fake_span(&fake, proc, 0, TP_REC_OP, scalar, 2000, 3000),
		fake_span(&fake, proc, 0, TP_REC_RANGE, fake_text(&fake, "aten::add"), 4000, 5000),
	};
	char *text = fake_print(&fake, &tp_view_operator, &plain, event, 3, 120, false);

	cr_expect(begins(line_of(text, "aten::add"), "aten::add 3 3.00 us 100.0 % 3.00 us 1.00 us"),
			 "%s", text);
}

Test(view_operator, separates_input_shapes_when_asked)
{
	static const char small[] = {TP_SHAPE_TENSOR, 6, 1, 8};
	static const char large[] = {TP_SHAPE_TENSOR, 15, 2, 16, 32, TP_SHAPE_SCALAR};
	const struct tp_string *mm = fake_op(&fake, "aten::mm");
	const struct tp_view_options by_shape = {.by_shape = true};
	struct tp_event event[] = {
		fake_span(&fake, proc, 0, TP_REC_OP, mm, 0, 1000),
		fake_span(&fake, proc, 0, TP_REC_OP, mm, 2000, 3000),
		fake_span(&fake, proc, 0, TP_REC_OP, mm, 4000, 4500),
	};
	char *text;

	event[0].shapes = event[2].shapes =
		fake_string(&fake, TP_STRING_SHAPES, small, sizeof(small));
	event[1].shapes = fake_string(&fake, TP_STRING_SHAPES, large, sizeof(large));
	text = fake_print(&fake, &tp_view_operator, &by_shape, event, 3, 120, false);
	cr_expect(begins(line_of(text, "aten::mm  f32"),
			 "aten::mm f32[8] 2 1.50 us 60.0 % 1.50 us 750 ns"), "%s", text);
	cr_expect(begins(line_of(text, "aten::mm  bf16"),
			 "aten::mm bf16[16,32] 1 1.00 us 40.0 % 1.00 us 1.00 us"), "%s", text);
	text = fake_print(&fake, &tp_view_operator, &plain, event, 3, 120, false);
	cr_expect(begins(line_of(text, "aten::mm"), "aten::mm 3 2.50 us 100.0 % 2.50 us 833 ns"));
}

Test(view_operator, sorts_by_the_key_and_shows_the_top)
{
	static const struct {
		const char *sort, *first;
	} cases[] = {{NULL, "aten::self"},     {"self_ns", "aten::self"},
		     {"total_ns", "aten::total"}, {"calls", "aten::calls"},
		     {"self_bytes", "aten::memory"}};
	const struct tp_string *self = fake_op(&fake, "aten::self");
	const struct tp_string *total = fake_op(&fake, "aten::total");
	const struct tp_string *calls = fake_op(&fake, "aten::calls");
	const struct tp_string *memory = fake_op(&fake, "aten::memory");
	const struct tp_event event[] = {
		fake_span(&fake, proc, 0, TP_REC_OP, total, 0, 100000),
		fake_span(&fake, proc, 0, TP_REC_OP, self, 1, 90000),
		fake_span(&fake, proc, 0, TP_REC_OP, calls, 200000, 200010),
		fake_span(&fake, proc, 0, TP_REC_OP, calls, 200020, 200030),
		fake_span(&fake, proc, 0, TP_REC_OP, memory, 200040, 200050),
		fake_block(&fake, proc, 0, TP_REC_ALLOC, 200045, 64, 64),
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct tp_view_options options = {.top = 1, .sort = cases[i].sort};
		char *text = fake_print(&fake, &tp_view_operator, &options, event, 6, 100, false);

		cr_expect(strstr(text, cases[i].first), "%s", text);
		for (size_t k = 1; k < sizeof(cases) / sizeof(cases[0]); k++)
			if (strcmp(cases[k].first, cases[i].first))
				cr_expect_not(strstr(text, cases[k].first), "%s", text);
		cr_expect(strstr(text, "3 more rows"), "%s", text);
	}
}

Test(view_operator, counts_early_and_open_spans_with_their_part_inside_the_window)
{
	struct tp_event event[3] = {
		fake_span(&fake, proc, 0, TP_REC_RANGE, fake_text(&fake, "early"), -5000, 3000),
		fake_span(&fake, proc, 0, TP_REC_OP, fake_op(&fake, "aten::mm"), 1000, 2000),
		fake_span(&fake, proc, 0, TP_REC_OP, fake_op(&fake, "open"), 990000, 1200000),
	};
	char *text;

	event[0].flags = TP_F_EARLY;
	event[2].flags = TP_F_OPEN;
	text = fake_print(&fake, &tp_view_operator, &plain, event, 3, 100, false);
	cr_expect(begins(line_of(text, "early"), "early 1 2.00 us 15.4 % 3.00 us 3.00 us"), "%s",
			 text);
	cr_expect(begins(line_of(text, "open"), "open 1 10.0 us 76.9 % 10.0 us 10.0 us"), "%s", text);
}

/* A span open over two windows is in both files; the first window's spans must not see the
 * second's piece of it around them. */
Test(view_operator, does_not_let_an_early_span_reach_into_an_earlier_window)
{
	struct tp_event event[4] = {
		fake_span(&fake, proc, 0, TP_REC_RANGE, fake_text(&fake, "early"), 500, 5001000),
		fake_span(&fake, proc, 0, TP_REC_OP, fake_op(&fake, "aten::first"), 1000, 2000),
		fake_span(&fake, proc, 0, TP_REC_OP, fake_op(&fake, "aten::last"), 999000, 1000000),
		fake_span(&fake, proc, 0, TP_REC_OP, fake_op(&fake, "aten::second"), 5000200,
			  5000300),
	};
	char *text;

	fake_window(&fake, proc, 1, 5000000, 6000000);
	event[0].flags = TP_F_EARLY;
	event[0].window = event[3].window = 1;
	text = fake_print(&fake, &tp_view_operator, &plain, event, 4, 100, false);
	cr_expect(begins(line_of(text, "early"), "early 1 900 ns 30.0 % 1.00 us 1.00 us"), "%s",
			 text);
	cr_expect(begins(line_of(text, "aten::first"),
			 "aten::first 1 1.00 us 33.3 % 1.00 us 1.00 us"), "%s", text);
}

Test(view_operator, gives_asynchronous_spans_no_self_time_and_no_children)
{
	struct tp_event event[2] = {
		fake_span(&fake, proc, 0, TP_REC_RANGE, fake_text(&fake, "gloo:all_reduce"), 0, 9000),
		fake_span(&fake, proc, 0, TP_REC_OP, fake_op(&fake, "aten::mm"), 1000, 2000),
	};
	char *text;

	event[0].flags = TP_F_ASYNC;
	text = fake_print(&fake, &tp_view_operator, &plain, event, 2, 100, false);
	cr_expect(begins(line_of(text, "gloo:all_reduce"),
			 "gloo:all_reduce 1 0 ns 0.0 % 9.00 us 9.00 us"), "%s", text);
	cr_expect(begins(line_of(text, "aten::mm"), "aten::mm 1 1.00 us 100.0 % 1.00 us 1.00 us"));
}

Test(view_operator, leaves_out_the_frameworks_own_profiling_calls)
{
	const struct tp_event event[] = {
		fake_span(&fake, proc, 0, TP_REC_OP, fake_op(&fake, "aten::mm"), 0, 1000),
		fake_span(&fake, proc, 0, TP_REC_OP,
			  fake_op(&fake, "profiler::_record_function_enter_new"), 100, 200),
	};
	char *text = fake_print(&fake, &tp_view_operator, &plain, event, 2, 100, false);

	cr_expect(begins(line_of(text, "aten::mm"), "aten::mm 1 1.00 us 100.0 % 1.00 us 1.00 us"));
	cr_expect_not(strstr(text, "_record_function_enter_new"));
}

Test(view_operator, says_so_when_there_is_nothing)
{
	char *text = fake_print(&fake, &tp_view_operator, &plain, NULL, 0, 100, false);

	cr_expect(strstr(text, "no operator was recorded"), "%s", text);
}

Test(view_operator, shows_names_of_a_hostile_trace_without_sending_them)
{
	const struct tp_event event[] = {
		fake_span(&fake, proc, 0, TP_REC_OP, fake_op(&fake, "evil\033[2J\nname"), 0, 1000),
		fake_span(&fake, proc, 0, TP_REC_OP, NULL, 0, 500),
	};
	char *text = fake_print(&fake, &tp_view_operator, &plain, event, 2, 100, true);

	cr_expect(strstr(text, "evil\\x1B[2J\\x0Aname"), "%s", text);
	cr_expect_not(strstr(text, "\033[2J"));
	cr_expect(strstr(text, "(no name)"));
}

static struct tp_queue queue = {.stream = 7};

static struct tp_event fake_call(uint32_t thread, int64_t begin, int64_t end, uint32_t correlation)
{
	struct tp_event event = fake_span(&fake, proc, thread, TP_REC_CALL,
					  fake_text(&fake, "cudaLaunchKernel"), begin, end);

	event.link = correlation;
	return event;
}

static struct tp_event fake_work(uint8_t kind, const char *name, int64_t begin, int64_t end,
				 uint32_t correlation)
{
	struct tp_event event = fake_span(&fake, proc, 0, kind, fake_text(&fake, name), begin, end);

	event.link = correlation;
	event.queue = &queue;
	return event;
}

Test(view_operator, gives_the_time_of_what_operators_launched)
{
	const struct tp_event event[] = {
		fake_span(&fake, proc, 0, TP_REC_OP, fake_op(&fake, "aten::linear"), 1000, 11000),
		fake_call(0, 1500, 1600, 1),
		fake_span(&fake, proc, 0, TP_REC_OP, fake_op(&fake, "aten::addmm"), 2000, 9000),
		fake_call(0, 3000, 4000, 2),
		/* inside the runtime's call, the driver's: its work is addmm's too */
		fake_call(0, 3100, 3900, 3),
		/* a backward node, on its own thread */
		fake_span(&fake, proc, 1, TP_REC_OP, fake_op(&fake, "AddmmBackward0"), 20000, 30000),
		fake_call(1, 21000, 21100, 4),
		/* all of it runs when the operators have ended */
		fake_work(TP_REC_MEMSET, "Memset (Device)", 40000, 40500, 1),
		fake_work(TP_REC_KERNEL, "volta_h884gemm", 41000, 44000, 2),
		fake_work(TP_REC_KERNEL, "elementwise", 44000, 45000, 3),
		fake_work(TP_REC_KERNEL, "elementwise", 50000, 52000, 4),
		fake_work(TP_REC_MEMCPY, "Memcpy DtoH (Device -> Pinned)", 60000, 60700, 99),
	};
	char *text = fake_print(&fake, &tp_view_operator, &plain, event, 12, 150, false);

	cr_expect(begins(line_of(text, "aten::linear"),
			 "aten::linear 1 2.90 us 14.5 % 10.0 us 10.0 us 500 ns 4.50 us 0.0 %"), "%s",
			 text);
	cr_expect(begins(line_of(text, "aten::addmm"),
			 "aten::addmm 1 6.00 us 30.0 % 7.00 us 7.00 us 4.00 us 4.00 us 75.0 %"));
	cr_expect(begins(line_of(text, "AddmmBackward0"),
			 "AddmmBackward0 1 9.90 us 49.5 % 10.0 us 10.0 us 2.00 us 2.00 us"));
	/* The driver's call in the runtime's, of one name here: one. */
	cr_expect(begins(line_of(text, "cudaLaunchKernel"),
			 "cudaLaunchKernel 3 1.20 us 6.0 % 1.20 us 400 ns 0 ns 0 ns"));
	cr_expect(strstr(text, "7.20 us of GPU time") &&
			  strstr(text, "launched by calls not recorded: 700 ns"), "%s", text);
}

Test(view_operator, counts_device_time_once_where_an_operator_encloses_itself)
{
	const struct tp_view_options by_device = {.sort = "device_self_ns"};
	const struct tp_event event[] = {
		fake_span(&fake, proc, 0, TP_REC_OP, fake_op(&fake, "aten::to"), 1000, 11000),
		fake_span(&fake, proc, 0, TP_REC_OP, fake_op(&fake, "aten::copy"), 1100, 9000),
		fake_span(&fake, proc, 0, TP_REC_OP, fake_op(&fake, "aten::to"), 1200, 8000),
		fake_call(0, 3000, 4000, 2),
		/* and elsewhere once more */
		fake_span(&fake, proc, 0, TP_REC_OP, fake_op(&fake, "aten::to"), 20000, 21000),
		fake_call(0, 20100, 20200, 3),
		fake_work(TP_REC_KERNEL, "k", 44000, 45000, 2),
		fake_work(TP_REC_KERNEL, "k", 45000, 47000, 3),
	};
	char *text = fake_print(&fake, &tp_view_operator, &by_device, event, 8, 150, false);

	cr_expect(strstr(line_of(text, "aten::to"), " 3.00 us 3.00 us"), "%s", text);
	cr_expect(strstr(line_of(text, "aten::copy"), " 0 ns 1.00 us"), "%s", text);
	cr_expect(strstr(text, "by device time"), "%s", text);
}

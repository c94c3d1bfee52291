/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_trace.c - tests of one step as text: which step, what lies in what, what is folded, what a
 * GPU waited for, rows for programs
 */
#include <criterion/criterion.h>

#include "tests/unit/fake_run.h"

static struct fake fake;
static struct tp_proc *proc;
static struct tp_event event[256];
static uint32_t n;
static struct tp_queue stream7 = {.stream = 7};

static void set_up(void)
{
	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	fake_window(&fake, proc, 0, 1000000, 9000000)->n_events = 100;
	n = 0;
}

TestSuite(view_trace, .init = set_up);

static struct tp_event *add(uint8_t kind, const struct tp_string *name, int64_t begin, int64_t end)
{
	event[n] = fake_span(&fake, proc, 0, kind, name, begin, end);
	return &event[n++];
}

static void add_call(const char *name, uint32_t correlation, int64_t begin, int64_t end)
{
	add(TP_REC_CALL, fake_text(&fake, name), begin, end)->link = correlation;
}

static void add_kernel(const char *name, uint32_t correlation, int64_t begin, int64_t end)
{
	struct tp_event *kernel = add(TP_REC_KERNEL, fake_text(&fake, name), begin, end);

	kernel->link = correlation;
	kernel->queue = &stream7;
}

/* Events were added in the order that reads best. */
static int compare_begins(const void *a, const void *b)
{
	const struct tp_event *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

static const char *print(struct tp_view_options options)
{
	qsort(event, n, sizeof(event[0]), compare_begins);
	return fake_print(&fake, &tp_view_trace, &options, event, n, 120, false);
}

static const char *print_rows(struct tp_view_options options)
{
	char *text = NULL, *kept;
	size_t n_bytes = 0;
	struct tp_rows_to to = {.n_fields = 0};
	struct tp_out out = {.file = open_memstream(&text, &n_bytes), .rows = TP_ROWS_JSONL,
			     .rows_to = &to};

	qsort(event, n, sizeof(event[0]), compare_begins);
	fake_view(&fake, &tp_view_trace, &options, event, n, &out);
	fclose(out.file);
	kept = fake_alloc(n_bytes + 1);
	memcpy(kept, text, n_bytes);
	free(text);
	return kept;
}

#define HAS(text, words) cr_expect_not_null(strstr(text, words), "no '%s' in:%s", words, text)
#define HAS_NOT(text, words) cr_expect_null(strstr(text, words), "'%s' in:%s", words, text)

Test(view_trace, shows_the_slowest_step_that_was_recorded)
{
	const char *text;

	fake_step_row(&fake, proc, 3, 100000, 800000);		/* before the window */
	fake_step_row(&fake, proc, 4, 1000000, 300000);
	fake_step_row(&fake, proc, 5, 2000000, 500000);
	fake_step_row(&fake, proc, 6, 3000000, 400000);
	add(TP_REC_OP, fake_op(&fake, "aten::early"), 1000000, 1200000);
	add(TP_REC_OP, fake_op(&fake, "aten::mine"), 2100000, 2300000);
	add(TP_REC_OP, fake_op(&fake, "aten::late"), 3100000, 3300000);
	text = print((struct tp_view_options){0});
	HAS(text, "What happened in step 5: 500 us, the slowest of 3 recorded");
	HAS(text, "+100 us  200 us    aten::mine");
	HAS_NOT(text, "early");
	HAS_NOT(text, "late");
	text = print((struct tp_view_options){.steps = "6"});
	HAS(text, "What happened in step 6: 400 us\n");
	HAS(text, "aten::late");
}

Test(view_trace, lays_out_what_lies_in_what_and_folds_what_is_alike)
{
	const struct tp_string *mul = fake_op(&fake, "aten::mul"), *add_ = fake_op(&fake, "aten::add");
	const char *text;

	fake_step_row(&fake, proc, 4, 2000000, 1000000);
	add(TP_REC_RANGE, fake_text(&fake, "forward"), 2000000, 2900000);
	add(TP_REC_OP, fake_op(&fake, "aten::linear"), 2000000, 2400000);
	add(TP_REC_OP, fake_op(&fake, "aten::addmm"), 2010000, 2390000);
	for (int i = 0; i < 12; i++)
		add(TP_REC_OP, mul, 2400000 + 10000 * i, 2410000 + 10000 * i);
	add(TP_REC_OP, add_, 2600000, 2800000);
	for (int i = 0; i < 3; i++)
		add(TP_REC_OP, i % 2 ? mul : add_, 2800000 + 100 * i, 2800100 + 100 * i);
	text = print((struct tp_view_options){0});
	HAS(text, "main thread\n");
	HAS(text, "\n  +0 ns  900 us    forward\n");
	HAS(text, "\n  +0 ns  400 us      aten::linear > aten::addmm\n");
	HAS(text, "\n+400 us  120 us      aten::mul x 12\n");
	HAS(text, "\n+600 us  200 us      aten::add x 2\n");
	/* All of it when asked for: nothing folded away. */
	text = print((struct tp_view_options){.has_top = true});
	HAS(text, "+800 us  100 ns      aten::mul\n");
	HAS_NOT(text, "more");
	/* So many lines, the rest counted. */
	text = print((struct tp_view_options){.has_top = true, .top = 5});
	HAS(text, "aten::linear");
	HAS(text, "  120 us      ... 14 more\n");
	HAS_NOT(text, "aten::mul");
}

Test(view_trace, shows_work_below_its_call_and_why_the_device_was_idle)
{
	const char *text;

	fake_step_row(&fake, proc, 4, 2000000, 1000000);
	add(TP_REC_OP, fake_op(&fake, "aten::mm"), 2100000, 2200000);
	add_call("cudaLaunchKernel", 31, 2110000, 2120000);
	add_kernel("void gemm<float, 4>(float*)", 31, 2150000, 2350000);
	add(TP_REC_OP, fake_op(&fake, "aten::item"), 2300000, 2700000);
	add_call("cudaStreamSynchronize", 32, 2310000, 2690000);
	add(TP_REC_OP, fake_op(&fake, "aten::relu"), 2750000, 2850000);
	add_call("cudaLaunchKernel", 33, 2760000, 2770000);
	add_kernel("relu", 33, 2800000, 2900000);
	text = print((struct tp_view_options){0});
	HAS(text, "+100 us  100 us  200 us    aten::mm > gemm  stream 7 +40.0 us\n");
	HAS(text, "GPU 0, busy 30.0 % of the step\n");
	HAS(text, "+150 us  200 us            busy: gemm\n");
	HAS(text, "+350 us  450 us            idle: the host was in aten::item > "
		  "cudaStreamSynchronize\n");
	HAS(text, "idle: the host was between operators\n");
}

static uint32_t count_of(const char *text, const char *words)
{
	uint32_t found = 0;

	while ((text = strstr(text, words)) != NULL) {
		text += strlen(words);
		found++;
	}
	return found;
}

/* A device that the host starves: 30 kernels in a step, each after a gap longer than any operator. */
Test(view_trace, idle_times_of_a_device_leave_lines_for_what_the_host_did)
{
	const char *text;

	fake_step_row(&fake, proc, 4, 2000000, 3000000);
	for (uint32_t i = 0; i < 30; i++) {
		int64_t at = 2000000 + 100000 * (int64_t)i;

		add(TP_REC_OP, fake_op(&fake, i % 2 ? "aten::mul" : "aten::add"), at, at + 50000);
		add_call("cudaLaunchKernel", i + 1, at + 10000, at + 20000);
		add_kernel("small", i + 1, at + 30000, at + 32000);
	}
	text = print((struct tp_view_options){.has_top = true, .top = 24});
	cr_expect_eq(count_of(text, "idle: "), 5, "%s", text);
	cr_expect_geq(count_of(text, "aten::"), 10, "%s", text);
	/* All of them when asked for. */
	text = print((struct tp_view_options){.has_top = true});
	cr_expect_geq(count_of(text, "idle: "), 30, "%s", text);
}

/* With a GPU it has a thread of its own, and the main thread is in no operator meanwhile. */
Test(view_trace, counts_the_backward_pass_of_another_thread)
{
	const char *text;

	fake_step_row(&fake, proc, 4, 2000000, 1000000);
	add(TP_REC_OP, fake_op(&fake, "aten::linear"), 2000000, 2100000);
	for (int i = 0; i < 3; i++) {
		event[n] = fake_span(&fake, proc, 1, TP_REC_OP, fake_op(&fake, "MmBackward0"),
				     2200000 + 100000 * i, 2300000 + 100000 * i);
		event[n++].flags = TP_F_BACKWARD;
	}
	event[n++] = fake_span(&fake, proc, 1, TP_REC_OP, fake_op(&fake, "aten::other"), 2600000, 2900000);
	text = print((struct tp_view_options){0});
	HAS(text, "The largest parts are backward 300 us (30.0 %), aten::linear 100 us (10.0 %).\n");
	add(TP_REC_OP, fake_op(&fake, "aten::mm"), 2600000, 2900000);
	text = print((struct tp_view_options){0});
	HAS(text, "Most of it is aten::mm 300 us (30.0 %), backward 300 us (30.0 %), aten::linear 100 us");
}

Test(view_trace, makes_one_line_of_the_nodes_of_autograd)
{
	const char *text;

	fake_step_row(&fake, proc, 4, 2000000, 1000000);
	for (int i = 0; i < 20; i++)
		add(TP_REC_OP, fake_op(&fake, i % 2 ? "MulBackward0" : "AddBackward0"),
		    2000000 + 40000 * i, 2030000 + 40000 * i)->flags = TP_F_BACKWARD;
	add(TP_REC_OP, fake_op(&fake, "aten::add_"), 2900000, 2950000);
	text = print((struct tp_view_options){.has_top = true, .top = 4});
	HAS(text, "600 us    backward: 20\n");
	HAS(text, "50.0 us    aten::add_\n");
}

/* The thread is from now on in the stack of that number; a call tells that it began. */
static void add_stack(int64_t time, uint32_t number, uint8_t flags)
{
	struct tp_event *stack = add(TP_REC_STACK, NULL, time, time);

	stack->link = number;
	stack->flags = flags;
}

Test(view_trace, has_calls_of_modules_around_their_operators)
{
	static const char *const names[] = {"blocks.9\0Block", "blocks.10\0Block", "head\0Linear"};
	const char *text;

	fake_step_row(&fake, proc, 4, 2000000, 1000000);
	for (uint32_t i = 0; i < 3; i++) {
		const struct tp_string *name = fake_string(
			&fake, TP_STRING_NNMODULE, names[i],
			(uint32_t)(strlen(names[i]) + 1 + strlen(strchr(names[i], 0) + 1)));
		struct tp_event *frame = add(TP_REC_FRAME, NULL, 2 * i + 1, 2 * i + 1);

		frame->flags = TP_FRAME_MODULE;
		frame->link = i + 1;
		frame->len = 0;
		frame->arg = TP_ARG_MODULE(i + 7);
		add(TP_REC_NNMODULE, name, 2 * i, 2 * i)->link = i + 7;
	}
	for (uint32_t i = 0; i < 3; i++) {
		add_stack(2000000 + 100000 * i, i + 1, TP_STACK_CALL);
		add(TP_REC_OP, fake_op(&fake, "aten::relu"), 2010000 + 100000 * i,
		    2040000 + 100000 * i + 10000 * i);
	}
	add_stack(2400000, 0, 0);
	add(TP_REC_OP, fake_op(&fake, "aten::mean"), 2410000, 2420000);
	text = print((struct tp_view_options){0});
	HAS(text, "  +0 ns  90.0 us    blocks.9 to blocks.10 (Block) x 2, the longest:\n");
	HAS(text, "+110 us  40.0 us      aten::relu\n");
	HAS(text, "+200 us  60.0 us    head (Linear) > aten::relu\n");
	HAS(text, "+410 us  10.0 us    aten::mean\n");
	text = print_rows((struct tp_view_options){0});
	HAS(text, "\"depth\":0,\"name\":\"head (Linear)\",\"category\":\"module\"");
	HAS(text, "\"depth\":1,\"name\":\"aten::relu\"");
}

Test(view_trace, gives_rows_of_every_event)
{
	const char *text;

	fake_step_row(&fake, proc, 4, 2000000, 1000000);
	add(TP_REC_OP, fake_op(&fake, "aten::mm"), 2100000, 2200000);
	add_call("cudaLaunchKernel", 31, 2110000, 2120000);
	add_kernel("gemm", 31, 2150000, 2350000);
	for (int i = 0; i < 40; i++)
		add(TP_REC_OP, fake_op(&fake, "aten::tiny"), 2400000 + i, 2400001 + i);
	text = print_rows((struct tp_view_options){.top = 20});
	HAS(text, "{\"table\":\"trace\",\"process\":\"rank 0\",\"step\":4,\"place\":\"main thread\","
		  "\"depth\":0,\"name\":\"aten::mm\",\"category\":\"operator\",\"begin_ns\":100000,"
		  "\"time_ns\":100000,\"device_ns\":200000,\"delay_ns\":null,\"correlation\":null,"
		  "\"shapes\":\"\",\"module\":\"\",\"line\":\"\"}\n");
	HAS(text, "\"depth\":1,\"name\":\"cudaLaunchKernel\",\"category\":\"runtime\"");
	HAS(text, "\"place\":\"GPU 0 stream 7\",\"depth\":0,\"name\":\"gemm\",\"category\":\"kernel\","
		  "\"begin_ns\":150000,\"time_ns\":200000,\"device_ns\":0,\"delay_ns\":40000,"
		  "\"correlation\":31");
	for (n = 0; (text = strstr(text, "aten::tiny")); n++)
		text++;
	cr_expect_eq(n, 40);
}

Test(view_trace, takes_the_first_step_without_a_ledger_and_all_without_steps)
{
	const char *text;

	add(TP_REC_OP, fake_op(&fake, "aten::before"), 1000000, 1100000);
	add(TP_REC_OP, fake_op(&fake, "aten::mine"), 2100000, 2300000);
	add(TP_REC_OP, fake_op(&fake, "aten::after"), 3100000, 3300000);
	text = print((struct tp_view_options){0});
	HAS(text, "What happened in everything recorded: 2.30 ms\n");
	HAS(text, "aten::before");
	HAS(text, "aten::after");
	event[n++] = fake_step(&fake, proc, 8, 2000000, 3000000);
	event[n++] = fake_step(&fake, proc, 9, 3000000, 4000000);
	text = print((struct tp_view_options){0});
	HAS(text, "What happened in step 8: 1.00 ms\n");
	HAS(text, "aten::mine");
	HAS_NOT(text, "aten::before");
	HAS_NOT(text, "aten::after");
}

Test(view_trace, has_the_same_step_of_the_ranks_asked_for)
{
	struct tp_proc *other = fake_proc(&fake, 1);
	const char *text;

	fake_window(&fake, other, 0, 1000000, 9000000)->n_events = 100;
	fake_step_row(&fake, proc, 4, 2000000, 1000000);
	fake_step_row(&fake, proc, 5, 3000000, 900000);
	fake_step_row(&fake, other, 4, 2000000, 800000);
	fake_step_row(&fake, other, 5, 3000000, 900000);
	text = print((struct tp_view_options){0});
	HAS(text, "What happened in step 4, rank 0: 1.00 ms, the slowest of 4 recorded");
	HAS_NOT(text, "rank 1");
	fake.run.is_selection = true;
	text = print((struct tp_view_options){0});
	HAS(text, "What happened in step 4, rank 1: 800 us\n");
}

Test(view_trace, says_in_a_line_that_there_is_nothing)
{
	cr_expect_str_eq(print((struct tp_view_options){0}),
			 "\nWhat happened in a step\nno event of a step was recorded\n");
	cr_expect_str_eq(print((struct tp_view_options){.steps = "7"}),
			 "\nWhat happened in a step\nno event of a step was recorded of those requested\n");
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_tree.c - tests of the tree of calls, and of it as stacks
 */
#include <criterion/criterion.h>

#include "merge/facts/code/call_tree.h"
#include "tests/unit/fake_run.h"

static struct fake fake;
static struct tp_queue queue = {.stream = 7};
static struct tp_facts *facts;
static struct tp_call_tree *tree;
static struct tp_proc *proc;

static void set_up(void)
{
	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	proc->thread[0].torch_id = 1;
	fake_window(&fake, proc, 0, 0, 100000);
	facts = tp_facts_new(&fake.run);
	tree = tp_facts_want(facts, &tp_fact_call_tree, NULL);
}

static void tear_down(void)
{
	tp_facts_free(facts);
}

TestSuite(call_tree, .init = set_up, .fini = tear_down);

static void give(struct tp_event event)
{
	tp_facts_event(facts, &event);
}

static const struct tp_string *code(const char *function)
{
	return fake_pyframe(&fake, function, "/home/me/train.py");
}

static void frame_of(uint32_t stack, uint32_t outer, const struct tp_string *function, uint32_t line)
{
	struct tp_event event = fake_span(&fake, proc, 0, TP_REC_FRAME, function, 0, 0);

	event.flags = TP_FRAME_PYTHON;
	event.link = stack;
	event.len = outer;
	event.arg = line;
	give(event);
}

static void frame(uint32_t stack, uint32_t outer, const char *function, uint32_t line)
{
	frame_of(stack, outer, code(function), line);
}

static void at_stack(uint32_t stack, int64_t time)
{
	struct tp_event event = fake_span(&fake, proc, 0, TP_REC_STACK, NULL, time, time);

	event.link = stack;
	give(event);
}

static struct tp_event span_of(uint8_t kind, const char *name, int64_t first, int64_t last)
{
	return fake_span(&fake, proc, 0, kind, fake_op(&fake, name), first, last);
}

/* All frames of a row, those of the rows around it behind its own. */
static uint32_t frames_of(const struct tp_flame_rows *rows, uint32_t at, struct tp_frame *frames,
			  uint32_t max)
{
	uint32_t of, stack, n = 0, own;

	for (; at != TP_FLAME_NO_ROW; at = rows->around(rows->of, at)) {
		rows->row(rows->of, at, &of, &stack);
		own = rows->frames(rows->stacks, stack, frames + n, max - n);
		/* As many are said to be there, whatever room there is. */
		cr_expect_eq(rows->frames(rows->stacks, stack, NULL, 0), own);
		cr_assert_leq(own, max - n);
		n += own;
	}
	return n;
}

/* "main;GPT.forward;aten::mm 80 0": all rows that cost something, in the order they were met. */
static const char *told(void)
{
	static char text[4096];
	const struct tp_flame_rows *rows;
	size_t n = 0;

	tp_facts_end(facts);
	rows = tp_call_stacks(tree);
	text[0] = '\0';
	for (uint32_t i = 0; i < rows->n_rows; i++) {
		uint64_t host = rows->value(rows->of, i, TP_TIME_HOST);
		uint64_t device = rows->value(rows->of, i, TP_TIME_DEVICE);
		struct tp_frame frames[16];
		uint32_t n_frames;

		if (!host && !device)
			continue;
		n_frames = frames_of(rows, i, frames, 16);
		if (n_frames && frames[n_frames - 1].is_cut)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "?;");
		for (uint32_t k = n_frames; k--;)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s",
					      frames[k].function, k ? ";" : "");
		n += (size_t)snprintf(text + n, sizeof(text) - n, " %llu %llu\n",
				      (unsigned long long)host, (unsigned long long)device);
	}
	return text;
}

Test(call_tree, operators_stand_below_the_functions_that_call_them)
{
	frame(1, 0, "main", 10);
	frame(2, 1, "Module._call_impl", 1787);
	frame(3, 2, "GPT.forward", 30);
	at_stack(3, 100);
	give(span_of(TP_REC_OP, "aten::linear", 100, 200));
	give(span_of(TP_REC_OP, "aten::addmm", 110, 190));
	at_stack(1, 300);
	give(span_of(TP_REC_OP, "aten::relu", 300, 330));
	cr_expect_str_eq(told(), "main;GPT.forward;aten::linear 20 0\n"
				 "main;GPT.forward;aten::linear;aten::addmm 80 0\n"
				 "main;aten::relu 30 0\n");
	cr_expect(tp_call_tree_has_python(tree));
	cr_expect_not(tp_call_tree_is_incomplete(tree));
}

Test(call_tree, a_span_that_begins_where_another_ends_is_not_inside_of_it)
{
	give(span_of(TP_REC_OP, "aten::mm", 100, 200));
	give(span_of(TP_REC_OP, "aten::relu", 200, 230));
	give(span_of(TP_REC_OP, "aten::neg", 200, 210));
	give(span_of(TP_REC_OP, "aten::add", 210, 220));
	cr_expect_str_eq(told(), "aten::mm 100 0\n"
				 "aten::relu 10 0\n"
				 "aten::relu;aten::neg 10 0\n"
				 "aten::relu;aten::add 10 0\n");
}

Test(call_tree, inside_of_a_range_functions_around_it_are_not_told_again)
{
	const struct tp_string *program = code("main");

	frame_of(1, 0, program, 10);
	frame(2, 1, "record_function.__enter__", 800);
	frame_of(3, 0, program, 12);
	frame(4, 3, "loss", 40);
	at_stack(2, 100);
	give(span_of(TP_REC_RANGE, "my range", 100, 200));
	at_stack(4, 110);
	give(span_of(TP_REC_OP, "aten::sub", 110, 150));
	cr_expect_str_eq(told(), "main;my range 60 0\n"
				 "main;my range;loss;aten::sub 40 0\n");
}

Test(call_tree, the_backward_pass_stands_below_the_forward_operator)
{
	struct tp_event forward = span_of(TP_REC_OP, "aten::mul", 100, 150);
	struct tp_event engine = span_of(TP_REC_OP, "evaluate_function", 200, 300);
	struct tp_event backward = span_of(TP_REC_OP, "MulBackward0", 210, 290);

	frame(1, 0, "main", 10);
	frame(2, 1, "GPT.forward", 30);
	frame(3, 1, "Tensor.backward", 600);
	at_stack(2, 100);
	forward.link = 7;
	give(forward);
	at_stack(3, 200);
	give(engine);
	backward.link = 7;
	backward.flags = TP_F_BACKWARD;
	backward.arg = TP_ARG_OP(0, 1, 1);
	give(backward);
	give(span_of(TP_REC_OP, "aten::mul", 220, 280));
	cr_expect_str_eq(told(), "main;GPT.forward;aten::mul 50 0\n"
				 "main;Tensor.backward;evaluate_function 20 0\n"
				 "main;GPT.forward;(its backward pass);MulBackward0 20 0\n"
				 "main;GPT.forward;(its backward pass);MulBackward0;aten::mul 60 0\n");
}

Test(call_tree, work_of_devices_below_its_call_or_of_callers_that_are_not_known)
{
	struct tp_event call = span_of(TP_REC_CALL, "cudaLaunchKernel", 110, 120);
	struct tp_event kernel = span_of(TP_REC_KERNEL, "_Z4gemmv", 130, 1130);

	give(span_of(TP_REC_OP, "aten::mm", 100, 130));
	call.link = kernel.link = 5;
	kernel.queue = &queue;
	give(call);
	give(kernel);
	kernel.begin_ns = 2000;
	kernel.end_ns = 2100;
	kernel.link = 99;
	give(kernel);
	cr_expect_str_eq(told(), "aten::mm 20 0\n"
				 "aten::mm;cudaLaunchKernel 10 0\n"
				 "aten::mm;cudaLaunchKernel;gemm() 0 1000\n"
				 "?;gemm() 0 100\n");
	cr_expect_not(tp_call_tree_has_python(tree));
}

Test(call_tree, threads_of_one_name_are_one_and_their_calls_are_counted)
{
	const struct tp_call_node *node;
	uint32_t n;

	for (uint32_t thread = 0; thread < 3; thread++)
		give(fake_span(&fake, proc, thread, TP_REC_OP, fake_op(&fake, "aten::mm"), 100, 150));
	tp_facts_end(facts);
	node = tp_call_tree_nodes(tree, &n);
	cr_assert_eq(n, 6);
	cr_expect_eq(node[1].kind, TP_CALL_PROCESS);
	for (uint32_t i = 0; i < 2; i++) {
		cr_expect_eq(node[2 + 2 * i].kind, TP_CALL_THREAD);
		cr_expect_eq(node[2 + 2 * i].parent, 1);
		cr_expect_eq(node[2 + 2 * i].value, i);
		cr_expect_eq(node[3 + 2 * i].kind, TP_CALL_SPAN);
		cr_expect_eq(node[3 + 2 * i].parent, 2 + 2 * i);
		cr_expect_eq(node[3 + 2 * i].calls, 1 + i);
		cr_expect_eq(node[3 + 2 * i].ns[TP_TIME_HOST], 50 * (1 + (int64_t)i));
	}
	cr_expect_not(tp_call_tree_is_full(tree));
	/* As stacks they are one. */
	cr_expect_str_eq(told(), "aten::mm 50 0\naten::mm 100 0\n");
}

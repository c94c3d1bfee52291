/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_module.c - tests of where operators come from: paths of modules, calls, forward and backward
 */
#include <criterion/criterion.h>

#include "merge/facts/time/module_times.h"
#include "tests/unit/fake_run.h"

static struct fake fake;
static struct tp_proc *proc;
static struct tp_event event[64];
static uint32_t n;

static void set_up(void)
{
	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	proc->thread[0].torch_id = 1;
	fake_window(&fake, proc, 0, 0, 1000000);
	n = 0;
}

TestSuite(view_module, .init = set_up);

static struct tp_event *add(uint8_t kind, const struct tp_string *name, int64_t begin, int64_t end)
{
	event[n] = fake_span(&fake, proc, 0, kind, name, begin, end);
	event[n].link = 0;
	return &event[n++];
}

/* Stack `number`: module `module` called in `outer`. */
static void add_frame(int64_t time, uint32_t number, uint32_t outer, uint32_t module)
{
	struct tp_event *frame = add(TP_REC_FRAME, NULL, time, time);

	frame->flags = TP_FRAME_MODULE;
	frame->link = number;
	frame->len = outer;
	frame->arg = TP_ARG_MODULE(module);
}

static void add_name(uint32_t module, const char *both, uint32_t n_bytes)
{
	add(TP_REC_NNMODULE, fake_string(&fake, TP_STRING_NNMODULE, both, n_bytes), 0, 0)->link =
		module;
}

static void add_stack(int64_t time, uint32_t number, uint8_t flags)
{
	struct tp_event *stack = add(TP_REC_STACK, NULL, time, time);

	stack->link = number;
	stack->flags = flags;
}

static struct tp_event *add_op(const char *name, int64_t begin, int64_t end, uint32_t sequence)
{
	struct tp_event *op = add(TP_REC_OP, fake_op(&fake, name), begin, end);

	op->link = sequence;
	return op;
}

static void add_net(void)
{
	add_name(7, "\0Net", 4);
	add_name(9, "layers.0.fc\0Linear", 18);
	add_frame(0, 1, 0, 7);
	add_frame(0, 2, 1, 9);
}

static struct tp_facts *facts;

static struct tp_module_times *take_all(void)
{
	struct tp_module_times *times;

	facts = tp_facts_new(&fake.run);
	times = tp_facts_want(facts, &tp_fact_module_times, NULL);
	for (uint32_t i = 0; i < n; i++)
		tp_facts_event(facts, &event[i]);
	tp_facts_end(facts);
	return times;
}

Test(view_module, counts_each_call_also_equal_ones_without_operators)
{
	struct tp_module_times *times;

	add_net();
	add_stack(100, 1, TP_STACK_CALL);
	for (int i = 0; i < 3; i++)
		add_stack(200 + i, 2, TP_STACK_CALL);
	add_op("aten::relu", 300, 400, TP_NO_SEQ);
	add_stack(450, 1, 0);
	add_op("aten::relu", 500, 600, TP_NO_SEQ);
	add_stack(650, 0, 0);
	add_op("aten::relu", 700, 800, TP_NO_SEQ);
	times = take_all();
	cr_assert_eq(tp_module_paths_count(tp_module_times_paths(times)), 3);
	cr_expect_eq(tp_module_times_at(times, 1)->n_calls, 1);
	cr_expect_eq(tp_module_times_at(times, 2)->n_calls, 3);
	/* To the end of the last operator; what lies in inner modules is not its own. */
	cr_expect_eq(tp_module_times_at(times, 1)->total_ns, 501);
	cr_expect_eq(tp_module_times_at(times, 2)->total_ns, 1 + 1 + 199);
	cr_expect_eq(tp_module_times_at(times, 1)->self_ns, 501 - 201);
	cr_expect_eq(tp_module_times_at(times, 1)->n_ops, 2);
	cr_expect_eq(tp_module_times_at(times, 0)->n_ops, 1);
	tp_facts_free(facts);
}

Test(view_module, gives_backward_to_the_module_of_the_forward_operator)
{
	struct tp_module_times *times;
	struct tp_event *node;

	add_net();
	add_stack(100, 1, TP_STACK_CALL);
	add_stack(110, 2, TP_STACK_CALL);
	add_op("aten::linear", 120, 200, 5);
	add_op("aten::addmm", 130, 190, 5);
	add_stack(300, 0, 0);
	add_op("autograd::engine::evaluate_function: AddmmBackward0", 300, 400, TP_NO_SEQ);
	node = add_op("AddmmBackward0", 310, 390, 5);
	node->flags = TP_F_BACKWARD;
	node->arg = TP_ARG_OP(0, 1, 1);
	add_op("aten::mm", 320, 340, TP_NO_SEQ);
	/* Recomputed in there: its own module's, though a part of the backward pass. */
	add_stack(345, 2, TP_STACK_CALL);
	add_op("aten::linear", 350, 360, TP_NO_SEQ);
	add_stack(365, 0, 0);
	add_op("aten::mm", 370, 380, TP_NO_SEQ);
	times = take_all();
	cr_expect_eq(tp_module_times_at(times, 2)->backward_self_ns, 80);
	cr_expect_eq(tp_module_times_at(times, 1)->backward_ns, 80);
	cr_expect_eq(tp_module_times_at(times, 1)->backward_self_ns, 0);
	/* The node, both mm in it, and what was recomputed. */
	cr_expect_eq(tp_module_times_at(times, 2)->n_backward_ops, 4);
	cr_expect_eq(tp_module_times_at(times, 2)->n_calls, 2);
	cr_expect_eq(tp_module_times_at(times, 0)->n_ops, 1);
	tp_facts_free(facts);
}

Test(view_module, takes_modules_of_one_name_and_class_for_one_whatever_the_process)
{
	struct tp_proc *other = fake_proc(&fake, 1);
	struct tp_module_times *times;

	fake_window(&fake, other, 0, 0, 1000000);
	add_net();
	add_stack(100, 2, TP_STACK_CALL);
	/* The same strings, other numbers. */
	event[n] = event[0];
	event[n].link = 100;
	event[n++].proc = other;
	event[n] = event[2];
	event[n].arg = TP_ARG_MODULE(100);
	event[n].link = 55;
	event[n++].proc = other;
	add_stack(300, 55, TP_STACK_CALL);
	event[n - 1].proc = other;
	event[n - 1].thread = &other->thread[0];
	/* One whose name never comes. */
	add_frame(400, 60, 0, 101);
	event[n - 1].proc = other;
	times = take_all();
	cr_assert_eq(tp_module_paths_count(tp_module_times_paths(times)), 4);
	cr_expect_eq(tp_module_times_at(times, 1)->n_calls, 1);
	cr_expect_eq(tp_module_times_at(times, 2)->n_calls, 1);
	tp_facts_free(facts);
}

Test(view_module, shows_memory_at_entry_peak_and_exit)
{
	const struct tp_view_options all = {.top = 0};
	char *text;

	add_net();
	event[n++] = fake_block(&fake, proc, 0, TP_REC_ALLOC, 50, 0x10, 1024);
	add_stack(100, 1, TP_STACK_CALL);
	add_stack(110, 2, TP_STACK_CALL);
	add_op("aten::linear", 120, 1000, TP_NO_SEQ);
	event[n++] = fake_block(&fake, proc, 0, TP_REC_ALLOC, 130, 0x20, 4096);
	event[n++] = fake_block(&fake, proc, 0, TP_REC_ALLOC, 140, 0x30, 2048);
	event[n++] = fake_block(&fake, proc, 0, TP_REC_FREE, 150, 0x20, 0);
	add_stack(2000, 0, 0);
	add_op("aten::add", 2000, 2100, TP_NO_SEQ);
	text = fake_print(&fake, &tp_view_module, &all, event, n, 160, false);
	cr_expect(strstr(text, "Net"), "%s", text);
	cr_expect(strstr(text, "  fc    Linear      1    1   891 ns  891 ns      0 ns  0 ns  "
			       "1.00 KiB  7.00 KiB  3.00 KiB  2.00 KiB\n"), "%s", text);
}

Test(view_module, says_that_nothing_was_recorded)
{
	const struct tp_view_options all = {.top = 20};
	char *text;

	add_op("aten::add", 2000, 2100, TP_NO_SEQ);
	text = fake_print(&fake, &tp_view_module, &all, event, n, 160, false);
	cr_expect(strstr(text, "TRAINPROF_RECORD=modules"), "%s", text);
}

/* Numbers, flags, names and orders that no writer makes. */
Test(view_module, stands_whatever_is_in_a_file)
{
	const struct tp_view_options some = {.top = 3};
	uint32_t dice = 1;

	for (int round = 0; round < 200; round++) {
		n = 0;
		add_name(dice % 5, "x\0y", dice % 4);
		while (n < 60) {
			uint32_t kind;

			dice = dice * 1664525 + 1013904223;
			kind = (uint32_t[]){TP_REC_FRAME, TP_REC_STACK, TP_REC_OP, TP_REC_NNMODULE,
					    TP_REC_ALLOC, TP_REC_RANGE}[dice >> 8 & 7 % 6];
			add((uint8_t)kind, kind == TP_REC_OP ? event[0].name : NULL, n * 10,
			    n * 10 + (dice >> 20) % 200);
			event[n - 1].flags = (uint8_t)(dice >> 24);
			event[n - 1].link = dice >> 12 & 7;
			event[n - 1].len = dice >> 16 & 7;
			event[n - 1].arg = (uint64_t)(dice >> 18 & 7) << (dice & 32);
			event[n - 1].window = dice >> 28 & 1;
			event[n - 1].thread = &proc->thread[dice >> 27 & 3];
		}
		fake_print(&fake, &tp_view_module, &some, event, n, 80, false);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_operators.c - tests of the rules on modules that run without gradients and on anomaly detection,
 * and of what steps that are slow, or later ones, have more of
 */
#include "tests/unit/advice_rig.h"

#include "runtime/trace/ring_layout.h"
#include "runtime/trace/torch_names.h"

static void set_up(void)
{
	advice_init();
}

TestSuite(overview_operators, .init = set_up);

/* In each step line 10 learns by one linear, and line 20 calls so many, of 5 ms each. */
static void add_linears(uint32_t n_without, uint32_t n_with)
{
	add_two_lines();
	for (uint32_t i = 0; i < STEPS; i++) {
		int64_t at = i * 100 * MS;

		add_stack(1, at + 1);
		for (uint32_t k = 0; k < n_with; k++, at += 5 * MS)
			add(TP_REC_OP, "aten::linear", at + 2, at + 5 * MS)->link = 7 + k;
		add_stack(2, at + 1);
		for (uint32_t k = 0; k < n_without; k++, at += 5 * MS)
			add(TP_REC_OP, "aten::linear", at + 2, at + 5 * MS);
	}
}

Test(overview_operators, sees_an_evaluation_in_each_step)
{
	const char *text;

	add_linears(10, 2);
	text = print();
	cr_expect(strstr(text, "\n  evaluation          up to 50.0 % of a step runs modules without gradients, 5 times as "
			       "often"), "%s", text);
	cr_expect(strstr(text, "me/train.py:20 main\n"), "%s", text);
}

Test(overview_operators, a_teacher_or_a_recomputation_is_no_evaluation)
{
	add_linears(8, 2);
	cr_expect_not(strstr(print(), "\n  evaluation "), "%s", print());
	/* What is frozen are other layers than those that learn. */
	set_up();
	add_linears(10, 2);
	for (uint32_t i = 0; i < n_events; i++)
		if (event[i].kind == TP_REC_OP && event[i].link == TP_NO_SEQ)
			event[i].name = fake_text(&fake, i % 2 ? "aten::conv2d" : "aten::batch_norm");
	cr_expect_not(strstr(print(), "\n  evaluation "), "%s", print());
	/* Nothing learns: a run of inference. */
	set_up();
	add_linears(10, 0);
	cr_expect_not(strstr(print(), "\n  evaluation "), "%s", print());
}

/* In each step line 20 runs ten layers for nothing, line 10 learns by two; of 5 ms each. A frozen layer has
 * the number of the one after it. */
static void add_forgotten(bool is_frozen, bool is_used)
{
	uint32_t sequence = 1;

	proc->thread[0].torch_id = 1;
	add_two_lines();
	for (uint32_t i = 0; i < STEPS; i++) {
		int64_t at = i * 100 * MS;

		for (uint32_t k = 0; k < 12; k++, at += 5 * MS) {
			add_stack(k < 10 ? 2 : 1, at + 1);
			add(TP_REC_OP, "aten::linear", at + 2, at + 5 * MS)->link = sequence;
			sequence += k >= 10 || !is_frozen ? 2 : 0;
		}
		for (uint32_t k = 0; k < (is_used ? 12 : 2); k++, at += 2 * MS) {
			struct tp_event *inner;

			add(TP_REC_OP, TP_NAME_NODE "AddmmBackward0", at, at + 2 * MS);
			inner = add(TP_REC_OP, "AddmmBackward0", at + 1, at + 2 * MS - 1);
			inner->link = sequence - 2 * k - 1;
			inner->flags |= TP_F_BACKWARD;
			inner->arg = TP_ARG_OP(0, proc->thread[0].torch_id, 0);
		}
	}
}

Test(overview_operators, an_evaluation_with_gradients_is_one_too)
{
	const char *text;

	add_forgotten(false, false);
	text = print();
	cr_expect(strstr(text, "\n  evaluation          up to 50.0 % of a step runs modules with gradients that no "
			       "backward pass asks for, 5 times as often as with one"), "%s", text);
	cr_expect(strstr(text, "me/train.py:20 main\n"), "%s", text);
	cr_expect(strstr(text, "torch.no_grad(); if the step"), "%s", text);
	set_up();
	add_forgotten(true, false);
	cr_expect_not(strstr(print(), "\n  evaluation "), "%s", print());
	set_up();
	add_forgotten(false, true);
	cr_expect_not(strstr(print(), "\n  evaluation "), "%s", print());
}

/* In each step line 10 calls it for 60 ms, line 20 something for 30, and an optimizer runs from then on. */
static void add_extra(const char *name, int64_t optimizer)
{
	add_two_lines();
	for (uint32_t i = 0; i < STEPS; i++) {
		int64_t at = i * 100 * MS;

		add_stack(1, at + 1);
		if (!optimizer)
			add(TP_REC_RANGE, TP_NAME_OPTIMIZER "Muon.step", at + 2, at + 95 * MS);
		add(TP_REC_OP, name, at + 3, at + 60 * MS);
		add_stack(2, at + 60 * MS + 1);
		if (optimizer)
			add(TP_REC_RANGE, TP_NAME_OPTIMIZER "Muon.step", at + optimizer, at + 95 * MS);
		add(TP_REC_OP, "aten::mm", at + 62 * MS, at + 92 * MS);
	}
}

/* The function that lines are of. */
static void name_function(const char *name)
{
	for (uint32_t i = 0; i < n_events; i++)
		if (event[i].kind == TP_REC_FRAME)
			event[i].name = fake_pyframe(&fake, name, "/home/me/train.py");
}

/* function NULL: main. */
static bool is_extra(const char *name, int64_t optimizer, const char *function)
{
	set_up();
	add_extra(name, optimizer);
	if (function)
		name_function(function);
	return strstr(print(), "\n  extra-operators") != NULL;
}

Test(overview_operators, sees_operators_that_nothing_learns_by)
{
	const char *text;

	add_extra("aten::linalg_svd", 61 * MS);
	text = print();
	cr_expect(strstr(text, "\n  extra-operators     60.0 % of step time is in operators of one function"), "%s", text);
	cr_expect(strstr(text, "me/train.py:10 main\n"), "%s", text);
	/* The line runs a layer. */
	cr_expect_not(is_extra("aten::linear", 61 * MS, NULL), "%s", print());
	/* So does what is compiled, it may be. */
	cr_expect_not(is_extra(TP_NAME_COMPILED "0/0", 61 * MS, NULL), "%s", print());
	/* Random numbers, as for data; an order of them is none. */
	cr_expect(is_extra("aten::randperm", 61 * MS, NULL), "%s", print());
	cr_expect_not(is_extra("aten::randn", 61 * MS, NULL), "%s", print());
	cr_expect_not(is_extra("aten::normal_", 61 * MS, NULL), "%s", print());
	cr_expect_not(is_extra("aten::uniform_", 61 * MS, NULL), "%s", print());
	/* The other line runs layers, and the function is a module's forward(). */
	cr_expect_not(is_extra("aten::linalg_svd", 61 * MS, "Net.forward"), "%s", print());
	cr_expect(is_extra("aten::linalg_svd", 61 * MS, "Net.forwards"), "%s", print());
	/* Nodes of the backward pass in which hooks run. */
	cr_expect_not(is_extra(TP_NAME_NODE TP_NAME_ACCUMULATE, 61 * MS, NULL), "%s", print());
	/* All is an optimizer's; nothing is: that is no training. */
	cr_expect_not(is_extra("aten::linalg_svd", 0, NULL), "%s", print());
	cr_expect_not(is_extra("aten::linalg_svd", 93 * MS, NULL), "%s", print());
	/* Without an optimizer of torch's it may be the program's own. */
	set_up();
	add_extra("aten::addcdiv_", 61 * MS);
	for (uint32_t i = 0; i < n_events; i++)
		if (event[i].kind == TP_REC_RANGE)
			event[i].name = fake_text(&fake, "Muon.step");
		else if (event[i].kind == TP_REC_OP && event[i].begin_ns % (100 * MS) == 62 * MS)
			event[i].name = fake_text(&fake, TP_NAME_NODE TP_NAME_ACCUMULATE);
	cr_expect_not(strstr(print(), "\n  extra-operators"), "%s", print());
}

/* In each step so many nodes of the backward pass, 1 ms each, with a search for NaN in each that is said, or
 * beside it. */
static void add_nodes(uint32_t n, uint32_t n_checked, bool is_inside)
{
	add_one_line();
	for (uint32_t i = 0; i < STEPS; i++) {
		int64_t at = i * 100 * MS;

		add_stack(1, at + 1);
		for (uint32_t k = 0; k < n; k++, at += 2 * MS) {
			add(TP_REC_OP, TP_NAME_NODE "MmBackward0", at + 2, at + MS);
			add(TP_REC_OP, TP_NAME_NODE TP_NAME_ACCUMULATE, at + MS + 2, at + 2 * MS - 4);
			if (k < n_checked)
				add(TP_REC_OP, "aten::isnan", is_inside ? at + MS / 2 : at + 2 * MS - 3,
				    is_inside ? at + MS / 2 + 1 : at + 2 * MS - 2);
		}
	}
}

Test(overview_operators, sees_anomaly_detection)
{
	const char *text;

	add_nodes(20, 19, true);
	text = print();
	cr_expect(strstr(text, "\n  anomaly-detection   torch.autograd's anomaly detection is on"), "%s", text);
	cr_expect(strstr(text, "(19 per step)"), "%s", text);
}

Test(overview_operators, a_check_of_the_programs_own_is_no_anomaly_detection)
{
	add_nodes(20, 20, false);
	cr_expect_not(strstr(print(), "\n  anomaly-detection"), "%s", print());
	set_up();
	add_nodes(20, 10, true);
	cr_expect_not(strstr(print(), "\n  anomaly-detection"), "%s", print());
	/* No backward pass. */
	set_up();
	add_nodes(0, 0, true);
	cr_expect_not(strstr(print(), "\n  anomaly-detection"), "%s", print());
}

/* ---- steps of the whole run, with some of them recorded ---- */

enum { N = 121, FIRST = 5, LAST = 24 };

typedef int64_t length(uint32_t step);

static int64_t tenth(uint32_t step)
{
	return step % 10 == 9 ? 60 : 20;
}

static int64_t slower(uint32_t step)
{
	return 20 + step / 2;
}

static void add_frame(uint32_t stack, uint32_t outer, const struct tp_string *function, uint32_t line)
{
	event[n_events] = fake_span(&fake, proc, 0, TP_REC_FRAME, function, 0, 0);
	event[n_events].flags = TP_FRAME_PYTHON;
	event[n_events].link = stack;
	event[n_events].len = outer;
	event[n_events++].arg = line;
}

/* Line 10 of main calls forward() for 19 ms of each step, line 20 evaluate(), which calls it for the rest. */
static const char *print_run(length *of, bool is_in_operators)
{
	static const char text[][40] = {"main\0/home/me/train.py", "forward\0/home/me/net.py",
					"evaluate\0/home/me/train.py"};
	const struct tp_string *main_ = fake_string(&fake, TP_STRING_PYFRAME, text[0], 22),
			       *forward = fake_string(&fake, TP_STRING_PYFRAME, text[1], 23),
			       *evaluate = fake_string(&fake, TP_STRING_PYFRAME, text[2], 26);
	int64_t now = 0;

	fake_window(&fake, proc, 0, 0, N * 100ll * MS)->n_events = 1;
	add_frame(1, 0, main_, 10);
	add_frame(2, 1, forward, 3);
	add_frame(3, 0, main_, 20);
	add_frame(4, 3, evaluate, 30);
	add_frame(5, 4, forward, 3);
	for (uint32_t i = 0; i < N; i++) {
		const int64_t ns = of(i) * MS;
		struct tp_step_row *row = fake_step_row(&fake, proc, i, now, ns);
		const bool is_recorded = i >= FIRST && i <= LAST;

		row->in_epoch = i;
		row->phase = is_recorded ? TP_PHASE_ACTIVE : TP_PHASE_WAIT;
		if (is_recorded) {
			event[n_events++] = fake_step(&fake, proc, i, now, now + ns);
			add_stack(2, now + 1);
			add(TP_REC_OP, "aten::mm", now + 2, now + 19 * MS);
			add_stack(is_in_operators ? 5 : 2, now + 19 * MS + 1);
			if (ns > 20 * MS)
				add(TP_REC_OP, "aten::mm", is_in_operators ? now + 19 * MS + 2 : now + ns - MS,
				    now + ns - 1);
		}
		now += ns;
	}
	return print();
}

Test(overview_operators, a_slow_step_that_was_recorded_names_what_only_it_calls)
{
	const char *text = print_run(tenth, true);

	cr_expect(strstr(text, "\n  every-n-steps "), "%s", text);
	cr_expect(strstr(text, "steps 29, 39, 49, ...: /home/me/train.py:30 evaluate\n"), "%s", text);
}

Test(overview_operators, what_is_no_operator_is_not_looked_for_among_them)
{
	const char *text = print_run(tenth, false);

	cr_expect(strstr(text, "\n  every-n-steps "), "%s", text);
	cr_expect_not(strstr(text, "steps 29, 39, 49, ...: me/"), "%s", text);
}

Test(overview_operators, steps_that_get_slower_name_what_grows)
{
	const char *text = print_run(slower, true);

	cr_expect(strstr(text, "\n  step-growth "), "%s", text);
	cr_expect(strstr(text, "me/train.py:30 evaluate\n"), "%s", text);
}

/* In each step the backward pass of line 20 makes a gradient of a table for 40 ms, so much of it zeros. */
static void add_embedding(const char *name, int64_t zeros)
{
	add_two_lines();
	for (uint32_t i = 0; i < STEPS; i++) {
		int64_t at = i * 100 * MS;

		add_stack(2, at + 1);
		add(TP_REC_OP, "aten::embedding", at + 2, at + 5 * MS)->link = 7;
		add_stack(1, at + 5 * MS + 1);
		add(TP_REC_OP, "aten::linear", at + 6 * MS, at + 50 * MS)->link = 8;
		add(TP_REC_OP, TP_NAME_NODE "EmbeddingBackward0", at + 50 * MS, at + 91 * MS)->link = 7;
		add(TP_REC_OP, name, at + 50 * MS + 1, at + 90 * MS);
		add(TP_REC_OP, "aten::zeros", at + 51 * MS, at + 51 * MS + zeros);
		add(TP_REC_OP, "aten::zeros", at + 92 * MS, at + 99 * MS);
	}
}

Test(overview_operators, sees_gradients_as_large_as_the_table_of_an_embedding)
{
	const char *text;

	add_embedding("aten::embedding_dense_backward", 30 * MS);
	text = print();
	cr_expect(strstr(text, "\n  dense-embedding     up to 60.0 % of step time zeroes"), "%s", text);
	/* Most rows are used; it is another operator's. */
	set_up();
	add_embedding("aten::embedding_dense_backward", 7 * MS);
	cr_expect_not(strstr(print(), "dense-embedding"), "%s", print());
	set_up();
	add_embedding("aten::embedding_sparse_backward", 30 * MS);
	cr_expect_not(strstr(print(), "dense-embedding"), "%s", print());
}

/* In each step line 20 calls deepcopy() of that file, which has twenty operators of 900 us, 100 us apart. */
static void add_deep_copies(const char *file)
{
	add_two_lines();
	add_line(3, 130);
	event[n_events - 1].name = fake_pyframe(&fake, "deepcopy", file);
	event[n_events - 1].len = 2;
	for (uint32_t i = 0; i < STEPS; i++) {
		int64_t at = i * 100 * MS;

		add_stack(3, at + 1);
		for (uint32_t k = 0; k < 20; k++, at += MS)
			add(TP_REC_OP, "aten::copy_", at + MS / 10, at + MS);
		add_stack(1, at + 1);
		add(TP_REC_OP, "aten::linear", at + 2, i * 100 * MS + 100 * MS - 1)->link = 7;
	}
}

Test(overview_operators, sees_deep_copies_by_the_function_that_makes_them)
{
	const char *text;

	add_deep_copies("/usr/lib/python3.11/copy.py");
	text = print();
	cr_expect(strstr(text, "\n  layout-copies       up to 20.0 % of step time copies tensors"), "%s", text);
	cr_expect(strstr(text, "/home/me/train.py:20 main"), "%s", text);
	set_up();
	add_deep_copies("/usr/lib/python3.11/notcopy.py");
	cr_expect_not(strstr(print(), "layout-copies"), "%s", print());
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_small.c - tests of the rule on lines that ask for many small operators
 */
#include "tests/unit/advice_gpu_rig.h"

TestSuite(overview_small, .init = advice_gpu_init);

/* In each step 300 small operators of line 20, and the nodes of their backward pass; where these are inside
 * one other operator, so many more without. */
static void add_nodes(bool is_inside_one, uint32_t n_others)
{
	enum { N = 300, EACH = 9000 };

	proc->n_devices = 0;
	((struct tp_thread *)proc->thread)->torch_id = 1;
	fake_window(&fake, proc, 0, 0, STEPS * 10 * MS)->n_events = 1;
	add_line(1, 10);
	add_line(2, 20);
	for (uint32_t i = 0; i < STEPS; i++) {
		int64_t at = i * 10 * MS + 10;

		event[n_events++] = fake_step(&fake, proc, i, i * 10 * MS, (i + 1) * 10 * MS);
		add_stack(2, at - 1);
		if (is_inside_one)
			add(TP_REC_OP, "aten::gru", at, at + N * 1000)->link = TP_NO_SEQ;
		for (uint32_t k = 0; k < N; k++, at += is_inside_one ? 1000 : EACH)
			add(TP_REC_OP, "aten::mul", at + 1, at + 999)->link = i * N + k;
		for (uint32_t k = 0; k < n_others; k++, at += EACH)
			add(TP_REC_OP, "aten::mul", at + 4000, at + EACH)->link = TP_NO_SEQ;
		add_stack(1, at);
		for (uint32_t k = 0; k < N; k++, at += EACH) {
			struct tp_event *node;

			add(TP_REC_OP, "evaluate_function", at + 4000, at + EACH)->link = TP_NO_SEQ;
			node = add(TP_REC_OP, "MulBackward0", at + 4001, at + EACH - 1);
			node->link = i * N + k;
			node->flags = TP_F_BACKWARD;
			node->arg = TP_ARG_OP(0, 1, 1);
		}
		add(TP_REC_OP, "aten::mm", at, (i + 1) * 10 * MS - 1)->link = TP_NO_SEQ;
	}
}

/* nn.GRU's is one operator: there is no loop of the program's. */
Test(overview_small, sees_no_loop_where_one_operator_has_many_nodes)
{
	add_nodes(false, 0);
	expect_rules(print(), (const char *[]){"small-operators", NULL});
	cr_expect(strstr(print(), "/home/me/train.py:20 main"), "%s", print());
	advice_gpu_init();
	add_nodes(true, 0);
	expect_rules(print(), (const char *[]){NULL});
	/* Nor if the line has some others beside it. */
	advice_gpu_init();
	add_nodes(true, 36);
	expect_rules(print(), (const char *[]){NULL});
	advice_gpu_init();
	add_nodes(true, 150);
	expect_rules(print(), (const char *[]){"small-operators", NULL});
}

static const char *print_small(uint32_t n, uint32_t n_lines, int64_t each, int64_t gap)
{
	advice_gpu_init();
	add_small(n, n_lines, each, gap);
	return print();
}

Test(overview_small, sees_lines_that_ask_for_many_small_operators)
{
	const char *text;

	text = print_small(400, 1, 8000, 4000);
	expect_rules(text, (const char *[]){"small-operators", NULL});
	cr_expect(strstr(text, "one line calls 400 per step, 8.00 us each"), "%s", text);
	cr_expect(strstr(text, "/home/me/train.py:20 main"), "%s", text);
	/* Of two lines of one function, on a slower machine. */
	text = print_small(400, 2, 24000, 3000);
	expect_rules(text, (const char *[]){"small-operators", NULL});
	cr_expect(strstr(text, "one line calls 200 per step, 24.0 us each"), "%s", text);
	/* Less to ask for them, where they take a third of a step and where they do not. */
	text = print_small(280, 1, 22000, 2800);
	expect_rules(text, (const char *[]){"small-operators", NULL});
	cr_expect(strstr(text, "up to 16.2 % of a step"), "%s", text);
	expect_rules(print_small(280, 1, 8000, 2800), (const char *[]){NULL});
	/* Few, those that take longer than to ask for them, larger ones, with a device. */
	expect_rules(print_small(150, 1, 8000, 4000), (const char *[]){NULL});
	expect_rules(print_small(300, 1, 24000, 1000), (const char *[]){NULL});
	expect_rules(print_small(210, 1, 45000, 20000), (const char *[]){NULL});
	/* Their work takes most: to ask for them takes 3 us of 22, and a gap of 2. */
	expect_rules(print_small(250, 1, 22000, 2600), (const char *[]){NULL});
	advice_gpu_init();
	add_small(400, 1, 8000, 4000);
	proc->n_devices = 1;
	expect_rules(print(), (const char *[]){NULL});
}

/* By workers, beside the steps, which line 10 fills. */
Test(overview_small, does_not_take_what_workers_do_for_the_steps_work)
{
	enum { N = 505, EACH = 8000, GAP = 200 };
	struct tp_proc *worker = fake_worker(&fake, proc, 1);

	add_small(N, 1, EACH, GAP);
	for (uint32_t i = 0; i < n_events; i++) {
		const bool is_op = event[i].kind == TP_REC_OP;

		if ((is_op && event[i].len < EACH) || (event[i].link == 2 && event[i].kind != TP_REC_STEP)) {
			event[i].proc = worker;
			event[i].thread = &worker->thread[0];
		} else if (is_op || event[i].kind == TP_REC_STACK) {
			event[i].begin_ns -= N * EACH;
		}
	}
	expect_rules(print(), (const char *[]){NULL});
}

/* The steps of an optimizer of that name, and in them so many small operators: each costs 5.5 us to ask for
 * where it is torch's, and 7 elsewhere. */
static void add_optimizer_of(const char *name, uint32_t n)
{
	add_small(n, 1, 8000, 4000);
	for (uint32_t i = 0; i < STEPS; i++)
		add(TP_REC_RANGE, name, i * 10 * MS + 1, i * 10 * MS + (n + 1) * 8000);
}

static void add_optimizer(const char *name)
{
	add_optimizer_of(name, 560);
}

/* A function of `file` asks for the small operators that are there. */
static const char *print_inside(const char *file)
{
	add_call(4, 2, "inner", file);
	move_stacks(2, 4, 4);
	return print();
}

/* optimizer NULL: in none. */
static const char *print_from(const char *file, const char *optimizer)
{
	advice_gpu_init();
	if (optimizer)
		add_optimizer(optimizer);
	else
		add_small(400, 1, 8000, 4000);
	return print_inside(file);
}

/* In a step of 10 ms 300 of 30 us, 5 of them the gap before it. */
static const char *print_larger_from(const char *file)
{
	advice_gpu_init();
	add_small(300, 1, 30000, 5000);
	return print_inside(file);
}

Test(overview_small, takes_neither_layers_nor_the_backward_pass_for_a_loop)
{
	static const char container[] = "/v/lib/python3.11/site-packages/torch/nn/modules/container.py";
	static const char linear[] = "/v/lib/python3.11/site-packages/torch/nn/modules/linear.py";
	static const char engine[] = "/v/lib/python3.11/site-packages/torch/autograd/graph.py";

	expect_rules(print_larger_from(linear), (const char *[]){"small-operators", NULL});
	expect_rules(print_larger_from(container), (const char *[]){NULL});
	/* What makes the weights of a layer anew may do it in many rounds. */
	advice_gpu_init();
	add_small(300, 1, 30000, 5000);
	add_call(4, 2, "forward", container);
	add_call(5, 4, "_power_method", "/v/lib/python3.11/site-packages/torch/nn/utils/parametrizations.py");
	move_stacks(2, 5, 4);
	expect_rules(print(), (const char *[]){"small-operators", NULL});
	/* So small are those of a loop over small models. */
	expect_rules(print_from(container, NULL), (const char *[]){"small-operators", NULL});
	expect_rules(print_from(engine, NULL), (const char *[]){NULL});
}

Test(overview_small, tells_that_many_small_operators_print_a_tensor)
{
	const char *text = print_from("/v/lib/python3.11/site-packages/torch/_tensor_str.py", NULL);

	expect_rules(text, (const char *[]){"small-operators", NULL});
	cr_expect(strstr(text, "it prints tensors: "), "%s", text);
	text = print_from("/v/lib/python3.11/site-packages/torch/_tensor.py", NULL);
	cr_expect(strstr(text, "one operator for all of them"), "%s", text);
}

Test(overview_small, names_the_switch_of_an_optimizer_that_goes_from_parameter_to_parameter)
{
	const char *text = print_from("/v/lib/python3.11/site-packages/torch/optim/adamw.py",
				      "Optimizer.step#AdamW.step");

	expect_rules(text, (const char *[]){"small-operators", NULL});
	cr_expect(strstr(text, "with foreach=True, too: fused=True"), "%s", text);
	/* Less than that is how it is in a small model. */
	advice_gpu_init();
	add_optimizer_of("Optimizer.step#AdamW.step", 540);
	expect_rules(print_inside("/v/lib/python3.11/site-packages/torch/optim/adamw.py"), (const char *[]){NULL});
	/* One of the program's own has no such switch. */
	text = print_from("/home/me/mine.py", "Optimizer.step#Mine.step");
	cr_expect(strstr(text, "one operator for all of them"), "%s", text);
	/* Operators between the steps are not the optimizer's. */
	text = print_from("/v/lib/python3.11/site-packages/torch/optim/swa_utils.py", NULL);
	cr_expect(strstr(text, "one operator for all of them"), "%s", text);
}

/* A library's fit(), which line 20 calls: its optimizer runs the model, in that file, as a closure, and then
 * asks for so many of four operators itself. Line 21 has three for five of them, of its own. */
static const char *print_fit(const char *model, uint32_t of_four)
{
	enum { N = 512, EACH = 8000 };

	advice_gpu_init();
	add_small(N, 2, EACH, 4000);
	add_call(4, 2, "fit", "/v/lib/python3.11/site-packages/fitter/loop.py");
	add_call(5, 4, "step", "/v/lib/python3.11/site-packages/torch/optim/adam.py");
	add_call(6, 5, "forward", model);
	add_call(7, 6, "_call_impl", "/v/lib/python3.11/site-packages/torch/nn/modules/module.py");
	add_call(8, 3, "read", "/v/lib/python3.11/site-packages/reader/read.py");
	move_stacks(3, 2, 1);
	move_stacks(2, 5, of_four);
	/* The last one is of the other kind. */
	add_stack(of_four > 2 ? 7 : 5, 30 * MS + N * EACH + 1);
	add(TP_REC_OP, "aten::add", 30 * MS + N * EACH + 2, 30 * MS + N * EACH + 900);
	move_stacks(2, 7, 4);
	move_stacks(3, 8, 4);
	return print();
}

Test(overview_small, names_what_most_operators_of_a_librarys_call_are_asked_for_by)
{
	static const char model[] = "/v/lib/python3.11/site-packages/fitter/model.py",
			  transformer[] = "/v/lib/python3.11/site-packages/torch/nn/modules/transformer.py";
	const char *text = print_fit(model, 1);

	expect_rules(text, (const char *[]){"small-operators", NULL});
	cr_expect(strstr(text, "/home/me/train.py:20 main > fitter/model.py:79 forward\n"), "%s", text);
	cr_expect(strstr(text, "one operator for all of them"), "%s", text);
	text = print_fit(model, 3);
	cr_expect(strstr(text, "/home/me/train.py:20 main > fitter/loop.py:79 fit\n"), "%s", text);
	cr_expect(strstr(text, "with foreach=True, too: fused=True"), "%s", text);
	text = print_fit(transformer, 1);
	cr_expect(strstr(text, "/home/me/train.py:20 main > fitter/loop.py:79 fit\n"), "%s", text);
	cr_expect(strstr(text, "one operator for all of them"), "%s", text);
}

/* Of two operators one is asked for by a library's loop, the other by an optimizer, each from a place of its
 * own: that is no loop, and says nothing of the other. */
static const char *print_loop_and_optimizer(void)
{
	enum { PLACES = 8 };

	advice_gpu_init();
	add_small(600, 1, 10000, 6000);
	add_call(4, 2, "fit", "/v/lib/python3.11/site-packages/fitter/loop.py");
	for (uint32_t i = 0; i < PLACES; i++) {
		add_call(10 + i, 4, "step", "/v/lib/python3.11/site-packages/torch/optim/adam.py");
		event[n_events - 1].arg = 100 + i;
	}
	for (uint32_t i = 0, n = 0; i < n_events; i++, n += event[i - 1].kind == TP_REC_STACK)
		if (event[i].kind == TP_REC_STACK && event[i].link == 2)
			event[i].link = n % 16 < 7 ? 4 : 10 + n % PLACES;
	return print();
}

Test(overview_small, does_not_ask_those_that_are_no_loop)
{
	const char *text = print_loop_and_optimizer();

	expect_rules(text, (const char *[]){"small-operators", NULL});
	cr_expect(strstr(text, "one operator for all of them"), "%s", text);
}

/* 400 in each step of what line 20 calls, from so many places in that file. */
static const char *print_places(const char *file, uint32_t n_places)
{
	advice_gpu_init();
	add_small(400, 1, 8000, 4000);
	for (uint32_t i = 0; i < n_places; i++) {
		add_call(10 + i, 2, "forward", file);
		event[n_events - 1].arg = 100 + i;
	}
	for (uint32_t i = 0, n = 0; i < n_events; i++)
		if (event[i].kind == TP_REC_STACK && event[i].link == 2)
			event[i].link = 10 + n++ % n_places;
	return print();
}

Test(overview_small, takes_a_librarys_model_for_no_loop)
{
	static const char model[] = "/v/lib/python3.11/site-packages/models/bert.py",
			  functional[] = "/v/lib/python3.11/site-packages/torch/nn/functional.py";

	expect_rules(print_places(model, 8), (const char *[]){NULL});
	expect_rules(print_places(model, 5), (const char *[]){"small-operators", NULL});
	/* What torch's functions ask for is the line's own. */
	expect_rules(print_places(functional, 8), (const char *[]){"small-operators", NULL});
}

/* FSDP's are for each parameter, and nobody can have them otherwise; what the model asks for within its
 * calls is the model's. */
Test(overview_small, leaves_what_fsdp_asks_for_to_it)
{
	static const char fsdp[] = "/v/lib/python3.11/site-packages/torch/distributed/fsdp/_fully_shard/_fsdp_state.py";

	add_small(560, 1, 8000, 4000);
	expect_rules(print_inside(fsdp), (const char *[]){NULL});
	advice_gpu_init();
	add_small(560, 1, 8000, 4000);
	add_call(4, 2, "inner", fsdp);
	add_call(5, 4, "forward", "/v/lib/python3.11/site-packages/torch/nn/functional.py");
	add_call(6, 5, "wrapped", "/v/lib/python3.11/site-packages/torch/_ops.py");
	move_stacks(2, 6, 4);
	expect_rules(print(), (const char *[]){"small-operators", NULL});
}

Test(overview_small, leaves_the_operators_of_lbfgs_to_it)
{
	add_optimizer("Optimizer.step#Mine.step");
	expect_rules(print(), (const char *[]){"small-operators", NULL});
	advice_gpu_init();
	add_optimizer("Optimizer.step#LBFGS.step");
	expect_rules(print(), (const char *[]){NULL});
}

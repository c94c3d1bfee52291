/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_savings.c - tests of the rules on copies, tensors computed from constants, one-hot vectors,
 * decompositions, and double precision
 */
#include "tests/unit/advice_gpu_rig.h"

#include "runtime/trace/torch_names.h"

static void set_up(void)
{
	advice_gpu_init();
}

TestSuite(overview_savings, .init = set_up);

/* In each step line 20 has an operator of this name, so long, and line 10 one of its own for the rest; both
 * with these numbers of autograd. */
static void add_named(const char *name, int64_t ns, uint32_t sequence, uint32_t next)
{
	proc->n_devices = 0;
	add_two_lines();
	for (uint32_t i = 0; i < STEPS; i++) {
		int64_t at = i * 100 * MS;

		add_stack(2, at + 1);
		add(TP_REC_OP, "aten::arange", at + 2, at + MS)->link = sequence;
		add(TP_REC_OP, name, at + MS, at + MS + ns)->link = sequence;
		add(TP_REC_OP, "aten::cos", at + MS + ns, at + 2 * MS + ns)->link = next;
		add_stack(1, at + 2 * MS + ns + 1);
		add(TP_REC_OP, "aten::linear", at + 2 * MS + ns + 2, at + 100 * MS - 1)->link = next;
	}
}

Test(overview_savings, sees_copies_into_another_layout)
{
	static const char *const copies[] = {"aten::contiguous", "aten::reshape", "aten::to", NULL};
	const char *text;

	for (uint32_t i = 0; copies[i]; i++) {
		set_up();
		add_named(copies[i], 20 * MS, 5, 5);
		text = print();
		expect_rules(text, (const char *[]){"layout-copies", NULL});
		cr_expect(strstr(text, "up to 20.0 % of step time copies tensors"), "%s", text);
		cr_expect(strstr(text, "/home/me/train.py:20 main"), "%s", text);
	}
	/* Too little of it; another operator, that takes as long; a device. */
	set_up();
	add_named("aten::contiguous", 11 * MS, 5, 5);
	expect_rules(print(), (const char *[]){NULL});
	set_up();
	add_named("aten::cat", 14 * MS, 5, 6);
	expect_rules(print(), (const char *[]){NULL});
	set_up();
	add_named("aten::contiguous", 20 * MS, 5, 5);
	proc->n_devices = 1;
	expect_rules(print(), (const char *[]){NULL});
}

/* In each step line 10 begins with that operator, of its inputs, and goes on with a constant. */
static void add_after(const char *first)
{
	proc->n_devices = 0;
	add_one_line();
	for (uint32_t i = 0; i < STEPS; i++) {
		int64_t at = i * 100 * MS;

		add_stack(1, at + 1);
		add(TP_REC_OP, first, at + 2, at + MS)->link = 5;
		add(TP_REC_OP, "aten::eye", at + MS, at + 2 * MS)->link = 5;
		add(TP_REC_OP, "aten::linalg_solve", at + 2 * MS, at + 40 * MS)->link = 5;
		add(TP_REC_OP, "aten::mul", at + 40 * MS, at + 41 * MS)->link = 5;
		add(TP_REC_OP, "aten::linear", at + 41 * MS, at + 100 * MS - 1)->link = 5;
	}
}

Test(overview_savings, sees_tensors_that_are_computed_from_constants)
{
	const char *text;

	add_named("aten::sin", 20 * MS, 5, 5);
	text = print();
	expect_rules(text, (const char *[]){"recomputed-constants", NULL});
	cr_expect(strstr(text, "up to 21.0 % of step time computes tensors"), "%s", text);
	cr_expect(strstr(text, "/home/me/train.py:20 main"), "%s", text);
	/* Numbers go on from one call to the next, a step between them or none. */
	cr_expect(strstr(text, "without parameters or gradients"), "%s", text);
	set_up();
	proc->n_devices = 0;
	add_one_line();
	for (uint32_t i = 0; i < STEPS * 2; i++) {
		int64_t at = i * 50 * MS;

		add_stack(1, at + 1);
		add(TP_REC_OP, "aten::arange", at + 2, at + MS);
		add(TP_REC_OP, "aten::sin", at + MS, at + 11 * MS)->link = i;
		add(TP_REC_OP, "aten::cos", at + 11 * MS, at + 12 * MS)->link = i;
	}
	cr_expect(strstr(print(), "up to 23.0 % of step time computes tensors"), "%s", print());
	/* After what comes of inputs, in the same function: of these, it may be. */
	for (uint32_t k = 0; k < 2; k++) {
		set_up();
		add_after(k ? "aten::linalg_qr" : "aten::matmul");
		expect_rules(print(), (const char *[]){NULL});
	}
	/* Without gradients there are no numbers. */
	set_up();
	add_named("aten::sin", 20 * MS, TP_NO_SEQ, TP_NO_SEQ);
	expect_rules(print(), (const char *[]){"recomputed-constants", NULL});
	/* A gradient was recorded, a parameter used: no constants. */
	set_up();
	add_named("aten::sin", 20 * MS, 5, 6);
	expect_rules(print(), (const char *[]){NULL});
	set_up();
	add_named("aten::linear", 20 * MS, 5, 5);
	expect_rules(print(), (const char *[]){NULL});
}

/* In each step line 20 has these operators, of 10 ms each, and line 10 one for the rest. */
static void add_in_line(const char *const *names, uint32_t last_stack)
{
	proc->n_devices = 0;
	add_two_lines();
	for (uint32_t i = 0; i < STEPS; i++) {
		int64_t at = i * 100 * MS;

		add_stack(2, at + 1);
		for (uint32_t k = 0; names[k]; k++, at += 10 * MS) {
			if (!names[k + 1])
				add_stack(last_stack, at + 2);
			add(TP_REC_OP, names[k], at + 3, at + 10 * MS)->link = 5;
		}
		add_stack(1, at + 1);
		add(TP_REC_OP, "aten::linear", at + 2, (i + 1) * 100 * MS - 1)->link = 6;
	}
}

Test(overview_savings, sees_one_hot_vectors_and_what_is_made_of_them)
{
	static const struct {
		const char *names[6];
		uint32_t last_stack;
		const char *rule, *share;
	} row[] = {
		{{"aten::one_hot", "aten::to", "aten::matmul"}, 2, "one-hot", "up to 30.0 % of step time makes one-hot"},
		/* Others follow on the line, one is on another, is a layer, or comes before. */
		{{"aten::one_hot", "aten::to", "aten::matmul", "aten::add"}, 2, "one-hot", "up to 30.0 %"},
		{{"aten::one_hot", "aten::to", "aten::matmul"}, 1, "one-hot", "up to 20.0 %"},
		{{"aten::one_hot", "aten::to", "aten::linear"}, 2, "one-hot", "up to 20.0 %"},
		{{"aten::one_hot", "aten::linear", "aten::mul"}, 2, NULL, ""},
		{{"aten::matmul", "aten::to", "aten::one_hot"}, 2, NULL, ""},
		/* The copies are not told twice, and others are. */
		{{"aten::one_hot", "aten::to", "aten::mul", "aten::to", "aten::to"}, 2, "layout-copies", "up to 20.0 %"},
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const char *text;

		set_up();
		add_in_line(row[i].names, row[i].last_stack);
		text = print();
		expect_rules(text, (const char *[]){row[i].rule, i == 6 ? "one-hot" : NULL, NULL});
		cr_expect(strstr(text, row[i].share), "%u: %s", i, text);
	}
	/* A device. */
	set_up();
	add_in_line(row[0].names, 2);
	proc->n_devices = 1;
	expect_rules(print(), (const char *[]){NULL});
}

/* In each step line 20 asks for one operator that has it done by `inner`, for so long. */
static void add_inside(const char *inner, int64_t dur, uint32_t link)
{
	proc->n_devices = 0;
	add_two_lines();
	for (uint32_t i = 0; i < STEPS; i++) {
		int64_t at = i * 100 * MS;

		add_stack(2, at + 1);
		add(TP_REC_OP, "aten::linalg_norm", at + 2, at + dur + 4)->link = 5;
		add(TP_REC_OP, inner, at + 3, at + dur + 3)->link = link;
		add_stack(1, at + dur + 4);
		add(TP_REC_OP, "aten::linear", at + dur + 5, (i + 1) * 100 * MS - 1)->link = 6;
	}
}

Test(overview_savings, sees_matrices_that_are_decomposed_with_a_gradient)
{
	static const struct {
		const char *inner;
		int64_t ms;
		uint32_t link, n_devices;
		bool is_told;
	} row[] = {
		{"aten::_linalg_svd", 30, 5, 0, true}, {"aten::linalg_qr", 20, 5, 0, true},
		{"aten::_linalg_eigh", 30, 5, 0, true},
		{"aten::linalg_qr", 19, 5, 0, false}, {"aten::linalg_solve", 30, 5, 0, false},
		{"aten::_linalg_svd", 30, TP_NO_SEQ, 0, false}, {"aten::_linalg_svd", 30, 5, 1, false},
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const char *text;
		char share[64];

		set_up();
		add_inside(row[i].inner, row[i].ms * MS, row[i].link);
		proc->n_devices = row[i].n_devices;
		text = print();
		expect_rules(text, (const char *[]){row[i].is_told ? "matrix-decompositions" : NULL, NULL});
		snprintf(share, sizeof(share), "up to %ld.0 %% of step time decomposes", (long)row[i].ms);
		cr_expect_eq(strstr(text, share) != NULL, row[i].is_told, "%u: %s", i, text);
		cr_expect(!row[i].is_told || strstr(text, "train.py:20"), "%u: %s", i, text);
	}
}

/* By the line of the forward pass. */
Test(overview_savings, what_is_decomposed_goes_back_through_it)
{
	const char *text;

	proc->thread[0].torch_id = 1;
	proc->n_devices = 0;
	add_two_lines();
	for (uint32_t i = 0; i < STEPS; i++) {
		struct tp_event *inner;
		int64_t at = i * 100 * MS;

		add_stack(2, at + 1);
		add(TP_REC_OP, "aten::linalg_matrix_exp", at + 2, at + 10 * MS + 2)->link = i * 2;
		add_stack(1, at + 10 * MS + 3);
		add(TP_REC_OP, "aten::linear", at + 10 * MS + 4, at + 60 * MS - 1)->link = i * 2 + 1;
		add(TP_REC_OP, TP_NAME_NODE "LinalgMatrixExpBackward0", at + 60 * MS, at + 99 * MS);
		inner = add(TP_REC_OP, "LinalgMatrixExpBackward0", at + 60 * MS + 2, at + 90 * MS + 2);
		inner->link = i * 2;
		inner->flags |= TP_F_BACKWARD;
		inner->arg = TP_ARG_OP(0, proc->thread[0].torch_id, 0);
	}
	text = print();
	expect_rules(text, (const char *[]){"matrix-decompositions", NULL});
	cr_expect(strstr(text, "up to 40.0 % of step time decomposes"), "%s", text);
	cr_expect(strstr(text, "train.py:20"), "%s", text);
}

/* ---- types ---- */

Test(overview_savings, sees_numbers_of_double_precision)
{
	static const struct {
		const char *totals;
		bool is_double;
	} row[] = {
		{"torch.types=40\ntorch.elements.float=100\ntorch.elements.double=900\n", true},
		/* A loss or a statistic, too few to say so, none. */
		{"torch.types=40\ntorch.elements.float=550\ntorch.elements.double=450\n", false},
		{"torch.types=9\ntorch.elements.float=100\ntorch.elements.double=900\n", false},
		{"torch.types=40\ntorch.elements.bfloat16=900\ntorch.elements.double=x\n", false},
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const char *text;

		set_up();
		add_small(1, 1, 8000, 4000);
		fake.run.window[0].totals = row[i].totals;
		text = print();
		expect_rules(text, (const char *[]){row[i].is_double ? "double-precision" : NULL, NULL});
		if (row[i].is_double)
			cr_expect(strstr(text, "90.0 % of the numbers that operators compute with are float64 (40 "
					       "operators were looked at): float32 takes half the time, up to 4"), "%s",
				  text);
	}
	/* A worker of the loader's: that is beside the steps. */
	set_up();
	add_small(1, 1, 8000, 4000);
	fake_window(&fake, fake_worker(&fake, proc, 1), 0, 0, STEPS * 10 * MS)->totals = row[0].totals;
	expect_rules(print(), (const char *[]){NULL});
}

/* ---- a profiler of torch's ---- */

Test(overview_savings, sees_a_profiler_that_is_always_on)
{
	static const struct {
		uint32_t windows;
		const char *totals;
		bool is_told;
	} row[] = {
		{1, "torch.profiled=1\n", true}, {1, "", false}, {2, "torch.profiled=1\n", false},
		{2, "torch.profiled=2\n", true},
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const char *text;

		set_up();
		/* In a step of 10 ms. */
		add_small(600, 2, 8000, 1000);
		for (uint32_t k = 1; k < row[i].windows; k++)
			fake_window(&fake, proc, k, STEPS * 100 * MS, STEPS * 100 * MS + k)->n_events = 1;
		for (uint32_t k = 0; k < row[i].windows; k++)
			fake.run.window[k].totals = row[i].totals;
		text = print();
		cr_expect_eq(strstr(text, "\n  torch-profiler ") != NULL, row[i].is_told, "%u: %s", i, text);
		cr_expect(!row[i].is_told || strstr(text, "for each of 601 operators of a step, up to 12.0 %"),
			  "%s", text);
	}
}

/* Half of each step is outside operators, or a fifth, or nearly that. */
Test(overview_savings, sees_what_is_called_for_all_of_python)
{
	static const struct {
		int64_t outside_ms;	/* of 100 */
		const char *totals, *wanted;
	} row[] = {
		{50, "python.tracemalloc=1\n", "tracemalloc notes each object"},
		{20, "python.debug_memory=1\n", "Python checks each block of its memory"},
		{50, "python.memory_hooks=1\n", "a tool has hooks of its own in Python's allocator"},
		{50, "python.trace=1\n", "a function of sys.settrace() is called"},
		{50, "python.profile=1\n", "a function of sys.setprofile() is called"},
		{50, "python.monitoring=1\n", "a tool of sys.monitoring is called"},
		{19, "python.tracemalloc=1\n", NULL},
		{50, "", NULL},
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const char *text;

		advice_init();
		add_one_line();
		for (uint32_t k = 0; k < STEPS; k++) {
			add_stack(1, k * 100ll * MS + 1);
			add(TP_REC_OP, "aten::mm", k * 100ll * MS + 2, (k * 100ll + 100 - row[i].outside_ms) * MS);
		}
		fake.run.window[0].totals = row[i].totals;
		text = print();
		cr_expect_eq(strstr(text, "\n  python-hooks ") != NULL, row[i].wanted != NULL, "%u: %s", i, text);
		cr_expect(!row[i].wanted || strstr(text, row[i].wanted), "%s", text);
	}
	/* In the second window it was off. */
	fake.run.window[0].totals = "python.tracemalloc=1\n";
	cr_expect(strstr(print(), "\n  python-hooks "));
	fake_window(&fake, proc, 1, STEPS * 100 * MS, STEPS * 100 * MS + 1)->n_events = 1;
	cr_expect_not(strstr(print(), "\n  python-hooks "), "%s", print());
}

/* 4 KiB for each of 601 operators of a step is 2.3 MiB. */
Test(overview_savings, what_a_profiler_keeps_is_no_growth_of_the_programs)
{
	static const struct {
		uint64_t bytes;		/* a step */
		const char *totals, *wanted[4];
	} row[] = {
		{1 << 20, "", {"small-operators", "host-memory-growth", NULL}},
		{1 << 20, "torch.profiled=1\n", {"small-operators", "torch-profiler", NULL}},
		{3 << 20, "torch.profiled=1\n",
		 {"small-operators", "torch-profiler", "host-memory-growth", NULL}},
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		set_up();
		add_small(600, 2, 8000, 1000);
		fake.run.window[0].totals = row[i].totals;
		for (uint32_t k = 0; k < 80; k++) {
			struct tp_step_row *step = fake_step_row(&fake, proc, k, k * 100 * MS, 100 * MS);

			step->heap_bytes = (100 << 20) + k * row[i].bytes;
		}
		expect_rules(print(), row[i].wanted);
	}
}

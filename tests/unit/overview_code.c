/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_code.c - tests of the rule on code of the host between operators
 */
#include "runtime/trace/torch_names.h"
#include "tests/unit/advice_gpu_rig.h"

TestSuite(overview_code, .init = advice_gpu_init);

/* In each step line 10 has an operator of 20 ms, and line 20 so many after it, each after a gap. */
static void add_gaps(uint32_t n, int64_t gap, int64_t last)
{
	proc->n_devices = 0;
	add_two_lines();
	for (uint32_t i = 0; i < STEPS; i++) {
		int64_t at = i * 100 * MS + 20 * MS;
		int64_t each = (last - 20 * MS) / n;

		add_stack(1, i * 100 * MS + 1);
		add(TP_REC_OP, "aten::mm", i * 100 * MS + 2, at);
		add_stack(2, at + 1);
		for (uint32_t k = 0; k < n; k++, at += each)
			add(TP_REC_OP, "aten::add", at + gap, at + each);
	}
}

Test(overview_code, sees_code_of_the_host_between_two_lines)
{
	const char *text;

	add_gaps(1, 30 * MS, 100 * MS);
	text = print();
	expect_rules(text, (const char *[]){"host-code", NULL});
	cr_expect(strstr(text, "up to 30.0 % of a step is code of the host"), "%s", text);
	cr_expect(strstr(text, "what runs between /home/me/train.py:10 main and /home/me/train.py:20 main"),
		  "%s", text);
	/* As long in all, in gaps of 1 ms: a loop, whose line comes before itself. */
	advice_gpu_init();
	add_gaps(30, 1 * MS, 100 * MS);
	expect_rules(print(), (const char *[]){"host-code", NULL});
}

/* Another line has more time without operators, 15 ms of a step, but that is the cost of asking for them. */
Test(overview_code, sees_code_of_the_host_beside_a_line_with_many_operators)
{
	const char *text;

	proc->n_devices = 0;
	add_two_lines();
	for (uint32_t i = 0; i < STEPS; i++) {
		int64_t at = i * 100 * MS + 2;

		add_stack(1, at - 1);
		for (uint32_t k = 0; k < 150; k++, at += 4 * MS / 10)
			add(TP_REC_OP, "aten::addmm", at + MS / 10, at + 4 * MS / 10);
		add_stack(2, at);
		add(TP_REC_OP, "aten::mm", at + 12 * MS, (i + 1) * 100 * MS);
	}
	text = print();
	expect_rules(text, (const char *[]){"host-code", NULL});
	cr_expect(strstr(text, "up to 12.0 % of a step"), "%s", text);
	cr_expect(strstr(text, "train.py:10 main and /home/me/train.py:20 main"), "%s", text);
}

/* A call between two operators of one line, which has many more that follow each other. */
Test(overview_code, sees_code_of_the_host_in_one_line)
{
	const char *text;

	proc->n_devices = 0;
	add_one_line();
	for (uint32_t i = 0; i < STEPS; i++) {
		int64_t at = i * 100 * MS;

		add_stack(1, at + 1);
		for (uint32_t k = 0; k < 10; k++, at += k == 5 ? 30 * MS : 7 * MS)
			add(TP_REC_OP, "aten::mm", at + MS / 10, at + 7 * MS - 1);
	}
	text = print();
	expect_rules(text, (const char *[]){"host-code", NULL});
	cr_expect(strstr(text, "what runs between operators of /home/me/train.py:10 main"), "%s", text);
	cr_expect(strstr(text, "up to 28.4 % of a step is"), "%s", text);
	/* In one step only. */
	for (uint32_t i = n_events; i--;)
		if (event[i].kind == TP_REC_OP && event[i].begin_ns > 130 * MS)
			event[i] = event[--n_events];
	expect_rules(print(), (const char *[]){NULL});
}

/* In each step so many operators of line 20, each after such a gap, then a large one of line 10. */
static void add_loop(uint32_t n, int64_t gap, int64_t each)
{
	proc->n_devices = 0;
	add_two_lines();
	for (uint32_t i = 0; i < STEPS; i++) {
		int64_t at = i * 100 * MS + 1;

		add_stack(2, at);
		for (uint32_t k = 0; k < n; k++, at += gap + each)
			add(TP_REC_OP, "aten::add", at + gap, at + gap + each);
		add_stack(1, at + 1);
		add(TP_REC_OP, "aten::mm", at + 2, (i + 1) * 100 * MS);
	}
}

Test(overview_code, sees_a_loop_with_a_small_operator_in_each_round)
{
	static const struct {
		uint32_t n;
		int64_t gap, each;
		bool is_told;
	} row[] = {
		{1010, 80000, 10000, true},
		{1010, 60000, 16000, false},
		{1010, 20100, 1000, true},
		{1010, 19900, 1000, false},
		/* Less than 20 % of a step. */
		{700, 28000, 1000, false},
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const char *text;

		advice_gpu_init();
		add_loop(row[i].n, row[i].gap, row[i].each);
		text = print();
		cr_expect_eq(strstr(text, "\n  host-code ") != NULL, row[i].is_told, "%u: %s", i, text);
		cr_expect(!row[i].is_told || strstr(text, "between operators of /home/me/train.py:20 main"), "%u: %s",
			  i, text);
	}
}

/* The line runs a library's training, whose own code is what takes time; or one function of a library's. */
Test(overview_code, a_trainers_own_time_is_no_loop)
{
	static const struct {
		const char *file;
		bool is_learning, is_told;
	} row[] = {
		{"/v/lib/python3.11/site-packages/lightning/loop.py", true, false},
		{"/v/lib/python3.11/site-packages/lightning/loop.py", false, true},
		{"/home/me/loop.py", true, true},
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const char *text;

		advice_gpu_init();
		add_loop(1010, 20100, 1000);
		add_call(4, 2, "advance", row[i].file);
		move_stacks(2, 4, 4);
		for (uint32_t k = 1; k < n_events && row[i].is_learning; k++)
			if (event[k - 1].kind == TP_REC_STACK && event[k - 1].link == 4)
				event[k].name = fake_text(&fake, TP_NAME_COMPILED "0/0");
		text = print();
		cr_expect_eq(strstr(text, "\n  host-code ") != NULL, row[i].is_told, "%u: %s", i, text);
	}
}

Test(overview_code, does_not_take_for_the_hosts_code_what_is_not)
{
	/* Too short. */
	add_gaps(1, 9 * MS, 100 * MS);
	expect_rules(print(), (const char *[]){NULL});
	/* Asking for many operators. */
	advice_gpu_init();
	add_gaps(200, MS / 10, 100 * MS);
	expect_rules(print(), (const char *[]){NULL});
	/* So, and one long gap in one step on the same line. */
	advice_gpu_init();
	add_gaps(200, MS / 10, 100 * MS);
	for (uint32_t i = n_events; i--;)
		if (event[i].kind == TP_REC_OP && event[i].begin_ns > 40 * MS && event[i].end_ns < 70 * MS)
			event[i] = event[--n_events];
	expect_rules(print(), (const char *[]){NULL});
	/* A third of a step of 0.4 ms: so long it takes to ask for an operator now and then. */
	advice_gpu_init();
	add_gaps(1, 30 * MS, 100 * MS);
	for (uint32_t i = 0; i < n_events; i++) {
		event[i].begin_ns = event[i].begin_ns / 250 + (event[i].kind == TP_REC_OP);
		event[i].end_ns /= 250;
	}
	expect_rules(print(), (const char *[]){NULL});
	/* The loader. */
	advice_gpu_init();
	add_gaps(1, 30 * MS, 100 * MS);
	for (uint32_t i = 0; i < STEPS; i++)
		add(TP_REC_RANGE, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
		    (i * 100 + 20) * MS, (i * 100 + 50) * MS);
	expect_rules(print(), (const char *[]){"data-loading", NULL});
	/* A device is there: the host may wait for it. */
	advice_gpu_init();
	add_gaps(1, 30 * MS, 100 * MS);
	proc->n_devices = 1;
	expect_rules(print(), (const char *[]){NULL});
}

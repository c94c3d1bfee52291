/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pystack.c - what the walk of Python's stack records, and what it takes for the same as before
 */
#include "tests/unit/pystack_rig.h"

TestSuite(pystack, .init = set_up, .fini = tear_down);

Test(pystack, names_files_lines_and_who_was_called_by_c_in_each_version)
{
	static const uint16_t versions[] = { 9, 10, 11, 12, 13, 14 };

	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		char *program, *work, *leaf;

		if (versions[i] == 13)	/* says it itself, like 14 */
			continue;
		use_version(versions[i]);
		program = mark_entry(make_frame(make_code("<module>", "a.py", 1), 3, called_by_c(NULL)));
		work = make_frame(make_code("C.work", "b.py", 10), 0, program);
		leaf = mark_entry(make_frame(make_code("leaf", "c.py", 100), 5, called_by_c(work)));
		set_newest(leaf);
		cr_expect_str_eq(describe(take_stack()),
				 versions[i] < 11 ? "leaf c.py 106 C; C.work b.py 11 C; <module> a.py 5 C; " :
						    "leaf c.py 106 C; C.work b.py 11; <module> a.py 5 C; ",
				 "3.%u", versions[i]);
	}
}

Test(pystack, what_did_not_change_is_not_recorded_again)
{
	char *outer = make_frame(make_code("outer", "a.py", 1), 0, called_by_c(NULL));
	char *inner = make_frame(make_code("inner", "a.py", 50), 0, outer);
	uint32_t stack, other;

	set_newest(inner);
	stack = take_stack();
	collect();
	cr_expect_eq(got.n, 2);
	for (int i = 0; i < 3; i++)
		cr_expect_eq(take_stack(), stack);
	collect();
	cr_expect_eq(got.n, 0);

	go_to(inner, 1);
	other = take_stack();
	cr_expect_neq(other, stack);
	collect();
	cr_expect_eq(got.n, 1);
	/* Back where it was: the tree knows. */
	go_to(inner, 0);
	cr_expect_eq(take_stack(), stack);
	/* The outer one has gone on: both are other stacks. */
	go_to(outer, 7);
	cr_expect_neq(take_stack(), stack);
	collect();
	cr_expect_eq(got.n, 2);
	/* The inner one has returned, and been called again. */
	set_newest(outer);
	take_stack();
	set_newest(inner);
	take_stack();
	collect();
	cr_expect_eq(got.n, 0);
}

Test(pystack, called_again_a_frame_is_in_the_stack_of_its_caller)
{
	char *outer = make_frame(make_code("outer", "a.py", 1), 0, called_by_c(NULL));
	char *inner = make_frame(make_code("inner", "b.py", 1), 0, outer);
	char *leaf = make_frame(make_code("leaf", "c.py", 1), 0, inner);
	uint32_t stack;

	set_newest(leaf);
	stack = take_stack();
	/* Both have returned, and the outer one has gone on before it called them again. */
	go_to(outer, 1);
	set_newest(outer);
	cr_expect_str_eq(describe(take_stack()), "outer a.py 3 C; ");
	set_newest(leaf);
	cr_expect_str_eq(describe(take_stack()), "leaf c.py 2; inner b.py 2; outer a.py 3 C; ");
	/* From the same place as at first, without and with one look in between. */
	go_to(outer, 0);
	cr_expect_eq(take_stack(), stack);
	set_newest(outer);
	take_stack();
	go_to(leaf, 2);
	set_newest(leaf);
	cr_expect_str_eq(describe(take_stack()), "leaf c.py 4; inner b.py 2; outer a.py 2 C; ");
	collect();
	set_newest(inner);
	take_stack();
	set_newest(leaf);
	take_stack();
	collect();
	cr_expect_eq(got.n, 0);
	/* By C. */
	set_newest(outer);
	take_stack();
	put_ptr(inner, layout->previous, called_by_c(outer));
	set_newest(leaf);
	cr_expect_str_eq(describe(take_stack()), "leaf c.py 4; inner b.py 2 C; outer a.py 2 C; ");
}

Test(pystack, called_again_a_function_may_have_moved_in_its_file)
{
	char *outer = make_frame(make_code("outer", "a.py", 1), 0, called_by_c(NULL));
	char *code = make_code("inner", "b.py", 1), *inner = make_frame(code, 0, outer);
	const int32_t first = 50;

	set_newest(inner);
	cr_expect_str_eq(describe(take_stack()), "inner b.py 2; outer a.py 2 C; ");
	set_newest(outer);
	take_stack();
	/* Another one with the same name, file and table. */
	tp_pystack_code_died(code);
	memcpy(code + layout->first_line, &first, sizeof(first));
	set_newest(inner);
	cr_expect_str_eq(describe(take_stack()), "inner b.py 51; outer a.py 2 C; ");
}

/* The number of the module whose call a stack's innermost frame is. */
static uint32_t find_module(uint32_t stack)
{
	collect();
	for (uint32_t i = 0; i < got.n; i++) {
		const struct tp_rec *rec = &got.rec[i];

		if (rec->kind == TP_REC_FRAME && rec->link == stack &&
		    (rec->flags & TP_FRAME_MODULE) == TP_FRAME_MODULE)
			return TP_MODULE_NUMBER(rec->arg);
	}
	return 0;
}

Test(pystack, calls_of_two_modules_from_one_line_are_two_stacks)
{
	char *code = make_code("Module._wrapped_call_impl", "m.py", 1);
	char *outer = make_frame(make_code("outer", "a.py", 1), 0, called_by_c(NULL));
	char *call = make_frame(code, 0, outer), *one = make(64), *two = make(64);
	uint32_t stack, other;

	tp_pystack_hold(true, true);
	tp_nnmodule_code = code;
	put_ptr(call, layout->locals, one);
	set_newest(call);
	stack = take_stack();
	cr_expect_eq(find_module(stack), tp_nnmodule_number(one));
	put_ptr(call, layout->locals, two);
	other = take_stack();
	cr_expect_eq(find_module(other), tp_nnmodule_number(two));
	cr_expect_eq(got.n, 1, "the frame is the same");
	put_ptr(call, layout->locals, one);
	cr_expect_eq(take_stack(), stack);
	collect();
	cr_expect_eq(got.n, 0);
	/* From another line, both of them. */
	go_to(outer, 1);
	cr_expect_neq(take_stack(), stack);
	put_ptr(call, layout->locals, two);
	cr_expect_neq(take_stack(), other);
	collect();
	cr_expect_eq(got.n, 4);
}

Test(pystack, frames_and_code_at_addresses_of_others_are_themselves)
{
	char *one = make_code("one", "a.py", 1), *two = make_code("two", "b.py", 1);
	char *outer = make_frame(one, 0, called_by_c(NULL)), *inner = make_frame(two, 0, outer);
	char *aside = make_frame(make_code("aside", "c.py", 1), 0, outer);

	set_newest(inner);
	cr_expect_str_eq(describe(take_stack()), "two b.py 2; one a.py 2 C; ");
	/* Another frame there. */
	fill_frame(inner, one, 2, outer);
	cr_expect_str_eq(describe(take_stack()), "one a.py 4; one a.py 2 C; ");
	/* Other code at the address of the old. */
	fill_frame(inner, two, 0, outer);
	take_stack();
	tp_pystack_code_died(two);
	put_ptr(two, layout->qualified_name, make_string("new"));
	cr_expect_str_eq(describe(take_stack()), "new b.py 2; one a.py 2 C; ");
	tp_pystack_code_died(two);
	put_ptr(two, layout->file, make_string("new.py"));
	cr_expect_str_eq(describe(take_stack()), "new new.py 2; one a.py 2 C; ");
	/* Another one between two that are known; and gone again. */
	put_ptr(inner, layout->previous, aside);
	cr_expect_str_eq(describe(take_stack()), "new new.py 2; aside c.py 2; one a.py 2 C; ");
	put_ptr(inner, layout->previous, outer);
	cr_expect_str_eq(describe(take_stack()), "new new.py 2; one a.py 2 C; ");
	/* A generator: what was outermost is called by another one. */
	put_ptr(outer, layout->previous, called_by_c(make_frame(make_code("main", "m.py", 7), 0,
								called_by_c(NULL))));
	cr_expect_str_eq(describe(take_stack()), "new new.py 2; one a.py 2 C; main m.py 8 C; ");
}

/* 3 * 2400 = 5 * 1440: what blocks of a pool may be apart. */
Test(pystack, code_whose_parts_moved_by_multiples_of_a_block_is_another)
{
	char *code = make_code("f", "", 1), *frame = make_frame(code, 0, called_by_c(NULL));
	char *pool = make(4096), *more_lines = make(2048);
	const char *file = make_string("one.py"), *other_file = make_string("two.py");
	const char *lines = tp_pyframe_ptr(code, layout->lines);

	memcpy(pool, file, 64);
	memcpy(pool + 2400, other_file, 64);
	memcpy(more_lines, lines, 32 + 2 * LINES);
	memcpy(more_lines + 1440, lines, 32 + 2 * LINES);
	set_newest(frame);
	put_ptr(code, layout->file, pool);
	put_ptr(code, layout->lines, more_lines + 1440);
	cr_expect_str_eq(describe(take_stack()), "f one.py 2 C; ");
	tp_pystack_code_died(code);
	put_ptr(code, layout->file, pool + 2400);
	put_ptr(code, layout->lines, more_lines);
	cr_expect_str_eq(describe(take_stack()), "f two.py 2 C; ");
}

Test(pystack, strings_made_one_after_another_at_one_address_differ)
{
	char *code = make_code("f", "<made 1>", 1), *frame = make_frame(code, 0, called_by_c(NULL));
	char *file = (char *)tp_pyframe_ptr(code, layout->file);

	set_newest(frame);
	cr_expect_str_eq(describe(take_stack()), "f <made 1> 2 C; ");
	/* While it was not on the stack. */
	set_newest(make_frame(make_code("g", "g.py", 1), 0, called_by_c(NULL)));
	take_stack();
	tp_pystack_code_died(code);
	file[layout->ascii_bytes + strlen("<made ")] = '2';
	set_newest(frame);
	cr_expect_str_eq(describe(take_stack()), "f <made 2> 2 C; ");
}

Test(pystack, what_a_string_says_is_known_by_the_hash_that_python_made_of_it)
{
	char *code = make_code("f", "<made 1 by a program>", 1);
	char *frame = make_frame(code, 0, called_by_c(NULL));
	char *file = (char *)tp_pyframe_ptr(code, layout->file);

	memset(file + 24, 0x11, 8);
	set_newest(frame);
	cr_expect_str_eq(describe(take_stack()), "f <made 1 by a program> 2 C; ");
	set_newest(make_frame(make_code("g", "g.py", 1), 0, called_by_c(NULL)));
	take_stack();
	/* Of the same length, and it ends alike. */
	tp_pystack_code_died(code);
	file[layout->ascii_bytes + strlen("<made ")] = '2';
	memset(file + 24, 0x22, 8);
	set_newest(frame);
	cr_expect_str_eq(describe(take_stack()), "f <made 2 by a program> 2 C; ");
}

Test(pystack, each_line_of_a_long_function_is_itself)
{
	char *frame = make_frame(make_code("f", "a.py", 1), 0, called_by_c(NULL));

	set_newest(frame);
	for (int i = 0; i < 2 * LINES; i++) {
		char wanted[32];

		go_to(frame, i % LINES);
		snprintf(wanted, sizeof(wanted), "f a.py %d C; ", i % LINES + 2);
		cr_expect_str_eq(describe(take_stack()), wanted);
	}
}

Test(pystack, a_helper_of_the_interpreter_is_no_frame)
{
	char *helper = make_code("__init__", "x", 0);
	char *outer = make_frame(make_code("outer", "a.py", 1), 0, called_by_c(NULL));
	char *frame = make_frame(helper, 0, outer);

	set_newest(make_frame(make_code("C.__init__", "a.py", 20), 0, frame));
	put_ptr(helper, layout->file, tp_pyframe_ptr(helper, layout->name));
	cr_expect_str_eq(describe(take_stack()), "C.__init__ a.py 21; outer a.py 2 C; ");
	put_ptr(helper, layout->name, NULL);
	put_ptr(helper, layout->file, NULL);
	go_to(outer, 1);
	cr_expect_str_eq(describe(take_stack()), "C.__init__ a.py 21; outer a.py 3 C; ");
}

Test(pystack, another_window_gets_its_own_records)
{
	set_newest(make_frame(make_code("f", "a.py", 1), 0, called_by_c(NULL)));
	take_stack();
	collect();
	cr_expect_eq(got.n, 1);
	tp_ring.head->windows_begun = 2;
	tp_ring.head->window_turn += 2;
	cr_expect_str_eq(describe(take_stack()), "f a.py 2 C; ");
	cr_expect_eq(got.n, 1);
}

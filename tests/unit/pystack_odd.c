/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pystack_odd.c - the walk of Python's stack where there is none, or an impossible, deep or dying one
 */
#include <pthread.h>
#include <sys/wait.h>

#include "tests/unit/pystack_rig.h"

TestSuite(pystack_odd, .init = set_up, .fini = tear_down);

Test(pystack_odd, where_no_python_runs_there_is_no_stack)
{
	char *frame = make_frame(make_code("f", "a.py", 1), 0, called_by_c(NULL));

	set_newest(NULL);
	cr_expect_eq(take_stack(), 0);
	set_newest(frame);
	cr_expect_neq(take_stack(), 0);
	is_there = 0;
	cr_expect_eq(take_stack(), 0);
	is_there = 1;
	has_no_state = true;
	cr_expect_eq(take_stack(), 0);
}

/* What a handler of a signal may meet, or memory that was given back. */
Test(pystack_odd, impossible_frames_end_the_walk_and_are_counted)
{
	char *gone = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *outer = make_frame(make_code("outer", "a.py", 1), 0, called_by_c(NULL));
	char *code = make_code("inner", "a.py", 50), *inner = make_frame(code, 0, outer);
	const char *const bad[] = { (char *)8, inner + 1, gone, (char *)(1ull << 63), (char *)~7ull };
	uint64_t n_broken = 0;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		put_ptr(inner, layout->previous, bad[i]);
		set_newest(inner);
		cr_expect_str_eq(describe(take_stack()), "inner a.py 51 cut; ", "frame %zu", i);
		cr_expect_eq(get_total("broken"), ++n_broken);
		/* It stays what it is, and is known by now. */
		cr_expect_str_eq(describe(take_stack()), "inner a.py 51 cut; ");
		cr_expect_eq(get_total("broken"), n_broken);
	}
	put_ptr(inner, layout->previous, outer);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		put_ptr(inner, layout->code, bad[i]);
		cr_expect_str_eq(describe(take_stack()), "outer a.py 2 C; ", "code %zu", i);
		cr_expect_str_eq(describe(take_stack()), "outer a.py 2 C; ", "code %zu, again", i);
		n_broken += 2;
		cr_expect_eq(get_total("broken"), n_broken);
	}
	put_ptr(inner, layout->code, area);	/* an object of another type */
	cr_expect_str_eq(describe(take_stack()), "outer a.py 2 C; ");
	fill_frame(inner, code, 0, outer);
	cr_expect_str_eq(describe(take_stack()), "inner a.py 51; outer a.py 2 C; ");
}

Test(pystack_odd, a_circle_of_frames_ends)
{
	char *outer = make_frame(make_code("outer", "a.py", 1), 0, NULL);
	char *inner = make_frame(make_code("inner", "a.py", 50), 0, outer);

	set_newest(inner);
	take_stack();
	put_ptr(outer, layout->previous, inner);
	cr_expect_neq(take_stack(), 0);
	cr_expect_eq(get_total("cut"), 1);
	put_ptr(outer, layout->previous, called_by_c(NULL));
	cr_expect_str_eq(describe(take_stack()), "inner a.py 51; outer a.py 2 C; ");
}

Test(pystack_odd, what_was_unmapped_is_not_read_again)
{
	char *chunk = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *outer = make_frame(make_code("outer", "a.py", 1), 0, called_by_c(NULL));
	char *inner = fill_frame(chunk, make_code("inner", "a.py", 50), 0, outer);

	set_newest(inner);
	take_stack();
	take_stack();
	/* 3.11 does so when a function returns: its frame is still the newest. */
	munmap(chunk, PAGE);
	tp_pystack_unmapped();
	cr_expect_eq(take_stack(), 0);
	cr_expect_eq(get_total("broken"), 1);
	set_newest(outer);
	cr_expect_str_eq(describe(take_stack()), "outer a.py 2 C; ");
}

Test(pystack_odd, deep_stacks_are_cut_outside)
{
	char *code = make_code("f", "a.py", 1);
	char *frames = mmap(NULL, 144 * 2100, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const char *outer = NULL;
	uint32_t stack = 0, n = 0;

	for (int i = 0; i < 2100; i++) {
		outer = fill_frame(frames + 144 * i, code, 0, outer);
		set_newest(outer);
		if (i % 1000 == 999)
			take_stack();
	}
	collect();
	stack = take_stack();
	cr_expect_eq(get_total("cut"), 1);
	collect();
	for (uint32_t i = 0; i < got.n; i++)
		n += got.rec[i].kind == TP_REC_FRAME && got.rec[i].flags & TP_FRAME_CUT;
	cr_expect_eq(n, 1, "%u cut", n);
	cr_expect_eq(take_stack(), stack);
}

static void *take_one(void *unused)
{
	cr_expect_neq(take_stack(), 0);
	return NULL;
}

Test(pystack_odd, threads_that_ended_leave_their_memory_to_others)
{
	set_newest(make_frame(make_code("f", "a.py", 1), 0, called_by_c(NULL)));
	for (int i = 0; i < 600; i++) {
		pthread_t thread;

		cr_assert_eq(pthread_create(&thread, NULL, take_one, NULL), 0);
		pthread_join(thread, NULL);
		/* Its frames are its own: numbers of another thread are not used. */
		collect();
		cr_expect_eq(got.n, 1, "%u records of thread %d", got.n, i);
		tp_ring_reap(true);
	}
	cr_expect_eq(get_total("refused"), 0);
}

Test(pystack_odd, a_python_that_says_impossible_things_of_itself_is_refused)
{
	struct tp_pyframe_layout out;

	use_version(14);
	cr_expect_null(tp_pyframe_said(said, 14, &out));
	cr_expect_not_null(tp_pyframe_said(NULL, 14, &out));
	cr_expect_not_null(tp_pyframe_said(said, 13, &out), "another version");
	said[1] = 0x030d00f0;
	cr_expect_not_null(tp_pyframe_said(said, 14, &out), "of another one");
	said[1] = 0x030e00f0;
	said[2] = 1;
	cr_expect_not_null(tp_pyframe_said(said, 14, &out), "no lock");
	said[2] = 0;
	said[33] = 4096;
	cr_expect_not_null(tp_pyframe_said(said, 14, &out), "an offset behind all");
	said[33] = 0;
	said[80] = 48;
	cr_expect_not_null(tp_pyframe_said(said, 14, &out), "strings of another kind");
	said[80] = 40;
	memcpy(said, "xdebugpz", 8);
	cr_expect_not_null(tp_pyframe_said(said, 14, &out));
}

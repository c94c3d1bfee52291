/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of code that is not straightforward: frames of no fixed size, aligned ones, with and
 * without frame pointer, left by longjmp, ended by a jump; very deep ones.
 */
#include <alloca.h>
#include <setjmp.h>

#include "tests/unit/stack_rig.h"

static FRAME uint32_t leaf(void)
{
	uint32_t number = rig_take_both();

	STAY_ON_STACK();
	return number;
}

/* A frame with a size of its own each time, which only rbp tells. */
static FRAME uint32_t with_alloca(size_t bytes, int depth)
{
	volatile char *room = alloca(bytes);
	uint32_t number;

	room[0] = 1;
	number = depth ? with_alloca(bytes / 2 + 16, depth - 1) : leaf();
	room[bytes - 1] = 2;
	return number;
}

/* The compiler aligns the stack pointer, and says by an expression where the old one is. */
static FRAME uint32_t with_aligned(int depth)
{
	volatile char __attribute__((aligned(64))) room[192];
	uint32_t number;

	room[depth] = 1;
	number = depth ? with_aligned(depth - 1) : leaf();
	return number + room[depth] - 1;
}

static FRAME uint32_t with_aligned_alloca(size_t bytes)
{
	volatile char __attribute__((aligned(64))) room[192];
	volatile char *more = alloca(bytes);
	uint32_t number;

	room[0] = more[bytes - 1] = 1;
	number = leaf();
	return number + room[0] - more[bytes - 1];
}

static WITH_FRAME_POINTER uint32_t with_frame_pointer(int depth)
{
	uint32_t number = depth ? with_frame_pointer(depth - 1) : leaf();

	STAY_ON_STACK();
	return number;
}

static FRAME uint32_t with_big_frame(void)
{
	volatile char room[900000];
	uint32_t number;

	room[0] = room[sizeof(room) - 1] = 1;
	number = leaf();
	room[1] = 2;
	return number;
}

/* Its last call is a jump: it is not on the stack. */
static FRAME uint32_t by_jump(void)
{
	return leaf();
}

static jmp_buf back;

static FRAME void jump_from(int depth)
{
	if (depth)
		jump_from(depth - 1);
	rig_expect_truth(leaf(), "before longjmp");
	if (rig_n_truth)
		longjmp(back, 1);
}

Test(stack_code, frames_of_every_kind, .init = rig_open, .fini = rig_close)
{
	for (volatile int i = 0; i < 3; i++) {
		for (size_t bytes = 16; bytes < 3000; bytes += 333)
			rig_expect_truth(with_alloca(bytes, (int)(bytes % 5)), "alloca");
		for (int depth = 0; depth < 5; depth++)
			rig_expect_truth(with_aligned(depth), "aligned");
		for (size_t bytes = 16; bytes < 800; bytes += 111)
			rig_expect_truth(with_aligned_alloca(bytes), "aligned and alloca");
		for (int depth = 0; depth < 5; depth++)
			rig_expect_truth(with_frame_pointer(depth), "frame pointer");
		rig_expect_truth(with_big_frame(), "big");
		rig_expect_truth(by_jump(), "jump");
		if (!setjmp(back))
			jump_from(i);
		rig_expect_truth(leaf(), "after longjmp");
	}
	cr_expect_eq(rig_total("mismatched"), 0);
	cr_expect_eq(rig_total("cut"), 0);
	cr_expect_eq(rig_total("slow"), 0, "the walk must know them itself");
}

/*
 * A function is entered from the same place twice, the second time with another one in between
 * and with a smaller frame: its stack pointer and all return addresses that the last walk saw
 * are as they were. Only rbp, or a word that the last walk read, tells that the stack is another
 * one.
 */
static WITH_FRAME_POINTER uint32_t through_rbp(void)
{
	uint32_t number = leaf();

	STAY_ON_STACK();
	return number;
}

static FRAME uint32_t sized(size_t bytes)
{
	volatile char *room = alloca(bytes);
	uint32_t number = bytes & 8 ? through_rbp() : leaf();

	room[0] = 1;
	return number + room[0] - 1;
}

static FRAME uint32_t sized_in_between(size_t bytes)
{
	volatile char room[512];
	uint32_t number = sized(bytes);

	room[0] = 1;
	return number + room[0] - 1;
}

static FRAME uint32_t from_one_place(uint32_t (*then)(size_t), size_t bytes)
{
	uint32_t number = then(bytes);

	STAY_ON_STACK();
	return number;
}

Test(stack_code, another_function_in_between, .init = rig_open, .fini = rig_close)
{
	static uint32_t (*const way[])(size_t) = { sized, sized_in_between };

	for (volatile size_t less = 400; less < 700; less += 8) {
		size_t bytes[] = { 4096 + (less & 8), 4096 + (less & 8) - (less & ~15ul) };

		for (volatile int i = 0; i < 2; i++)
			rig_expect_truth(from_one_place(way[i], bytes[i]), "in between");
	}
	cr_expect_eq(rig_total("mismatched"), 0);
}

#define ALIGNED_IN_BETWEEN(bytes)                                                          \
	static FRAME uint32_t aligned_##bytes(size_t more)                                 \
	{                                                                                  \
		volatile char room[bytes];                                                 \
		uint32_t number = with_aligned_alloca(more);                               \
                                                                                           \
		room[0] = 1;                                                               \
		return number + room[0] - 1;                                               \
	}
ALIGNED_IN_BETWEEN(8) ALIGNED_IN_BETWEEN(24) ALIGNED_IN_BETWEEN(40)

/* Where the stack is aligned, even rbp is the same. */
Test(stack_code, another_one_that_alignment_hides, .init = rig_open, .fini = rig_close)
{
	static uint32_t (*const way[])(size_t) = {
		with_aligned_alloca, aligned_8, with_aligned_alloca, aligned_24, with_aligned_alloca,
		aligned_40,
	};

	for (volatile int shift = 0; shift < 4; shift++) {
		volatile char *room = alloca(16);	/* another alignment */

		room[0] = 1;
		for (volatile int i = 0; i < 6; i++)
			rig_expect_truth(from_one_place(way[i], 64), "aligned");
	}
	cr_expect_eq(rig_total("mismatched"), 0);
}

static FRAME uint32_t recurse(int depth, uint32_t (*then)(void))
{
	uint32_t number = depth ? recurse(depth - 1, then) : then();

	STAY_ON_STACK();
	return number;
}

Test(stack_code, deep_stacks_are_whole, .init = rig_open, .fini = rig_close)
{
	rig_expect_truth(recurse(300, leaf), "300");
	rig_expect_truth(recurse(7000, leaf), "7000");
	rig_expect_truth(recurse(290, leaf), "290");
	rig_expect_truth(recurse(7001, leaf), "7001");
	cr_expect_eq(rig_total("cut"), 0);
}

Test(stack_code, the_deepest_have_their_inner_frames, .init = rig_open, .fini = rig_close)
{
	static const int depth[] = { 32000, 32001, 9000, 8185, 100, 32000 };

	for (int i = 0; i < 6; i++) {
		uint32_t number = recurse(depth[i], rig_take);

		rig_read(number, &rig_stack);
		if (depth[i] < 8000) {
			cr_expect_gt(rig_stack.n, 100);
			cr_expect_not(rig_stack.flags[rig_stack.n - 1] & TP_FRAME_CUT);
			continue;
		}
		cr_expect_eq(rig_stack.n, TP_STACK_CUT, "%d: %u", depth[i], rig_stack.n);
		cr_expect(rig_stack.flags[TP_STACK_CUT - 1] & TP_FRAME_CUT);
		cr_expect_not(rig_stack.flags[TP_STACK_CUT - 2] & TP_FRAME_CUT);
		cr_expect_eq(rig_stack.pc[1], rig_stack.pc[TP_STACK_CUT - 1]);
	}
	cr_expect_eq(rig_total("cut"), 5);
	rig_expect_truth(recurse(30, leaf), "after it");
}

/* Equal stacks of a thread have equal numbers, others do not. */
Test(stack_code, equal_stacks_have_equal_numbers, .init = rig_open, .fini = rig_close)
{
	volatile int rounds = 2, depths = 5;	/* or the calls are made from several places */
	uint32_t number[2][5];

	for (int i = 0; i < rounds; i++) {
		for (int depth = 0; depth < depths; depth++)
			number[i][depth] = recurse(depth, rig_take);
	}
	for (int depth = 0; depth < 5; depth++) {
		cr_expect_eq(number[0][depth], number[1][depth]);
		cr_expect(number[0][depth] != 0);
		cr_expect(!depth || number[0][depth] != number[0][depth - 1]);
	}
}

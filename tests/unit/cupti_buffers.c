/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_buffers.c - buffers wander from free to held to full and back, and none is lost
 */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/probe/gpu/cupti_buffers.h"

enum { API_12_8 = 26, API_12_9 = 27, API_13_0 = 130000, MANY = 64 };

struct got {
	uint8_t *memory;
	size_t size;
};

static struct got request(void)
{
	size_t most = 7;
	struct got got = {NULL, 7};

	tp_cupti_buffer_requested(&got.memory, &got.size, &most);
	cr_expect_eq(most, 0, "as many records as fit");
	return got;
}

static void complete(struct got got, size_t valid)
{
	tp_cupti_buffer_completed(NULL, 0, got.memory, got.size, valid);
}

/* All that there are, in `got`; how many. */
static uint32_t request_all(struct got *got)
{
	uint32_t n = 0;

	for (struct got next; (next = request()).memory && n < MANY; n++)
		got[n] = next;
	return n;
}

Test(cupti_buffers, memory_stays_within_the_cap)
{
	struct got got[MANY];
	size_t sum = 0;
	uint32_t n;

	cr_assert_eq(tp_cupti_buffers_open(32 << 20, API_13_0), 0);
	n = request_all(got);
	cr_expect_eq(n, 16);
	for (uint32_t i = 0; i < n; i++) {
		cr_expect_eq((uintptr_t)got[i].memory % 8, 0);
		sum += got[i].size;
		for (uint32_t j = 0; j < i; j++)
			cr_expect(got[i].memory >= got[j].memory + got[j].size ||
				  got[j].memory >= got[i].memory + got[i].size);
	}
	cr_expect_eq(sum, 32 << 20);
	cr_expect_eq(tp_cupti_buffers_held(), n);
	cr_expect_eq(tp_cupti_buffers_refused(), 1);
}

Test(cupti_buffers, the_least_memory_makes_several_buffers)
{
	struct got got[MANY];

	cr_assert_eq(tp_cupti_buffers_open(1 << 20, API_13_0), 0);
	cr_expect_eq(request_all(got), 4);
}

Test(cupti_buffers, great_memory_makes_buffers_of_4m)
{
	cr_assert_eq(tp_cupti_buffers_open(1ull << 32, API_13_0), 0);
	cr_expect_eq(request().size, 4 << 20);
}

Test(cupti_buffers, the_oldest_full_one_comes_first)
{
	struct got got[4];
	size_t n;

	cr_assert_eq(tp_cupti_buffers_open(1 << 20, API_13_0), 0);
	cr_expect_null(tp_cupti_buffer_take(&n));
	cr_assert_eq(request_all(got), 4);
	complete(got[2], 8);
	complete(got[0], 16);
	complete(got[3], 24);
	cr_expect_eq(tp_cupti_buffers_full(), 3);
	cr_expect_eq(tp_cupti_buffer_take(&n), got[2].memory);
	cr_expect_eq(n, 8);
	complete(got[1], 32);
	cr_expect_eq(tp_cupti_buffer_take(&n), got[0].memory);
	cr_expect_eq(tp_cupti_buffer_take(&n), got[3].memory);
	cr_expect_eq(tp_cupti_buffer_take(&n), got[1].memory);
	cr_expect_eq(n, 32);
	cr_expect_null(tp_cupti_buffer_take(&n));
	cr_expect_eq(tp_cupti_buffers_full(), 0);
	cr_expect_eq(tp_cupti_buffers_held(), 0);
}

Test(cupti_buffers, what_was_written_is_zeroed_before_it_is_used_again)
{
	struct got got[4], again[4];
	size_t n;

	cr_assert_eq(tp_cupti_buffers_open(1 << 20, API_13_0), 0);
	cr_assert_eq(request_all(got), 4);
	memset(got[1].memory, 0xff, got[1].size);
	complete(got[1], got[1].size + 100);	/* more than there is: cut */
	cr_expect_eq(tp_cupti_buffer_take(&n), got[1].memory);
	cr_expect_eq(n, got[1].size);
	tp_cupti_buffer_give(got[1].memory);
	cr_assert_eq(request_all(again), 1);
	cr_expect_eq(again[0].memory, got[1].memory);
	for (size_t i = 0; i < again[0].size; i++)
		cr_assert_eq(again[0].memory[i], 0);
}

Test(cupti_buffers, an_empty_one_is_free_at_once)
{
	size_t n;

	cr_assert_eq(tp_cupti_buffers_open(1 << 20, API_13_0), 0);
	for (int i = 0; i < 100; i++)
		complete(request(), 0);
	cr_expect_null(tp_cupti_buffer_take(&n));
	cr_expect_eq(tp_cupti_buffers_refused(), 0);
}

Test(cupti_buffers, what_is_not_ours_is_left_alone)
{
	static uint8_t others[64];
	struct got got;
	size_t n;

	complete((struct got){others, sizeof(others)}, 64);	/* before there is any */
	cr_assert_eq(tp_cupti_buffers_open(1 << 20, API_13_0), 0);
	got = request();
	memset(others, 1, sizeof(others));
	complete((struct got){others, sizeof(others)}, 64);
	complete((struct got){got.memory + 8, 8}, 8);
	complete((struct got){got.memory + (1 << 20), 8}, 8);
	cr_expect_null(tp_cupti_buffer_take(&n));
	cr_expect_eq(others[0], 1);
	complete(got, 8);
	complete(got, 8);	/* twice */
	cr_expect_eq(tp_cupti_buffers_full(), 1);
	cr_expect_eq(tp_cupti_buffers_held(), 0);
}

Test(cupti_buffers, old_versions_get_trash_and_are_not_refused)
{
	struct got got[MANY];
	uint32_t n = 0;
	size_t taken, sum = 0;

	cr_assert_eq(tp_cupti_buffers_open(8 << 20, API_12_8), 0);
	do {
		cr_assert_lt(n, MANY);
		got[n] = request();
		sum += got[n++].size;
	} while (got[n - 1].size == got[0].size);	/* the last one is trash */
	cr_expect_leq(sum, 8 << 20);
	memset(got[n - 1].memory, 1, 4096);
	for (int i = 0; i < 100; i++) {
		complete(got[n - 1], 4096);
		got[n - 1] = request();
		cr_assert(got[n - 1].memory);
		cr_assert_eq(got[n - 1].memory[0], 0);
	}
	for (int i = 0; i < 1000; i++)
		cr_assert(request().memory, "CUPTI keeps very many");
	cr_expect_eq(tp_cupti_buffers_refused(), 0);
	cr_expect_eq(tp_cupti_buffers_trashed_bytes(), 100 * 4096);
	cr_expect_null(tp_cupti_buffer_take(&taken));
	/* A real one that is free again goes first. */
	complete(got[0], 8);
	tp_cupti_buffer_give(tp_cupti_buffer_take(&taken));
	cr_expect_eq(request().memory, got[0].memory);
}

Test(cupti_buffers, from_12_9_on_there_is_no_trash)
{
	struct got got[MANY];
	uint32_t n;

	cr_assert_eq(tp_cupti_buffers_open(8 << 20, API_12_9), 0);
	n = request_all(got);
	cr_expect_eq(n, 16);
	cr_expect_eq(got[n - 1].size, got[0].size);
}

Test(cupti_buffers, says_which_are_held_since_a_moment)
{
	struct got got[4];
	uint64_t moment;

	cr_assert_eq(tp_cupti_buffers_open(1 << 20, API_13_0), 0);
	got[0] = request();
	got[1] = request();
	moment = tp_clock_now();
	while (tp_clock_now() == moment)
		;
	got[2] = request();
	cr_expect_eq(tp_cupti_buffers_held_since(moment), 2);
	complete(got[0], 8);
	cr_expect_eq(tp_cupti_buffers_held_since(moment), 1);
	complete(got[2], 8);
	complete(got[1], 0);
	cr_expect_eq(tp_cupti_buffers_held_since(moment), 0);
}

Test(cupti_buffers, warming_changes_nothing)
{
	struct got got;

	tp_cupti_buffers_warm();
	cr_assert_eq(tp_cupti_buffers_open(1 << 20, API_13_0), 0);
	got = request();
	memset(got.memory, 7, got.size);
	tp_cupti_buffers_warm();
	for (size_t i = 0; i < got.size; i++)
		cr_assert_eq(got.memory[i], 7);
}

Test(cupti_buffers, a_child_begins_with_nothing)
{
	struct got got[4];
	size_t n;

	cr_assert_eq(tp_cupti_buffers_open(1 << 20, API_13_0), 0);
	cr_assert_eq(request_all(got), 4);
	complete(got[0], 8);
	tp_cupti_buffers_forked();
	cr_expect_null(request().memory);
	complete(got[1], 8);
	cr_expect_null(tp_cupti_buffer_take(&n));
	cr_expect_eq(tp_cupti_buffers_held(), 0);
}

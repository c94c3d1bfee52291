/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.c - memory by bumping a counter, up to its cap, from any thread
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>

#include "runtime/base/arena.h"

Test(arena, gives_zeroed_aligned_blocks_up_to_its_cap)
{
	struct tp_arena arena;
	size_t given = 0;
	char *block;

	cr_assert_eq(tp_arena_init(&arena, 1 << 16), 0);
	for (size_t bytes = 1; (block = tp_arena_alloc(&arena, bytes)); bytes++) {
		cr_assert_eq((uintptr_t)block % 16, 0);
		for (size_t i = 0; i < bytes; i++)
			cr_assert_eq(block[i], 0);
		for (size_t i = 0; i < bytes; i++)
			block[i] = (char)0xff;
		given += bytes;
	}
	cr_assert_gt(given, 60000);
	cr_assert_not_null(tp_arena_alloc(&arena, 1), "what still fits is given");
	cr_assert_null(tp_arena_alloc(&arena, SIZE_MAX));
	cr_assert_null(tp_arena_alloc(&arena, SIZE_MAX - 15));
	tp_arena_fini(&arena);
	cr_assert_null(tp_arena_alloc(&arena, 1));
}

Test(arena, of_exactly_one_block_gives_it)
{
	struct tp_arena arena;

	cr_assert_eq(tp_arena_init(&arena, 4096), 0);
	cr_assert_not_null(tp_arena_alloc(&arena, 4096));
	cr_assert_null(tp_arena_alloc(&arena, 1));
	tp_arena_fini(&arena);
}

Test(arena, that_cannot_be_had_gives_nothing_and_keeps_errno)
{
	struct tp_arena arena;

	errno = ENOTTY;
	cr_assert_eq(tp_arena_init(&arena, SIZE_MAX / 2), -ENOMEM);
	cr_assert_eq(errno, ENOTTY);
	cr_assert_null(tp_arena_alloc(&arena, 1));
	tp_arena_fini(&arena);
}

enum { N_THREADS = 4, N_BLOCKS = 2000 };
static struct tp_arena shared;

static void *take_blocks(void *mark)
{
	uint64_t **block = tp_arena_alloc(&shared, N_BLOCKS * sizeof(*block));

	for (int i = 0; i < N_BLOCKS; i++) {
		block[i] = tp_arena_alloc(&shared, 24);
		block[i][0] = block[i][1] = block[i][2] = (uintptr_t)mark;
	}
	for (int i = 0; i < N_BLOCKS; i++) {
		if (block[i][0] != (uintptr_t)mark || block[i][2] != (uintptr_t)mark)
			return mark;
	}
	return NULL;
}

Test(arena, gives_no_block_twice)
{
	pthread_t thread[N_THREADS];
	void *failed;

	cr_assert_eq(tp_arena_init(&shared, 1 << 20), 0);
	for (uintptr_t i = 0; i < N_THREADS; i++)
		pthread_create(&thread[i], NULL, take_blocks, (void *)(i + 1));
	for (int i = 0; i < N_THREADS; i++) {
		pthread_join(thread[i], &failed);
		cr_assert_null(failed);
	}
	tp_arena_fini(&shared);
}

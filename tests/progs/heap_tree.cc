/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_tree.cc - a program that allocates from many stacks, the same each time it is run
 *
 * usage: heap_tree
 *
 * Thirty functions that call each other by a fixed rule of random numbers, each of which allocates
 * a number of blocks that only it knows; some are kept, some given back at once, some grown.
 * One thread, so that two profilers of two runs see the same order.
 */
#include <cstdint>
#include <cstdlib>

static uint64_t state = 88172645463325252ull;
static void *kept[4096];
static unsigned n_kept;

static uint64_t next_random()
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

static void *volatile sink;

static void call(int which, int depth);

/* Names without arguments of templates: profilers shorten those as each likes. */
#define BRANCH(n)                                                                          \
	static __attribute__((noinline)) void work_##n()                                   \
	{                                                                                  \
		allocate(n);                                                               \
		sink = nullptr;                                                            \
	}                                                                                  \
	static __attribute__((noinline)) void branch_##n(int depth)                        \
	{                                                                                  \
		work_##n();                                                                \
		for (int i = 0; depth > 0 && i < 2; i++)                                   \
			call((int)(next_random() % 15), depth - 1);                        \
		sink = nullptr;                                                            \
	}

static __attribute__((noinline)) void allocate(int n)
{
	for (int i = 0; i <= n; i++) {
		void *block = malloc(16 + next_random() % (64u << n % 6));

		sink = block;
		if (next_random() % 4 == 0 && n_kept < 4096)
			kept[n_kept++] = block;
		else if (next_random() % 8 == 0)
			free(realloc(block, 5000));
		else
			free(block);
	}
	if (n_kept > 2048)
		free(kept[--n_kept]);
	sink = nullptr;
}

BRANCH(0) BRANCH(1) BRANCH(2) BRANCH(3) BRANCH(4) BRANCH(5) BRANCH(6) BRANCH(7)
BRANCH(8) BRANCH(9) BRANCH(10) BRANCH(11) BRANCH(12) BRANCH(13) BRANCH(14)

static __attribute__((noinline)) void call(int which, int depth)
{
	static void (*const branches[])(int) = {
		branch_0, branch_1, branch_2,  branch_3,  branch_4,  branch_5,	branch_6, branch_7,
		branch_8, branch_9, branch_10, branch_11, branch_12, branch_13, branch_14};

	branches[which](depth);
	sink = nullptr;
}

int main()
{
	for (int i = 0; i < 40; i++)
		call(i % 15, 6);
	return n_kept == 0;
}

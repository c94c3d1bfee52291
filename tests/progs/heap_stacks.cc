/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_stacks.cc - allocations of known size from functions of known name
 *
 * usage: heap_stacks KEPT BYTES
 *
 * keep() allocates KEPT blocks of 1000 bytes and never frees them; hold() one of BYTES, freed
 * before churn() allocates and frees 64 bytes a thousand times. take() is inlined into each.
 */
#include <cstdlib>
#include <cstring>

namespace work {

static void *volatile sink;

static inline __attribute__((always_inline)) void *take(size_t n)
{
	void *block = malloc(n);

	memset(block, 1, n);
	sink = block;
	return block;
}

__attribute__((noinline)) void keep(int n)
{
	for (int i = 0; i < n; i++)
		take(1000);
}

__attribute__((noinline)) void *hold(size_t n)
{
	void *block = take(n);

	/* Not the last thing it does: a tail call would leave no frame. */
	sink = nullptr;
	return block;
}

__attribute__((noinline)) void churn(int n)
{
	for (int i = 0; i < n; i++)
		free(take(64));
}

}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	work::keep(atoi(argv[1]));
	free(work::hold(strtoul(argv[2], nullptr, 10)));
	work::churn(1000);
	return 0;
}

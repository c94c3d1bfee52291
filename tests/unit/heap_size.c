/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes set apart for a block: asked for, and read before it once that has proved to be the same. */
#include <criterion/criterion.h>

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

#include "runtime/probe/heap/heap_size.h"

static unsigned n_asked;
static size_t told;

static bool is_before(void)
{
	return (tp_heap_get_mode() & TP_HEAP_SIZED) != 0;
}

static size_t ask(void *block)
{
	n_asked++;
	return told;
}

/* A block of `size` bytes in an allocator of ours, which says that it has `says`. */
static size_t size_of(size_t size, size_t flags, size_t says)
{
	size_t word[2] = {(size + sizeof(word[0])) | flags};
	void *volatile block = &word[1];

	told = says;
	return tp_heap_size(ask, block);
}

static void compare(int n)
{
	for (int i = 1; i <= n; i++)
		cr_assert_eq(size_of((size_t)i * 8, i & 5, (size_t)i * 8), (size_t)i * 8);
}

Test(heap_size, is_read_before_the_block_once_enough_of_them_were_compared)
{
	void *volatile none = NULL;

	tp_heap_size_start(true);
	compare(TP_HEAP_SIZE_TRIES - 1);
	cr_assert_not(is_before());
	cr_expect_eq(tp_heap_size(ask, none), told);
	compare(1);
#ifdef __x86_64__
	cr_assert(is_before());
	n_asked = 0;
	compare(1000);
	cr_expect_eq(n_asked, 0);
#endif
}

Test(heap_size, is_asked_for_where_the_block_is_a_mapping_of_its_own)
{
	tp_heap_size_start(true);
	for (int i = 0; i < 4 * TP_HEAP_SIZE_TRIES; i++)
		cr_expect_eq(size_of(4096, TP_HEAP_SIZE_MAPPED, 4088), 4088);
	cr_expect_not(is_before());
	compare(TP_HEAP_SIZE_TRIES);
	cr_expect_eq(size_of(4096, TP_HEAP_SIZE_MAPPED, 4088), 4088);
}

Test(heap_size, is_asked_for_ever_where_one_block_was_different)
{
	tp_heap_size_start(true);
	compare(TP_HEAP_SIZE_TRIES - 1);
	cr_expect_eq(size_of(64, 1, 56), 56);
	compare(4 * TP_HEAP_SIZE_TRIES);
	cr_expect_not(is_before());
}

Test(heap_size, is_asked_for_ever_where_the_allocator_is_not_glibc)
{
	tp_heap_size_start(false);
	compare(4 * TP_HEAP_SIZE_TRIES);
	cr_expect_not(is_before());
}

#ifndef __SANITIZE_ADDRESS__
static void *make_blocks(void *unused)
{
	for (size_t bytes = 0; bytes < 3000000; bytes += 1 + bytes / 9) {
		void *volatile block = malloc(bytes), *aligned = NULL;

		cr_expect_eq(tp_heap_size(malloc_usable_size, block), malloc_usable_size(block), "%zu",
			     bytes);
		cr_assert_eq(posix_memalign(&aligned, 64, bytes + 1), 0);
		block = realloc(block, bytes * 2 + 1);
		cr_expect_eq(tp_heap_size(malloc_usable_size, block), malloc_usable_size(block), "%zu",
			     bytes);
		free(block);
		block = aligned;
		cr_expect_eq(tp_heap_size(malloc_usable_size, block), malloc_usable_size(block), "%zu",
			     bytes);
		free(block);
	}
	return NULL;
}

/* Blocks of each size, of an arena of another thread too. */
Test(heap_size, is_what_malloc_usable_size_says)
{
	pthread_t thread;

	tp_heap_size_start(true);
	make_blocks(NULL);
	cr_assert_eq(pthread_create(&thread, NULL, make_blocks, NULL), 0);
	pthread_join(thread, NULL);
#ifdef __x86_64__
	cr_expect(is_before());
#endif
}
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_heap.c - the names of the malloc family: count, then forward
 *
 * The hot functions end in a jump to the real one: nothing of ours is on the stack, errno is
 * the real function's, and the cost is the counters'. An allocation is counted when it is
 * asked for; posix_memalign alone waits for the block, see runtime/probe/heap_last.h. A free
 * is counted before the block can be anybody else's. With TP_NOP the hooks only forward: that
 * library tells the cost of being there from the cost of counting.
 *
 * A block of the boot heap is recognised wherever a block comes in.
 */
#include "preload/hook_heap.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "preload/boot_heap.h"
#include "preload/export.h"
#include "preload/real.h"
#include "runtime/base/sync.h"
#ifdef TP_NOP
#define tp_heap_count_alloc(bytes) ((void)(bytes))
#define tp_heap_count_realloc(bytes) ((void)(bytes))
#define tp_heap_count_free(block) ((void)(block))
#define note_last_block(block) ((void)(block))
#else
#include "runtime/probe/heap.h"
#define note_last_block(block) (tp_heap_self.last_block = (block))
#endif

/* C23; older headers do not declare them. */
void free_sized(void *block, size_t bytes);
void free_aligned_sized(void *block, size_t align, size_t bytes);

TP_EXPORT void *malloc(size_t bytes)
{
	tp_heap_count_alloc(bytes);
	return tp_real_heap.malloc(bytes);
}

#ifndef TP_NOP
bool tp_hook_heap_is_first(void)
{
	void *(*volatile first_malloc)(size_t);
	void (*volatile first_free)(void *);
	struct tp_heap_totals before, after;

	/* By what a call does, not by whose address it is: in a program that is not position
	 * independent, the address of any malloc is a jump in the program itself. */
	*(void **)&first_malloc = dlsym(RTLD_DEFAULT, "malloc");
	*(void **)&first_free = dlsym(RTLD_DEFAULT, "free");
	if (!first_malloc || !first_free)
		return false;
	tp_heap_totals(&before);
	first_free(first_malloc(1));
	tp_heap_totals(&after);
	return after.allocs > before.allocs && after.frees > before.frees;
}
#endif

TP_EXPORT void *calloc(size_t n, size_t bytes)
{
	/* A product that overflows is refused by the real one; what it adds here is no matter. */
	tp_heap_count_alloc(n * bytes);
	return tp_real_heap.calloc(n, bytes);
}

TP_EXPORT void free(void *block)
{
	if (!block)
		return;
	if (tp_unlikely(tp_boot_owns(block)))
		return;
	tp_heap_count_free(block);
	tp_real_heap.free(block);
}

TP_EXPORT void free_sized(void *block, size_t bytes)
{
	free(block);
}

TP_EXPORT void free_aligned_sized(void *block, size_t align, size_t bytes)
{
	free(block);
}

static void *move_from_boot(void *block, size_t bytes)
{
	size_t had = tp_boot_size(block);
	void *moved;

	if (!bytes)
		return NULL;
	moved = malloc(bytes);
	if (moved)
		memcpy(moved, block, had < bytes ? had : bytes);
	return moved;
}

TP_EXPORT void *realloc(void *block, size_t bytes)
{
	if (tp_unlikely(tp_boot_owns(block)))
		return move_from_boot(block, bytes);
	if (!block)
		tp_heap_count_alloc(bytes);
	else if (!bytes)
		tp_heap_count_free(block);
	else
		tp_heap_count_realloc(bytes);
	return tp_real_heap.realloc(block, bytes);
}

/* Not forwarded: the C library's own calls realloc by name, and a malloc that was preloaded
 * after us may not have one. */
TP_EXPORT void *reallocarray(void *block, size_t n, size_t bytes)
{
	size_t all;

	if (__builtin_mul_overflow(n, bytes, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(block, all);
}

TP_EXPORT int posix_memalign(void **block, size_t align, size_t bytes)
{
	int err = tp_real_heap.posix_memalign(block, align, bytes);

	if (!err) {
		tp_heap_count_alloc(bytes);
		note_last_block(*block);
	}
	return err;
}

TP_EXPORT void *aligned_alloc(size_t align, size_t bytes)
{
	tp_heap_count_alloc(bytes);
	return tp_real_heap.aligned_alloc(align, bytes);
}

TP_EXPORT void *memalign(size_t align, size_t bytes)
{
	tp_heap_count_alloc(bytes);
	return tp_real_heap.memalign(align, bytes);
}

TP_EXPORT void *valloc(size_t bytes)
{
	tp_heap_count_alloc(bytes);
	return tp_real_heap.valloc(bytes);
}

TP_EXPORT void *pvalloc(size_t bytes)
{
	tp_heap_count_alloc(bytes);
	return tp_real_heap.pvalloc(bytes);
}

TP_EXPORT size_t malloc_usable_size(void *block)
{
	if (tp_unlikely(tp_boot_owns(block)))
		return tp_boot_size(block);
	return tp_real_heap.malloc_usable_size(block);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boot_heap.c - bump allocation in a static array; each block has its size before it
 *
 * The word before a block is as malloc's of a block that is a mapping of its own: a reader of such
 * words goes on to ask, and looks where the block lies.
 */
#include "preload/boot_heap.h"

#include "runtime/probe/heap/heap_size.h"

enum { SIZE_SHIFT = 3 };

char tp_boot_bytes[TP_BOOT_BYTES] __attribute__((aligned(16)));
static size_t boot_used;	/* atomic */

void *tp_boot_alloc(size_t bytes, size_t align)
{
	size_t used = __atomic_load_n(&boot_used, __ATOMIC_RELAXED);
	uintptr_t base = (uintptr_t)tp_boot_bytes, block;
	size_t after;

	if (align < 16)
		align = 16;
	if (bytes > TP_BOOT_BYTES || align > TP_BOOT_BYTES)
		return NULL;
	do {
		block = (base + used + sizeof(size_t) + align - 1) & ~(uintptr_t)(align - 1);
		after = block - base + bytes;
		/* Strictly below the end: a block of 0 bytes must lie inside, to be recognised. */
		if (after >= TP_BOOT_BYTES)
			return NULL;
	} while (!__atomic_compare_exchange_n(&boot_used, &used, after, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	((size_t *)block)[-1] = bytes << SIZE_SHIFT | TP_HEAP_SIZE_MAPPED;
	return (void *)block;
}

size_t tp_boot_size(const void *block)
{
	return ((const size_t *)block)[-1] >> SIZE_SHIFT;
}

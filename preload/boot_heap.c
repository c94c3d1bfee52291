/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boot_heap.c - bump allocation in a static array; each block has its size before it
 */
#include "preload/boot_heap.h"

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
	((size_t *)block)[-1] = bytes;
	return (void *)block;
}

size_t tp_boot_size(const void *block)
{
	return ((const size_t *)block)[-1];
}

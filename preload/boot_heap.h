/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boot_heap.h - the small heap that serves the dynamic linker while it looks for malloc
 *
 * dlsym itself may call calloc (it does for its error text in some versions of glibc). Blocks
 * come from one static array and are never used again; whoever is given one to free or to
 * resize recognises it by its address. Threads: any.
 */
#ifndef TP_PRELOAD_BOOT_HEAP_H
#define TP_PRELOAD_BOOT_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TP_BOOT_BYTES = 65536 };
extern char tp_boot_bytes[TP_BOOT_BYTES] __attribute__((visibility("hidden")));

static inline bool tp_boot_owns(const void *block)
{
	return (uintptr_t)block - (uintptr_t)tp_boot_bytes < TP_BOOT_BYTES;
}

/* Zeroed. `align` is a power of two, taken as at least 16. NULL: no room left. */
void *tp_boot_alloc(size_t bytes, size_t align);
/* Bytes that were asked for. */
size_t tp_boot_size(const void *block);

#endif

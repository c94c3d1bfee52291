/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_map.h - records of mappings that the program makes and gives back: mmap, munmap, mremap
 *
 * As of blocks: MAP after the call, UNMAP with the time before it, but recorded after it has
 * succeeded. Lengths are whole pages. What is mapped over (MAP_FIXED) is unmapped first, whether
 * anything was there or not. An mremap is an UNMAP and a MAP with TP_F_MOVED; the latter has no
 * name, because what is mapped is still what it was.
 *
 * Not seen: what the C library and the dynamic linker map for themselves (heaps of malloc,
 * stacks of threads, libraries), and changes of protection.
 *
 * Guard held; any thread. errno is not kept: the caller does, around all of it. `frame`: see
 * tp_stack_take.
 */
#ifndef TP_PROBE_HEAP_MAP_H
#define TP_PROBE_HEAP_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is anything recorded now, on this thread? */
bool tp_heap_map_is_on(void);

struct tp_heap_mmap {
	const void *address;	/* that was returned */
	size_t bytes;
	int protection, flags, fd;
};
void tp_heap_record_map(uint64_t begin, const struct tp_heap_mmap *map, const void *frame);

/* The stack of an unmap, to be taken before it: an interpreter gives back the memory that its own
 * frames lie in while they still count. 0: none. */
uint32_t tp_heap_map_stack(uint64_t begin, const void *frame);
void tp_heap_record_unmap(uint64_t begin, const void *address, size_t bytes, uint32_t stack);

struct tp_heap_mremap {
	const void *old, *address;	/* given, returned */
	size_t old_bytes, bytes;
	int flags;
};
void tp_heap_record_remap(uint64_t begin, const struct tp_heap_mremap *map, uint32_t stack);

#endif

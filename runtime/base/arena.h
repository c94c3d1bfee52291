/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.h - the profiler's own memory: bump allocation on mmap, with a cap, never freed
 *
 * The guest's malloc is never used by the injected half. Blocks are zeroed and 16-byte
 * aligned. Threads: any (one compare-and-swap). Errors: NULL when the cap is reached or the
 * kernel refuses; the caller switches its feature off.
 */
#ifndef TP_BASE_ARENA_H
#define TP_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct tp_arena {
	char *base;		/* one reserved mapping of cap_bytes; pages come as they are touched */
	size_t cap_bytes;
	uint64_t used;		/* atomic */
};

/* 0 or -ENOMEM. */
int tp_arena_init(struct tp_arena *arena, size_t cap_bytes);
void *tp_arena_alloc(struct tp_arena *arena, size_t bytes);
void tp_arena_fini(struct tp_arena *arena);

#endif

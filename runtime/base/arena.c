/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.c - bump allocation on one mapping, with a cap
 *
 * The whole cap is reserved at once and costs address space only: the kernel gives a page
 * when it is first touched, zeroed. Nothing is freed before the arena itself.
 */
#include "runtime/base/arena.h"

#include <errno.h>
#include <stdbool.h>

enum { ALIGN_BYTES = 16 };

int tp_arena_init(struct tp_arena *arena, size_t cap_bytes)
{
	int saved = errno;
	void *base = tp_map_memory(cap_bytes, MAP_NORESERVE);

	errno = saved;
	arena->base = base == MAP_FAILED ? NULL : base;
	arena->cap_bytes = arena->base ? cap_bytes : 0;
	arena->used = 0;
	return arena->base ? 0 : -ENOMEM;
}

void *tp_arena_alloc(struct tp_arena *arena, size_t bytes)
{
	uint64_t used = __atomic_load_n(&arena->used, __ATOMIC_RELAXED);

	if (bytes > arena->cap_bytes)
		return NULL;
	bytes = (bytes + ALIGN_BYTES - 1) & ~(size_t)(ALIGN_BYTES - 1);
	do {
		/* `used` never passes the cap, so the difference does not wrap. */
		if (bytes > arena->cap_bytes - used)
			return NULL;
	} while (!__atomic_compare_exchange_n(&arena->used, &used, used + bytes, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return arena->base + used;
}

void tp_arena_fini(struct tp_arena *arena)
{
	int saved = errno;

	if (arena->base)
		tp_unmap(arena->base, arena->cap_bytes);
	errno = saved;
	arena->base = NULL;
	arena->cap_bytes = 0;
	arena->used = 0;
}

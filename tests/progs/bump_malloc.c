/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bump_malloc.c - a malloc of its own, as jemalloc or tcmalloc are: to be linked into a program
 * or preloaded; never gives anything back
 */
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { POOL_BYTES = 256 << 20 };
static char pool[POOL_BYTES] __attribute__((aligned(4096)));
static size_t used;	/* atomic */

void *memalign(size_t align, size_t bytes)
{
	size_t room, at;

	align = align < 16 ? 16 : align;
	if (bytes > POOL_BYTES / 2 || align > POOL_BYTES / 2) {
		errno = ENOMEM;
		return NULL;
	}
	room = bytes + align + 16;
	at = __atomic_fetch_add(&used, room, __ATOMIC_RELAXED);
	if (at + room > POOL_BYTES) {
		errno = ENOMEM;
		return NULL;
	}
	at = (at + 16 + align - 1) & ~(align - 1);
	*(size_t *)(pool + at - 16) = bytes;
	return pool + at;
}

void *malloc(size_t bytes)
{
	return memalign(16, bytes);
}

void free(void *block)
{
	/* Somebody else's block would be a crash in a real malloc: here too. */
	if (block && (uintptr_t)block - (uintptr_t)pool >= POOL_BYTES)
		__builtin_trap();
}

void *calloc(size_t n, size_t bytes)
{
	size_t all;

	if (__builtin_mul_overflow(n, bytes, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	return malloc(all);	/* the pool was never used before */
}

size_t malloc_usable_size(void *block)
{
	return block ? *(size_t *)((char *)block - 16) : 0;
}

void *realloc(void *block, size_t bytes)
{
	void *moved = malloc(bytes);
	size_t had = malloc_usable_size(block);

	if (block && moved)
		memcpy(moved, block, had < bytes ? had : bytes);
	return moved;
}

int posix_memalign(void **block, size_t align, size_t bytes)
{
	if (align % sizeof(void *) || align & (align - 1) || !align)
		return EINVAL;
	*block = memalign(align, bytes);
	return *block ? 0 : ENOMEM;
}

void *aligned_alloc(size_t align, size_t bytes)
{
	return memalign(align, bytes);
}

void *valloc(size_t bytes)
{
	return memalign(4096, bytes);
}

void *pvalloc(size_t bytes)
{
	return memalign(4096, (bytes + 4095) & ~(size_t)4095);
}

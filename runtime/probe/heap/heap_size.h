/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_size.h - bytes that the allocator set apart for a block
 *
 * glibc keeps the size of a block in the word before it ("struct malloc_chunk" of its malloc.c): bytes
 * with that word, in the lowest three bits flags, of which 2 says that the block is a mapping of its own.
 * Reading the word takes a tenth of what malloc_usable_size() takes, which every malloc and free would
 * call. It is read only on x86-64, only where malloc and malloc_usable_size are glibc's, and only after
 * TP_HEAP_SIZE_TRIES blocks of the program have been compared (TP_HEAP_SIZED in tp_heap_mode); blocks with
 * a mapping of their own are always asked for.
 *
 * Threads: any. No lock, no allocation.
 */
#ifndef TP_PROBE_HEAP_SIZE_H
#define TP_PROBE_HEAP_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/sync.h"
#include "runtime/probe/heap/heap_count.h"

enum {
	TP_HEAP_SIZE_TRIES = 64,
	TP_HEAP_SIZE_FLAGS = 7,		/* of the word before a block */
	TP_HEAP_SIZE_MAPPED = 2,
};

typedef size_t (*tp_heap_size_fn)(void *block);

/* malloc_usable_size() of an allocator that may be glibc's: `is_glibc`. Again where it is found again. */
void tp_heap_size_start(bool is_glibc);

/* What `ask` says of a live block, compared with the word before it as long as that is not decided. */
size_t tp_heap_size_ask(tp_heap_size_fn ask, void *block);

static inline size_t tp_heap_size_word(const void *block)
{
	return ((const size_t *)block)[-1];
}

/* By that word, of a block that is no mapping of its own. */
static inline size_t tp_heap_size_told(size_t word)
{
	return (word & ~(size_t)TP_HEAP_SIZE_FLAGS) - sizeof(word);
}

/* With TP_HEAP_SIZED. False: it has to be asked for. */
static inline bool tp_heap_size_read(const void *block, size_t *size)
{
	const size_t word = tp_heap_size_word(block);

	*size = tp_heap_size_told(word);
	return tp_likely(!(word & TP_HEAP_SIZE_MAPPED));
}

/* Of a live block of the allocator that `ask`, its malloc_usable_size(), is of. */
static inline size_t tp_heap_size(tp_heap_size_fn ask, void *block)
{
	size_t size;

	if (tp_likely(tp_heap_get_mode() & TP_HEAP_SIZED))
		return tp_heap_size_read(block, &size) ? size : ask(block);
	return tp_heap_size_ask(ask, block);
}

#endif

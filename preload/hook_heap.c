/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_heap.c - the names of the malloc family: count, record, forward
 *
 * What is done depends on one word, tp_heap_mode:
 *
 *	neither LIVE nor EVENTS
 *		An allocation is counted when it is asked for (posix_memalign alone waits for the
 *		block, see runtime/probe/heap/heap_last.h), a free before the block can be anybody
 *		else's; the rest is a jump to the real function: nothing of ours is on the stack.
 *	LIVE	watch_*: counted when it has succeeded, with the bytes that the allocator set apart.
 *	USUAL	LIVE, and sizes stand before blocks: the same, by malloc and free in their own code with as
 *		few instructions as there are. Most programs call them thousands of times in each step.
 *	EVENTS	as LIVE, and recorded. The guard is held around the real call, so that what an
 *		allocator does to serve it (mappings, blocks for its own ledger) is not taken for
 *		the program's. The function that was called has ended in a jump to record_*,
 *		whose frame therefore lies upon the caller's: stacks begin there.
 *
 * errno is the real function's. With TP_NOP the hooks only forward: that library tells the cost
 * of being there from the cost of counting. A block of the boot heap is recognised wherever a
 * block comes in.
 */
#include "preload/hook_heap.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "preload/boot_heap.h"
#include "preload/export.h"
#include "preload/guard.h"
#include "preload/real.h"
#include "runtime/base/sync.h"
#ifdef TP_NOP
#define tp_heap_count_alloc(bytes) ((void)(bytes))
#define tp_heap_count_realloc(bytes) ((void)(bytes))
#define tp_heap_count_free(block) ((void)(block))
#define note_last_block(block) ((void)(block))
#define WATCHED(call) ((void)0)
#define NOT_INLINE
#else
#include "runtime/probe/hang/oom.h"
#include "runtime/probe/heap/heap_count.h"
#include "runtime/probe/heap/heap_event.h"
#include "runtime/probe/heap/heap_size.h"
#define note_last_block(block) (tp_heap_self.last_block = (block))
/* Where something is WATCHED, `call` does what has to be done: record_* or watch_* with the arguments. */
#define WATCHED(call)                                                                      \
	do {                                                                               \
		uint32_t mode = tp_heap_get_mode();                                        \
                                                                                           \
		if (tp_unlikely(mode & TP_HEAP_WATCHED)) {                                 \
			if (tp_unlikely(mode & TP_HEAP_EVENTS))                            \
				return record_##call;                                      \
			return watch_##call;                                               \
		}                                                                          \
	} while (0)

#define NOT_INLINE __attribute__((noinline))
/* Of a function that was jumped to. Asking for it makes the compiler keep a frame pointer. */
#define THIS_FRAME __builtin_frame_address(0)

/* False: already inside, on this thread; this call is not recorded. */
static inline bool enter(void)
{
	if (tp_likely(tp_guard_enter()))
		return true;
	tp_heap_note_nested();
	return false;
}

/* Blocks of the boot heap come here, too: the word before them says that it has to be asked. */
static size_t ask_size(void *block)
{
	return tp_boot_owns(block) ? 0 : tp_real_heap.size_of(block);
}

static inline size_t size_of(void *block)
{
	return tp_heap_size(ask_size, block);
}

static NOT_INLINE void note_refused(size_t bytes)
{
	bool may_walk = tp_guard_enter();

	tp_oom_note_host(bytes, may_walk);
	if (may_walk)
		tp_guard_leave();
}

/* The real function returned the block; NULL: it failed. Returns the block. */
static NOT_INLINE void *count_slowly(void *block, size_t bytes)
{
	if (tp_likely(block != NULL))
		tp_heap_add_live(tp_heap_count_alloc(bytes), (int64_t)size_of(block));
	else
		note_refused(bytes);
	return block;
}

static NOT_INLINE void *tell_given(struct tp_heap_slot *slot, void *block)
{
	tp_heap_tell(slot);
	return block;
}

/* The same, in as few instructions as there are: `mode` is as it was before the call. */
static inline void *count_given(uint32_t mode, void *block, size_t bytes)
{
	struct tp_heap_slot *slot = tp_heap_self.slot;
	size_t size;

	if (tp_unlikely(!(mode & TP_HEAP_SIZED) || !block || !slot ||
			!tp_heap_size_read(block, &size)))
		return count_slowly(block, bytes);
	if (tp_unlikely(tp_heap_own_gave(slot, bytes, size)))
		return tell_given(slot, block);
	return block;
}

/* The block is not given back yet. */
static inline void count_taken(void *block, size_t size)
{
	tp_heap_add_live(tp_heap_count_free(block), -(int64_t)size);
}

/* Both variants of a function that returns a block; `bytes` that are asked for. */
#define GIVES(name, parameters, arguments, bytes)                                          \
	static NOT_INLINE void *watch_##name parameters                                    \
	{                                                                                  \
		uint32_t mode = tp_heap_get_mode();                                        \
                                                                                           \
		return count_given(mode, tp_real_heap.name arguments, bytes);              \
	}                                                                                  \
                                                                                           \
	static NOT_INLINE void *record_##name parameters                                   \
	{                                                                                  \
		void *block;                                                               \
                                                                                           \
		if (!enter())                                                              \
			return watch_##name arguments;                                     \
		block = watch_##name arguments;                                            \
		if (tp_likely(block != NULL))                                              \
			tp_heap_record_alloc(block, bytes, THIS_FRAME);                    \
		tp_guard_leave();                                                          \
		return block;                                                              \
	}

GIVES(malloc, (size_t bytes), (bytes), bytes)
GIVES(calloc, (size_t n, size_t bytes), (n, bytes), n * bytes)
GIVES(aligned_alloc, (size_t align, size_t bytes), (align, bytes), bytes)
GIVES(memalign, (size_t align, size_t bytes), (align, bytes), bytes)
GIVES(valloc, (size_t bytes), (bytes), bytes)
GIVES(pvalloc, (size_t bytes), (bytes), bytes)

static NOT_INLINE int watch_posix_memalign(void **block, size_t align, size_t bytes)
{
	int err = tp_real_heap.posix_memalign(block, align, bytes);

	if (!err) {
		note_last_block(count_given(tp_heap_get_mode(), *block, bytes));
	} else if (err == ENOMEM) {
		note_refused(bytes);
	}
	return err;
}

static NOT_INLINE int record_posix_memalign(void **block, size_t align, size_t bytes)
{
	int err;

	if (!enter())
		return watch_posix_memalign(block, align, bytes);
	err = watch_posix_memalign(block, align, bytes);
	if (!err && *block)
		tp_heap_record_alloc(*block, bytes, THIS_FRAME);
	tp_guard_leave();
	return err;
}

static NOT_INLINE void watch_free(void *block)
{
	count_taken(block, size_of(block));
	tp_real_heap.free(block);
}

static NOT_INLINE void record_free(void *block)
{
	if (!enter()) {
		watch_free(block);
		return;
	}
	tp_heap_record_free(block);
	watch_free(block);
	tp_guard_leave();
}

static NOT_INLINE void *watch_realloc(void *block, size_t bytes)
{
	size_t had = block ? size_of(block) : 0;
	void *moved = tp_real_heap.realloc(block, bytes);

	if (!block)
		count_slowly(moved, bytes);
	else if (moved)
		tp_heap_add_live(tp_heap_count_realloc(bytes),
				 (int64_t)size_of(moved) - (int64_t)had);
	else if (!bytes)
		count_taken(block, had);
	else
		note_refused(bytes);
	return moved;
}

static NOT_INLINE void *record_realloc(void *block, size_t bytes)
{
	struct tp_heap_move move;
	void *moved;

	if (!enter())
		return watch_realloc(block, bytes);
	if (block)
		tp_heap_move_begin(&move, block);
	moved = watch_realloc(block, bytes);
	if (!block && moved)
		tp_heap_record_alloc(moved, bytes, THIS_FRAME);
	else if (block && (moved || !bytes))
		tp_heap_move_end(&move, moved, bytes, THIS_FRAME);
	else if (block)
		tp_heap_move_fail(&move);
	tp_guard_leave();
	return moved;
}
#endif

/* C23; older headers do not declare them. */
void free_sized(void *block, size_t bytes);
void free_aligned_sized(void *block, size_t align, size_t bytes);

TP_EXPORT void *malloc(size_t bytes)
{
#ifndef TP_NOP
	if (tp_likely(tp_heap_get_mode() == TP_HEAP_USUAL))
		return count_given(TP_HEAP_USUAL, tp_real_heap.malloc(bytes), bytes);
#endif
	WATCHED(malloc(bytes));
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
	WATCHED(calloc(n, bytes));
	/* A product that overflows is refused by the real one; what it adds here is no matter. */
	tp_heap_count_alloc(n * bytes);
	return tp_real_heap.calloc(n, bytes);
}

static NOT_INLINE void free_other(void *block)
{
	if (tp_unlikely(tp_boot_owns(block)))
		return;
	WATCHED(free(block));
	tp_heap_count_free(block);
	tp_real_heap.free(block);
}

#ifndef TP_NOP
static NOT_INLINE void tell_and_free(struct tp_heap_slot *slot, void *block)
{
	tp_heap_tell(slot);
	tp_real_heap.free(block);
}
#endif

TP_EXPORT void free(void *block)
{
	if (!block)
		return;
#ifndef TP_NOP
	if (tp_likely(tp_heap_get_mode() == TP_HEAP_USUAL)) {
		struct tp_heap_slot *slot = tp_heap_self.slot;
		size_t size;

		if (tp_likely(slot && tp_heap_size_read(block, &size))) {
			if (tp_unlikely(tp_heap_own_takes(slot, block, size)))
				tell_and_free(slot, block);
			else
				tp_real_heap.free(block);
			return;
		}
	}
#endif
	free_other(block);
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
	WATCHED(realloc(block, bytes));
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
	int err;

	WATCHED(posix_memalign(block, align, bytes));
	err = tp_real_heap.posix_memalign(block, align, bytes);
	if (!err) {
		tp_heap_count_alloc(bytes);
		note_last_block(*block);
	}
	return err;
}

TP_EXPORT void *aligned_alloc(size_t align, size_t bytes)
{
	WATCHED(aligned_alloc(align, bytes));
	tp_heap_count_alloc(bytes);
	return tp_real_heap.aligned_alloc(align, bytes);
}

TP_EXPORT void *memalign(size_t align, size_t bytes)
{
	WATCHED(memalign(align, bytes));
	tp_heap_count_alloc(bytes);
	return tp_real_heap.memalign(align, bytes);
}

TP_EXPORT void *valloc(size_t bytes)
{
	WATCHED(valloc(bytes));
	tp_heap_count_alloc(bytes);
	return tp_real_heap.valloc(bytes);
}

TP_EXPORT void *pvalloc(size_t bytes)
{
	WATCHED(pvalloc(bytes));
	tp_heap_count_alloc(bytes);
	return tp_real_heap.pvalloc(bytes);
}

TP_EXPORT size_t malloc_usable_size(void *block)
{
	if (tp_unlikely(tp_boot_owns(block)))
		return tp_boot_size(block);
	return tp_real_heap.malloc_usable_size(block);
}

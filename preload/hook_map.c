/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_map.c - mmap, munmap and mremap, by their names
 *
 * Until the real ones are known the kernel is asked directly: an allocator may map before
 * anything can be looked up, also while it is looked up. What this library maps for itself does not
 * come here (arena.h). While a window is open, the real call is made with the guard held: so mappings
 * of an allocator, which are made inside a call of the malloc family, are not the program's a second
 * time.
 */
#include "preload/hook_map.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/export.h"
#include "preload/guard.h"
#include "preload/real.h"
#include "runtime/base/clock.h"
#include "runtime/base/sync.h"
#include "runtime/probe/heap/heap_count.h"
#include "runtime/probe/heap/heap_map.h"

#define IS_RECORDING tp_unlikely(tp_heap_get_mode() & TP_HEAP_EVENTS)

/* True: record it. The caller leaves the guard afterwards. */
static bool enter(void)
{
	return tp_heap_map_is_on() && tp_guard_enter();
}

/* ---- the real ones ---- */

static void *ask_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	return (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
}

static int ask_munmap(void *address, size_t bytes)
{
	return (int)syscall(SYS_munmap, address, bytes);
}

static void *ask_mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...)
{
	va_list more;
	void *address;

	va_start(more, flags);
	address = va_arg(more, void *);
	va_end(more);
	return (void *)syscall(SYS_mremap, old, old_bytes, bytes, flags, address);
}

static struct {
	void *(*mmap)(void *, size_t, int, int, int, off_t);
	int (*munmap)(void *, size_t);
	void *(*mremap)(void *, size_t, size_t, int, ...);
} real = { ask_mmap, ask_munmap, ask_mremap };

#define FIND(fn)                                                                           \
	do {                                                                               \
		void *found = tp_real_next(#fn);                                           \
                                                                                           \
		if (found)                                                                 \
			__atomic_store_n(&real.fn, (__typeof__(real.fn))found,             \
					 __ATOMIC_RELAXED);                                \
	} while (0)

void tp_hook_map_init(void)
{
	FIND(mmap);
	FIND(munmap);
	FIND(mremap);
}

/* ---- while recording; the frame of each lies upon its caller's, see hook_heap.c ---- */

static __attribute__((noinline)) void *record_mmap(void *address, size_t bytes, int protection,
						   int flags, int fd, off_t offset)
{
	uint64_t begin;
	int kept_errno;
	void *got;

	if (!enter())
		return real.mmap(address, bytes, protection, flags, fd, offset);
	begin = tp_clock_now();
	got = real.mmap(address, bytes, protection, flags, fd, offset);
	kept_errno = errno;
	if (got != MAP_FAILED) {
		const struct tp_heap_mmap map = { got, bytes, protection, flags, fd };

		tp_heap_record_map(begin, &map, __builtin_frame_address(0));
	}
	tp_guard_leave();
	errno = kept_errno;
	return got;
}

static __attribute__((noinline)) int record_munmap(void *address, size_t bytes)
{
	int kept_errno, result;
	uint32_t stack;
	uint64_t begin;

	if (!enter())
		return real.munmap(address, bytes);
	begin = tp_clock_now();
	stack = tp_heap_map_stack(begin, __builtin_frame_address(0));
	result = real.munmap(address, bytes);
	kept_errno = errno;
	if (!result)
		tp_heap_record_unmap(begin, address, bytes, stack);
	tp_guard_leave();
	errno = kept_errno;
	return result;
}

static __attribute__((noinline)) void *record_mremap(void *old, size_t old_bytes, size_t bytes,
						     int flags, void *address)
{
	uint64_t begin;
	uint32_t stack;
	int kept_errno;
	void *got;

	if (!enter())
		return real.mremap(old, old_bytes, bytes, flags, address);
	begin = tp_clock_now();
	stack = tp_heap_map_stack(begin, __builtin_frame_address(0));
	got = real.mremap(old, old_bytes, bytes, flags, address);
	kept_errno = errno;
	if (got != MAP_FAILED) {
		const struct tp_heap_mremap map = { old, got, old_bytes, bytes, flags };

		tp_heap_record_remap(begin, &map, stack);
	}
	tp_guard_leave();
	errno = kept_errno;
	return got;
}

/* ---- the names ---- */

TP_EXPORT void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	if (IS_RECORDING)
		return record_mmap(address, bytes, protection, flags, fd, offset);
	return real.mmap(address, bytes, protection, flags, fd, offset);
}

/* Where off_t has 64 bits the two are one. */
_Static_assert(sizeof(off_t) == sizeof(off64_t), "off_t");
TP_EXPORT void *mmap64(void *address, size_t bytes, int protection, int flags, int fd,
		       off64_t offset) __attribute__((alias("mmap")));

TP_EXPORT int munmap(void *address, size_t bytes)
{
	if (IS_RECORDING)
		return record_munmap(address, bytes);
	return real.munmap(address, bytes);
}

TP_EXPORT void *mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...)
{
	void *address = NULL;
	va_list more;

	if (flags & MREMAP_FIXED) {
		va_start(more, flags);
		address = va_arg(more, void *);
		va_end(more);
	}
	if (IS_RECORDING)
		return record_mremap(old, old_bytes, bytes, flags, address);
	return real.mremap(old, old_bytes, bytes, flags, address);
}

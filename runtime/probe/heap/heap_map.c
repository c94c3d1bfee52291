/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_map.c - MAP and UNMAP records, and what sort of mapping it is
 */
#include "runtime/probe/heap/heap_map.h"

#include <linux/magic.h>
#include <linux/mman.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/text.h"
#include "runtime/engine/intern.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/engine/session.h"
#include "runtime/probe/heap/heap_count.h"
#include "runtime/probe/python/pystack.h"
#include "runtime/probe/stack/stack.h"

enum { MOST_PATH = 1024 };	/* bytes that are kept */

bool tp_heap_map_is_on(void)
{
	return tp_heap_get_mode() & TP_HEAP_EVENTS && tp_session_is_armed() &&
	       !tp_heap_self.is_quiet && !tp_ring_is_reserved();
}

static uint64_t whole_pages(size_t bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) & ~(page - 1);
}

uint32_t tp_heap_map_stack(uint64_t time, const void *frame)
{
	return tp_heap_get_mode() & TP_HEAP_WITH_STACKS ? tp_stack_take(time, frame) : 0;
}

static void put(uint64_t time, enum tp_rec_kind kind, uint8_t flags, uint32_t name,
		const void *address, size_t bytes, uint32_t stack)
{
	struct tp_rec *rec = tp_ring_reserve();

	if (!rec)
		return;
	rec->time = time;
	tp_rec_set_len(rec, whole_pages(bytes));
	rec->kind = (uint8_t)kind;
	rec->flags = flags;
	rec->name = name;
	rec->link = stack;
	rec->arg = (uintptr_t)address;
	tp_ring_commit();
}

/* The path of an open file, or nothing. */
static void describe_file(int fd, struct tp_text *out)
{
	char link[32], path[MOST_PATH];
	struct tp_text text;
	ssize_t n;

	tp_text_init(&text, link, sizeof(link));
	tp_text_fmt(&text, "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path));
	if (n > 0)
		tp_text_bytes(out, path, (size_t)n);
}

/* Memory that only looks like a file. */
static bool is_memory(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 &&
	       (fs.f_type == TMPFS_MAGIC || fs.f_type == HUGETLBFS_MAGIC);
}

static uint8_t kind_of(const struct tp_heap_mmap *map)
{
	if (map->protection == PROT_NONE)
		return TP_MAPPING_RESERVED;
	if (map->flags & MAP_ANONYMOUS)
		return map->flags & MAP_SHARED ? TP_MAPPING_SHARED : TP_MAPPING_ANON;
	return is_memory(map->fd) ? TP_MAPPING_SHM : TP_MAPPING_FILE;
}

static uint32_t name_of(const struct tp_heap_mmap *map)
{
	const struct tp_mapping what = {
		.kind = kind_of(map),
		/* Of MAP_PRIVATE, MAP_SHARED and MAP_SHARED_VALIDATE (both bits). */
		.is_shared = (map->flags & MAP_SHARED) != 0,
		.is_writable = (map->protection & PROT_WRITE) != 0,
		.is_executable = (map->protection & PROT_EXEC) != 0,
	};
	char bytes[sizeof(what) + MOST_PATH];
	struct tp_text text;

	tp_text_init(&text, bytes, sizeof(bytes));
	tp_text_bytes(&text, (const char *)&what, sizeof(what));
	if (!(map->flags & MAP_ANONYMOUS))
		describe_file(map->fd, &text);
	return tp_intern(TP_STRING_MAPPING, bytes, (uint32_t)text.len);
}

void tp_heap_record_map(uint64_t begin, const struct tp_heap_mmap *map, const void *frame)
{
	uint64_t time = tp_clock_now();
	uint32_t name = name_of(map), stack;

	if (map->flags & MAP_FIXED) {
		tp_pystack_unmapped();
		put(begin, TP_REC_UNMAP, 0, 0, map->address, map->bytes, 0);
	}
	stack = tp_heap_map_stack(time, frame);
	put(time, TP_REC_MAP, 0, name, map->address, map->bytes, stack);
}

void tp_heap_record_unmap(uint64_t begin, const void *address, size_t bytes, uint32_t stack)
{
	tp_pystack_unmapped();
	put(begin, TP_REC_UNMAP, 0, 0, address, bytes, stack);
}

void tp_heap_record_remap(uint64_t begin, const struct tp_heap_mremap *map, uint32_t stack)
{
	const struct tp_heap_mmap copy = {
		map->address, map->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	};
	uint64_t time = tp_clock_now();

	tp_pystack_unmapped();
	if (map->flags & MREMAP_FIXED)
		put(begin, TP_REC_UNMAP, 0, 0, map->address, map->bytes, 0);
	/* The old addresses stay mapped; nearly always such memory is private and of nothing. */
	if (map->flags & MREMAP_DONTUNMAP) {
		put(time, TP_REC_MAP, 0, name_of(&copy), map->address, map->bytes, stack);
		return;
	}
	/* Of 0 bytes: a shared mapping gets more addresses. */
	put(begin, TP_REC_UNMAP, TP_F_MOVED, 0, map->old, map->old_bytes, 0);
	put(time, TP_REC_MAP, TP_F_MOVED, 0, map->address, map->bytes, stack);
}

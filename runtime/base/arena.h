/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.h - the profiler's own memory: mappings, and bump allocation on one, with a cap, never freed
 *
 * The guest's malloc is never used by the injected half. Nor are mmap and munmap by their names: other
 * libraries stand behind these, preloaded or in every library's table of calls (memray's). Their code
 * would run on our threads, which have a table of files of their own (own_table.h): libunwind's pipe, made
 * there, has numbers that are other files of the program's. And a program's own profilers would tell it of
 * our memory.
 *
 * Blocks are zeroed and 16-byte aligned. Threads: any (one compare-and-swap). Errors: NULL when the cap is
 * reached or the kernel refuses; the caller switches its feature off.
 */
#ifndef TP_BASE_ARENA_H
#define TP_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The thread sanitizer has to hear of what one thread gave back and another one was given. */
#ifdef __SANITIZE_THREAD__
#define TP_MAP_CALL(name, ...) ((long)(name)(__VA_ARGS__))
#else
#define TP_MAP_CALL(name, ...) syscall(SYS_##name, __VA_ARGS__)
#endif

/* As mmap, anywhere, of the file from its begin. MAP_FAILED and errno where there is none. */
static inline void *tp_map(size_t bytes, int protection, int flags, int fd)
{
	return (void *)TP_MAP_CALL(mmap, NULL, bytes, protection, flags, fd, 0L);
}

/* Of no file, for reading and writing; more: MAP_NORESERVE, or 0. */
static inline void *tp_map_memory(size_t bytes, int more)
{
	return tp_map(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | more, -1);
}

/* As munmap. */
static inline int tp_unmap(void *at, size_t bytes)
{
	return (int)TP_MAP_CALL(munmap, at, bytes);
}

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

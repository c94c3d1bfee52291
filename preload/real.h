/* SPDX-License-Identifier: Apache-2.0 */
/*
 * real.h - the functions behind our names: the next definitions after this library
 *
 * "Next" and not "libc's": a jemalloc or tcmalloc preloaded after us stays in use. The table
 * of the malloc family is callable from the first instruction on: until the real functions
 * are known its entries find them first, and serve the finding itself from the boot heap.
 * So the hooks need no test of their own. Threads: any.
 */
#ifndef TP_PRELOAD_REAL_H
#define TP_PRELOAD_REAL_H

#include <stdbool.h>
#include <stddef.h>

struct tp_real_heap {
	void *(*malloc)(size_t bytes);
	void *(*calloc)(size_t n, size_t bytes);
	void *(*realloc)(void *block, size_t bytes);
	void (*free)(void *block);
	int (*posix_memalign)(void **block, size_t align, size_t bytes);
	void *(*aligned_alloc)(size_t align, size_t bytes);
	void *(*memalign)(size_t align, size_t bytes);
	void *(*valloc)(size_t bytes);
	void *(*pvalloc)(size_t bytes);
	size_t (*malloc_usable_size)(void *block);
	/* The same, where it is of the allocator that `malloc` is of; else 0 for every block. */
	size_t (*size_of)(void *block);
};
extern struct tp_real_heap tp_real_heap __attribute__((visibility("hidden")));

/* Finds all of them now (the constructor); otherwise the first call does. */
void tp_real_heap_find(void);
/* size_of tells sizes. */
bool tp_real_heap_has_sizes(void);
/* And it is glibc's, as malloc is. */
bool tp_real_heap_is_glibc(void);
/* The allocator has C++'s operators, too, which need not call malloc. */
bool tp_real_heap_has_new(void);
/* The program was built with one that has a malloc of its own. */
bool tp_real_has_sanitizer(void);

/* dlsym(RTLD_NEXT), and no trace of a failure left for the program's dlerror(). NULL: none. */
void *tp_real_next(const char *name);

#endif

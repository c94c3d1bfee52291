/* SPDX-License-Identifier: Apache-2.0 */
/*
 * whole_blocks.c - large blocks of the merge, used again from one execution to the next
 *
 * The sanitizer maps and unmaps each block of 128 KiB or more, and its shadow with it: more than half
 * of the time of an execution. These come from lists, by size; what is beyond a block, and a free
 * block, is poisoned as the sanitizer would have done it. Linked by --wrap=malloc and so on.
 */
#include <malloc.h>
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	SMALLEST_BITS = 17,	/* below: the sanitizer's own */
	LARGEST_BITS = 26,	/* above: likewise */
	SIZES = LARGEST_BITS - SMALLEST_BITS + 1,
	SPARE = 2,		/* free blocks of a size that are not used again yet */
	GAP = 4096,		/* poisoned, in front of each */
	FILLED = 4096,		/* bytes of a new block that hold no zeros, as with the sanitizer */
};

#define REGION (4ull << 30)

struct block {
	struct block *next;
	void *at;
	size_t n;		/* of which the program has so many */
	uint8_t size;		/* 1 << (SMALLEST_BITS + size) bytes, GAP among them */
	bool is_used;		/* once at least: its bytes are not zero */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *region;
static size_t n_region;
/* By the number of the smallest block in the region at which they begin. */
static struct block block[REGION >> SMALLEST_BITS];
static struct {
	struct block *oldest, *newest;
	uint32_t n;
} list[SIZES];

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t each);
void *__real_realloc(void *at, size_t n);
void __real_free(void *at);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t each);
void *__wrap_realloc(void *at, size_t n);
void __wrap_free(void *at);

static bool is_ours(const void *at)
{
	return region && (const char *)at >= region && (const char *)at < region + REGION;
}

static struct block *block_at(const void *at)
{
	struct block *one = &block[(size_t)((const char *)at - region) >> SMALLEST_BITS];

	/* Neither where one begins nor in use: the sanitizer says what it is. */
	if (one->at != at || !one->n)
		__asan_report_error(__builtin_return_address(0), __builtin_frame_address(0),
				    __builtin_frame_address(0), (void *)(uintptr_t)at, 1, 1);
	return one;
}

static struct block *new_block(uint32_t size)
{
	size_t bytes = (size_t)1 << (SMALLEST_BITS + size);
	struct block *one;

	if (!region) {
		region = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (region == MAP_FAILED)
			abort();
	}
	if (REGION - n_region < bytes)
		return NULL;
	one = &block[n_region >> SMALLEST_BITS];
	one->at = region + n_region + GAP;
	one->size = (uint8_t)size;
	__asan_poison_memory_region(region + n_region, bytes);
	n_region += bytes;
	return one;
}

/* NULL: not of a size that is kept here, or no room. */
static void *take(size_t n, bool is_zero)
{
	struct block *one;
	uint32_t size;
	bool was_used;

	if (n + GAP <= (size_t)1 << (SMALLEST_BITS - 1) || n + GAP > (size_t)1 << LARGEST_BITS)
		return NULL;
	for (size = 0; n + GAP > (size_t)1 << (SMALLEST_BITS + size);)
		size++;
	pthread_mutex_lock(&lock);
	one = list[size].oldest;
	if (one && list[size].n > SPARE) {
		list[size].oldest = one->next;
		list[size].n--;
	} else {
		one = new_block(size);
	}
	if (one)
		one->n = n;
	pthread_mutex_unlock(&lock);
	if (!one)
		return NULL;
	was_used = one->is_used;
	one->is_used = true;
	__asan_unpoison_memory_region(one->at, n);
	if (is_zero && was_used)
		madvise((void *)one->at, ((size_t)1 << (SMALLEST_BITS + size)) - GAP, MADV_DONTNEED);
	else if (!is_zero)
		memset(one->at, 0xbe, n < FILLED ? n : FILLED);
	return one->at;
}

static void give(void *at)
{
	struct block *one = block_at(at);

	__asan_poison_memory_region(at, one->n);
	pthread_mutex_lock(&lock);
	one->n = 0;
	one->next = NULL;
	if (list[one->size].n++)
		list[one->size].newest->next = one;
	else
		list[one->size].oldest = one;
	list[one->size].newest = one;
	pthread_mutex_unlock(&lock);
}

void *__wrap_malloc(size_t n)
{
	void *at = take(n, false);

	return at ? at : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t each)
{
	size_t bytes;
	void *at = __builtin_mul_overflow(n, each, &bytes) ? NULL : take(bytes, true);

	return at ? at : __real_calloc(n, each);
}

void *__wrap_realloc(void *at, size_t n)
{
	size_t had = !at ? 0 : is_ours(at) ? block_at(at)->n : malloc_usable_size(at);
	void *to = take(n, false);

	if (!to) {
		if (!at || !is_ours(at))
			return __real_realloc(at, n);
		to = __real_malloc(n);
		if (!to)
			return NULL;
	}
	if (at) {
		memcpy(to, at, had < n ? had : n);
		__wrap_free(at);
	}
	return to;
}

void __wrap_free(void *at)
{
	if (at && is_ours(at))
		give(at);
	else
		__real_free(at);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_family.c - every function of the malloc family, before main, in threads that end, and
 * after main; says what does not behave as the manual page says
 *
 * usage: heap_family [THREADS [common]]      common: without what many a malloc lacks
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int n_wrong, is_common;
#define CHECK(condition)                                                                   \
	do {                                                                               \
		if (!(condition)) {                                                        \
			printf("line %d: not so: %s\n", __LINE__, #condition);             \
			__atomic_fetch_add(&n_wrong, 1, __ATOMIC_RELAXED);                 \
		}                                                                          \
	} while (0)

static char *early;
static __attribute__((constructor(101))) void allocate_early(void)
{
	early = malloc(100);
	strcpy(early, "early");
}

static __attribute__((destructor(101))) void free_late(void)
{
	early = realloc(early, 5000);
	if (strcmp(early, "early"))
		puts("the early block was lost");
	free(early);
	free(malloc(10));
}

/* Compilers know malloc too well (to one it never sets errno): build with -fno-builtin. */
static volatile size_t huge = SIZE_MAX / 2;

static int is_aligned(const void *block, size_t align)
{
	return block && (uintptr_t)block % align == 0;
}

static void try_all(void)
{
	char *block, *other;
	void *aligned = NULL;

	block = malloc(0);
	CHECK(block);
	free(block);
	block = calloc(1000, 3);
	CHECK(block && !block[0] && !block[2999]);
	strcpy(block, "kept");
	block = realloc(block, 100000);
	CHECK(block && !strcmp(block, "kept"));
	block = reallocarray(block, 10, 5);
	CHECK(block && !strcmp(block, "kept"));
	CHECK(malloc_usable_size(block) >= 50);
	other = realloc(NULL, 77);
	CHECK(other);
	free(other);
	free(block);
	free(NULL);

	CHECK(!posix_memalign(&aligned, 64, 1000) && is_aligned(aligned, 64));
	free(aligned);
	CHECK(posix_memalign(&aligned, 3, 1000) == EINVAL);
	aligned = aligned_alloc(256, 512);
	CHECK(is_aligned(aligned, 256));
	free(aligned);
	aligned = memalign(4096, 10);
	CHECK(is_aligned(aligned, 4096));
	free(aligned);
	aligned = valloc(10);
	CHECK(is_aligned(aligned, 4096));
	free(aligned);
	if (!is_common) {
		aligned = pvalloc(10);
		CHECK(is_aligned(aligned, 4096) && malloc_usable_size(aligned) >= 4096);
		free(aligned);
	}

	errno = 0;
	other = malloc(huge + huge);
	CHECK(!other && errno == ENOMEM);
	errno = 0;
	other = calloc(huge, 3);
	CHECK(!other && errno == ENOMEM);
	block = malloc(10);
	errno = 0;
	other = realloc(block, huge + huge);
	CHECK(!other && errno == ENOMEM);
	errno = 0;
	/* A refusal leaves the block alive. */
	other = reallocarray(other ? other : block, huge, 3);
	CHECK(!other && errno == ENOMEM);
	errno = 99;
	free(other ? other : block);
	block = malloc(10);
	CHECK(block && errno == 99);
	free(block);
}

static pthread_key_t key;
static void free_at_thread_end(void *block)
{
	free(block);
	free(malloc(20));
}

static void *run_thread(void *given)
{
	pthread_setspecific(key, malloc(30));
	try_all();
	free(given);
	return malloc(40);
}

int main(int argc, char **argv)
{
	int n_threads = argc > 1 ? atoi(argv[1]) : 8;
	enum { AT_ONCE = 300 };
	pthread_t thread[AT_ONCE];
	void *returned;

	is_common = argc > 2;
	try_all();
	pthread_key_create(&key, free_at_thread_end);
	while (n_threads > 0) {
		int n = n_threads < AT_ONCE ? n_threads : AT_ONCE;

		for (int i = 0; i < n; i++)
			CHECK(!pthread_create(&thread[i], NULL, run_thread, malloc(50)));
		for (int i = 0; i < n; i++) {
			pthread_join(thread[i], &returned);
			free(returned);
		}
		n_threads -= n;
	}
	printf("%d wrong\n", n_wrong);
	return n_wrong != 0;
}

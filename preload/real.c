/* SPDX-License-Identifier: Apache-2.0 */
/*
 * real.c - finding the real malloc family, also before malloc works
 *
 * Each entry of the table begins as a function of this file that looks all of them up, then
 * calls the one that it stood for. The lookup may allocate: such calls come back here on the
 * same thread, see the guard, and are served from the boot heap. Two threads may look up at
 * once; both store the same addresses.
 */
#include "preload/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "preload/boot_heap.h"
#include "preload/export.h"
#include "preload/guard.h"
#include "runtime/base/sync.h"

__thread uint32_t tp_guard __attribute__((tls_model("initial-exec"), visibility("hidden")));

/*
 * A search that finds something takes the failure before it back. dlerror() would do so, too, but translates
 * it first: with the lock of locales, which a thread that asks for its first memory inside newlocale() holds.
 */
static void forget_failure(void)
{
	(void)dlsym(RTLD_DEFAULT, "free");
}

TP_EARLY void *tp_real_next(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	if (!function)
		forget_failure();
	return function;
}

/* No such function anywhere below us: the honest answer is that there is no memory. */
static int no_posix_memalign(void **block, size_t align, size_t bytes)
{
	return ENOMEM;
}

static void *no_aligned(size_t align, size_t bytes)
{
	errno = ENOMEM;
	return NULL;
}

static void *no_sized(size_t bytes)
{
	errno = ENOMEM;
	return NULL;
}

static size_t no_usable_size(void *block)
{
	return 0;
}

static void *find_next(const char *name, void *otherwise)
{
	void *function = tp_real_next(name);

	return function ? function : otherwise;
}

/* A sanitizer's malloc_usable_size may not be called before the sanitizer has begun. */
bool tp_real_has_sanitizer(void)
{
	static const char *const begin[] = { "__asan_init", "__tsan_init", "__msan_init" };

	for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++) {
		if (dlsym(RTLD_DEFAULT, begin[i]))
			return true;
	}
	forget_failure();
	return false;
}

/* malloc and malloc_usable_size may be of two libraries: one that is preloaded need not have
 * both. */
static bool is_of_one_library(void *a, void *b)
{
	Dl_info of_a, of_b;

	return a && b && dladdr(a, &of_a) && dladdr(b, &of_b) && of_a.dli_fbase == of_b.dli_fbase;
}

#define FIND(fn, otherwise) (found.fn = (__typeof__(found.fn))find_next(#fn, (void *)(otherwise)))
/* NULL: nothing to put there; the entry goes on serving from the boot heap. */
#define STORE(fn)                                                                          \
	do {                                                                               \
		if (found.fn)                                                              \
			__atomic_store_n(&tp_real_heap.fn, found.fn, __ATOMIC_RELAXED);    \
	} while (0)

/*
 * False: this thread is already looking; serve it from the boot heap. All are looked up before
 * the first is put to use: a block that came from here meanwhile must not meet a real function
 * that does not know it, nor a real one a function from here.
 */
static bool find_heap(void)
{
	struct tp_real_heap found;

	if (!tp_guard_enter())
		return false;
	FIND(malloc, NULL);
	FIND(calloc, NULL);
	FIND(realloc, NULL);
	FIND(free, NULL);
	FIND(posix_memalign, no_posix_memalign);
	FIND(aligned_alloc, no_aligned);
	FIND(memalign, no_aligned);
	FIND(valloc, no_sized);
	FIND(pvalloc, no_sized);
	FIND(malloc_usable_size, no_usable_size);
	found.size_of = no_usable_size;
	if (is_of_one_library((void *)found.malloc, (void *)found.malloc_usable_size) &&
	    !tp_real_has_sanitizer())
		found.size_of = found.malloc_usable_size;
	/* What takes blocks before what gives them: another thread may be between two stores. */
	STORE(free);
	STORE(realloc);
	STORE(malloc_usable_size);
	STORE(size_of);
	STORE(posix_memalign);
	STORE(aligned_alloc);
	STORE(memalign);
	STORE(valloc);
	STORE(pvalloc);
	STORE(calloc);
	STORE(malloc);
	tp_guard_leave();
	return true;
}

static void *boot_malloc(size_t bytes);
static void boot_free(void *block);

/* True: the real functions are there now. */
static bool is_found(void)
{
	return find_heap() &&
	       __atomic_load_n(&tp_real_heap.malloc, __ATOMIC_RELAXED) != boot_malloc &&
	       __atomic_load_n(&tp_real_heap.free, __ATOMIC_RELAXED) != boot_free;
}

static void *take_boot(size_t bytes, size_t align)
{
	void *block = tp_boot_alloc(bytes, align);

	if (!block)
		errno = ENOMEM;
	return block;
}

static void *boot_malloc(size_t bytes)
{
	return is_found() ? tp_real_heap.malloc(bytes) : take_boot(bytes, 16);
}

static void *boot_calloc(size_t n, size_t bytes)
{
	size_t all;

	if (is_found())
		return tp_real_heap.calloc(n, bytes);
	if (__builtin_mul_overflow(n, bytes, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	return take_boot(all, 16);
}

/* Not called with a block of the boot heap: hook_heap.c keeps those to itself. */
static void *boot_realloc(void *block, size_t bytes)
{
	if (is_found())
		return tp_real_heap.realloc(block, bytes);
	if (!block)
		return take_boot(bytes, 16);
	errno = ENOMEM;
	return NULL;
}

static void boot_free(void *block)
{
	/* Otherwise it is nobody's that we know: it is left alone. */
	if (is_found())
		tp_real_heap.free(block);
}

static int boot_posix_memalign(void **block, size_t align, size_t bytes)
{
	void *got;

	if (is_found())
		return tp_real_heap.posix_memalign(block, align, bytes);
	got = tp_boot_alloc(bytes, align);
	if (!got)
		return ENOMEM;
	*block = got;
	return 0;
}

static void *boot_aligned_alloc(size_t align, size_t bytes)
{
	return is_found() ? tp_real_heap.aligned_alloc(align, bytes) : take_boot(bytes, align);
}

static void *boot_memalign(size_t align, size_t bytes)
{
	return is_found() ? tp_real_heap.memalign(align, bytes) : take_boot(bytes, align);
}

static void *boot_valloc(size_t bytes)
{
	return is_found() ? tp_real_heap.valloc(bytes) : take_boot(bytes, 4096);
}

static void *boot_pvalloc(size_t bytes)
{
	return is_found() ? tp_real_heap.pvalloc(bytes) : take_boot((bytes + 4095) & ~4095ul, 4096);
}

static size_t boot_usable_size(void *block)
{
	return is_found() ? tp_real_heap.malloc_usable_size(block) : 0;
}

/* Nothing that was given out so far is known to the real one. */
static size_t boot_size_of(void *block)
{
	return is_found() ? tp_real_heap.size_of(block) : 0;
}

struct tp_real_heap tp_real_heap = {
	.malloc = boot_malloc,
	.calloc = boot_calloc,
	.realloc = boot_realloc,
	.free = boot_free,
	.posix_memalign = boot_posix_memalign,
	.aligned_alloc = boot_aligned_alloc,
	.memalign = boot_memalign,
	.valloc = boot_valloc,
	.pvalloc = boot_pvalloc,
	.malloc_usable_size = boot_usable_size,
	.size_of = boot_size_of,
};

void tp_real_heap_find(void)
{
	if (__atomic_load_n(&tp_real_heap.malloc, __ATOMIC_RELAXED) == boot_malloc)
		find_heap();
}

bool tp_real_heap_has_new(void)
{
	void *make = dlsym(RTLD_DEFAULT, "_Znwm");

	if (!make)
		forget_failure();
	return is_of_one_library(make, (void *)tp_real_heap.malloc);
}

bool tp_real_heap_has_sizes(void)
{
	return __atomic_load_n(&tp_real_heap.size_of, __ATOMIC_RELAXED) != no_usable_size;
}

bool tp_real_heap_is_glibc(void)
{
	return tp_real_heap_has_sizes() &&
	       is_of_one_library(tp_real_next("gnu_get_libc_version"), (void *)tp_real_heap.malloc);
}

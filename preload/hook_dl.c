/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_dl.c - libraries that go, and the list of those that are there
 *
 * dl_iterate_phdr is how an unwinder finds the tables of a library, and takes the loader's lock.
 * A thread that learns unwind rules inside malloc must not wait for that: its lookups are
 * answered by runtime/probe/stack/stack_unwind.h; everybody else's go to the real function. dlclose
 * is followed because what was learnt of a library's code ends with it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>

#include "preload/export.h"
#include "preload/real.h"
#include "runtime/base/loader.h"
#include "runtime/probe/stack/stack.h"
#include "runtime/probe/stack/stack_unwind.h"

typedef int (*each_fn)(struct dl_phdr_info *info, size_t bytes, void *ctx);

static struct {		/* atomic; threads may find them at once */
	int (*iterate)(each_fn each, void *ctx);
	int (*close)(void *library);
} real;

TP_EXPORT int dl_iterate_phdr(each_fn each, void *ctx)
{
	int (*iterate)(each_fn, void *) = __atomic_load_n(&real.iterate, __ATOMIC_RELAXED);

	if (tp_unlikely(tp_stack_unwind_inside))
		return tp_stack_unwind_objects(each, ctx);
	if (tp_unlikely(!iterate)) {
		*(void **)&iterate = tp_real_next("dl_iterate_phdr");
		if (!iterate)
			return 0;
		__atomic_store_n(&real.iterate, iterate, __ATOMIC_RELAXED);
	}
	if (tp_unlikely(tp_loader_is_ours)) {
		int result;

		tp_spin_lock(&tp_loader_lock);
		result = iterate(each, ctx);
		tp_spin_unlock(&tp_loader_lock);
		return result;
	}
	return iterate(each, ctx);
}

TP_EXPORT int dlclose(void *library)
{
	int (*close)(void *) = __atomic_load_n(&real.close, __ATOMIC_RELAXED);
	int result, kept_errno;

	if (tp_unlikely(!close)) {
		*(void **)&close = tp_real_next("dlclose");
		if (!close)
			return -1;
		__atomic_store_n(&real.close, close, __ATOMIC_RELAXED);
	}
	result = close(library);
	kept_errno = errno;
	tp_stack_unmapped();
	errno = kept_errno;
	return result;
}

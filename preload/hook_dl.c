/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_dl.c - libraries that go, the list of those that are there, and what one does on its way in
 *
 * Who reads the list with dl_iterate_phdr holds the loader's lock: our own thread does so only
 * where no fork can meet it (runtime/base/loader.h); everybody else's calls go to the real function.
 * dlclose is followed because what was learnt of a library's code ends with it. libunwind opens a
 * pipe when it makes itself ready, which it is refused: the descriptors are the guest's.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/export.h"
#include "preload/real.h"
#include "runtime/base/loader.h"
#include "runtime/probe/stack/stack.h"
#include "runtime/probe/stack/stack_libunwind.h"

typedef int (*each_fn)(struct dl_phdr_info *info, size_t bytes, void *ctx);

static struct {		/* atomic; threads may find them at once */
	int (*iterate)(each_fn each, void *ctx);
	int (*close)(void *library);
} real;

/* A sanitizer calls it before its own memory is there. */
TP_EXPORT TP_EARLY int dl_iterate_phdr(each_fn each, void *ctx)
{
	int (*iterate)(each_fn, void *) = __atomic_load_n(&real.iterate, __ATOMIC_RELAXED);

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

/* Not forwarded: a child of vfork and a signal's handler may call it, in which no real function
 * can be looked for; it is the system call, and nothing else, everywhere. */
TP_EXPORT int pipe2(int descriptor[2], int flags)
{
	if (tp_unlikely(tp_stack_no_pipe)) {
		errno = EMFILE;
		return -1;
	}
	return (int)syscall(SYS_pipe2, descriptor, flags);
}

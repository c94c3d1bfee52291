/* SPDX-License-Identifier: Apache-2.0 */
/*
 * real_torch.h - the functions of torch's behind our names
 *
 * torch's libraries are RTLD_LOCAL: what comes after us (RTLD_NEXT) does not have them. They are found in
 * the library's own handle, by its file's name; where files have other names, as those of a repaired wheel,
 * in the library that calls, which is bound to the function. Threads: any. errno is kept.
 */
#ifndef TP_PRELOAD_REAL_TORCH_H
#define TP_PRELOAD_REAL_TORCH_H

#include <stddef.h>

#include "runtime/base/sync.h"

#define TP_LIBC10 "libc10.so"
#define TP_LIBTORCH_CPU "libtorch_cpu.so"

/* `caller`: an address in the library that calls. NULL: it is nowhere, and nobody can have called it. */
TP_COLD void *tp_real_torch_find(const char *stem, const char *symbol, const void *caller);

/* The same, once, for the hook in which this stands. */
static inline __attribute__((always_inline)) void *tp_real_torch(void **cached, const char *stem,
								 const char *symbol)
{
	void *real = __atomic_load_n(cached, __ATOMIC_RELAXED);

	if (tp_unlikely(!real)) {
		real = tp_real_torch_find(stem, symbol, __builtin_return_address(0));
		__atomic_store_n(cached, real, __ATOMIC_RELAXED);
	}
	return real;
}

#endif

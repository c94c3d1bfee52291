/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader.h - the loader's list: what is in it; on our own thread, and fork
 *
 * Who reads the list holds a lock of the loader. A child of fork gets that lock as it is, and when it
 * was held by our thread, which the child does not have, nothing can be loaded in it ever again. So our
 * thread holds a lock of ours around it, and fork waits for that one first, for a moment.
 */
#ifndef TP_BASE_LOADER_H
#define TP_BASE_LOADER_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/sync.h"

extern struct tp_spin tp_loader_lock;
/*
 * The path of a library that is loaded, of a file whose name begins with `stem`. False: none.
 * Does not wait for a dlopen in progress, as dlopen with RTLD_NOLOAD does: that may run
 * constructors for seconds, and the caller may be the drain.
 */
bool tp_loader_find(const char *stem, char path[512]);

/* This thread is the drain's. */
extern __thread bool tp_loader_is_ours __attribute__((tls_model("initial-exec")));

#endif

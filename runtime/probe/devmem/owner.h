/* SPDX-License-Identifier: Apache-2.0 */
/*
 * owner.h - which library asked CUDA for memory: an estimate, from the words on the stack
 *
 * Inside a callback of CUPTI the stack holds frames of the driver, of which nothing is known:
 * an unwinder would read tables under the loader's lock (a deadlock, when a constructor that
 * dlopen runs waits for CUDA) and trust what it reads. Instead the words above the callback are
 * looked at, a bounded number of them, and the first return address counts whose call leads
 * from elsewhere into a CUDA library, or into a function that jumps there; where calls are made
 * through pointers (a CUDA runtime that is linked statically, dlsym), the first return address
 * behind such a call that is not a language runtime's. Old words in gaps of the frames can look
 * like that too: what comes out is right mostly, not always.
 *
 * What is mapped where is looked up in owner_objects.h's snapshot; memory is read only where the
 * kernel says that it can be. No allocation, no lock. Threads: any, also inside callbacks.
 */
#ifndef TP_PROBE_OWNER_H
#define TP_PROBE_OWNER_H

#include <stdint.h>

enum { TP_OWNER_SCAN_BYTES = 16 << 10 };

/* An address in the code that asked, seen from here; NULL: not found. Callbacks. */
const void *tp_owner_caller(void);
/* The same among the words from `stack` on, at most n_bytes. */
const void *tp_owner_caller_in(const void *stack, uint32_t n_bytes);

#endif

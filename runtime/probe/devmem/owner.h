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
 * What is mapped where is a snapshot (tp_owner_refresh); code of libraries that came later is
 * not known, except where the C library tells without a lock (glibc 2.35). No allocation, a short
 * spin lock around names; memory is read only where the kernel says that it can be.
 */
#ifndef TP_PROBE_OWNER_H
#define TP_PROBE_OWNER_H

#include <stdbool.h>
#include <stdint.h>

enum { TP_OWNER_SCAN_BYTES = 16 << 10 };

/* Takes the snapshot anew when libraries came or went. Takes the loader's lock: not from a
 * callback. One thread at a time does it, others return at once. */
void tp_owner_refresh(void);

/* An address in the code that asked, seen from here; NULL: not found. Callbacks. */
const void *tp_owner_caller(void);
/* The same among the words from `stack` on, at most n_bytes. */
const void *tp_owner_caller_in(const void *stack, uint32_t n_bytes);

/* Number of the library at that address; 0: not known. */
uint16_t tp_owner_of(const void *address);
/* In the child of fork. */
void tp_owner_forked(void);

/* Its path; "" for 0. The text is for ever. */
const char *tp_owner_path(uint16_t owner);

#endif

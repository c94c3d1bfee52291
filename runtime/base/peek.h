/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peek.h - reads memory of this process that may be gone
 *
 * By the kernel's hand (process_vm_readv on ourselves): what is not there is an error and no fault. Under a
 * filter of system calls that may end the process for it nothing is read (sandbox.h). Any thread; no
 * cancellation point, no descriptor. errno is the call's; EPERM where it may not be made.
 */
#ifndef TP_BASE_PEEK_H
#define TP_BASE_PEEK_H

#include <stddef.h>

/* How many of the n bytes at `from` could be read into `to`, from the first on. */
size_t tp_peek(const void *from, void *to, size_t n);

#endif

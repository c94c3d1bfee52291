/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peek.c - reads memory of this process that may be gone: see peek.h
 */
#include "runtime/base/peek.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/base/sandbox.h"

size_t tp_peek(const void *from, void *to, size_t n)
{
	struct iovec own = {to, n}, other = {(void *)from, n};
	ssize_t got;

	if (!tp_sandbox_allows(TP_SANDBOX_READV)) {
		errno = EPERM;
		return 0;
	}
	got = process_vm_readv(getpid(), &own, 1, &other, 1, 0);
	return got > 0 ? (size_t)got : 0;
}

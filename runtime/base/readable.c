/* SPDX-License-Identifier: Apache-2.0 */
/*
 * readable.c - may this memory be read? The kernel is asked
 *
 * An emulator or a filter of system calls may refuse before it looks at the memory, and that
 * would read as a yes to everything. So the first one to ask asks about memory that is there and
 * about memory that cannot be, too.
 */
#include "runtime/base/readable.h"

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { UNKNOWN, TRUSTED, NOT_TRUSTED };

/*
 * The kernel copies the new mask in before it looks at `how`, which is no valid one:
 * EINVAL says that the bytes were there, EFAULT that they were not. Nothing changes.
 */
static bool ask(const void *p)
{
	return syscall(SYS_rt_sigprocmask, -1, p, NULL, 8) == -1 && errno == EINVAL;
}

/* Any thread finds the same. */
static bool can_ask(void)
{
	static uint32_t known;	/* atomic */
	const uint64_t here = 0;
	uint32_t is = __atomic_load_n(&known, __ATOMIC_RELAXED);

	if (is == UNKNOWN) {
		is = ask(&here) && !ask((const void *)-8l) ? TRUSTED : NOT_TRUSTED;
		__atomic_store_n(&known, is, __ATOMIC_RELAXED);
	}
	return is == TRUSTED;
}

bool tp_is_readable(const void *p)
{
	int kept_errno = errno;
	bool is_readable = (uintptr_t)p >= 4096 && can_ask() && ask(p);

	errno = kept_errno;
	return is_readable;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pystack_pages.c - may this memory be read? Pages that the kernel was asked about
 */
#include "runtime/probe/python/pystack_pages.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

bool tp_pystack_ask(struct tp_pystack_pages *pages, uintptr_t page)
{
	int kept_errno = errno;
	bool is_readable;

	/* The kernel reads the mask before it finds that this is no way to change one. */
	syscall(SYS_rt_sigprocmask, ~0, page << TP_PYSTACK_PAGE_BITS, NULL, sizeof(uint64_t));
	is_readable = errno != EFAULT;
	errno = kept_errno;
	if (is_readable)
		pages->page[page % TP_PYSTACK_PAGES] = page;
	return is_readable;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pystack_pages.c - may this memory be read? Pages that the kernel was asked about
 */
#include "runtime/probe/python/pystack_pages.h"

#include "runtime/base/readable.h"

bool tp_pystack_ask(struct tp_pystack_pages *pages, uintptr_t page)
{
	if (!tp_is_readable((const void *)(page << TP_PYSTACK_PAGE_BITS)))
		return false;
	pages->page[page % TP_PYSTACK_PAGES] = page;
	return true;
}

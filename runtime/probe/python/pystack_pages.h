/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pystack_pages.h - may this memory be read? Pages that the kernel was asked about
 *
 * A handler of a signal may allocate while the interpreter is between two words of a new frame;
 * then what stands there is of an older one, whose memory may be gone. A page that could be read
 * once is taken for readable until they are forgotten, now and then.
 */
#ifndef TP_PROBE_PYSTACK_PAGES_H
#define TP_PROBE_PYSTACK_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/base/readable.h"
#include "runtime/base/sync.h"

enum { TP_PYSTACK_PAGES = 256, TP_PYSTACK_PAGE_BITS = 12 };

struct tp_pystack_pages {
	uintptr_t page[TP_PYSTACK_PAGES];	/* number, 0: empty */
};

static inline void tp_pystack_forget_pages(struct tp_pystack_pages *pages)
{
	memset(pages->page, 0, sizeof(pages->page));
}

/* Asks the kernel and remembers. errno kept. */
static inline bool tp_pystack_ask(struct tp_pystack_pages *pages, uintptr_t page)
{
	if (!tp_is_readable((const void *)(page << TP_PYSTACK_PAGE_BITS)))
		return false;
	pages->page[page % TP_PYSTACK_PAGES] = page;
	return true;
}

static inline bool tp_pystack_can_read(struct tp_pystack_pages *pages, const char *p, size_t n)
{
	uintptr_t page = (uintptr_t)p >> TP_PYSTACK_PAGE_BITS;
	uintptr_t last = ((uintptr_t)p + n - 1) >> TP_PYSTACK_PAGE_BITS;

	for (; page <= last; page++) {
		if (tp_unlikely(pages->page[page % TP_PYSTACK_PAGES] != page) &&
		    !tp_pystack_ask(pages, page))
			return false;
	}
	return true;
}

#endif

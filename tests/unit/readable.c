/* SPDX-License-Identifier: Apache-2.0 */
/*
 * readable.c - memory that can be read is told from memory that cannot
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#include "runtime/base/readable.h"

Test(readable, tells_memory_that_can_be_read)
{
	static const uint64_t here;

	cr_expect(tp_is_readable(&here));
	cr_expect_not(tp_is_readable(NULL));
	cr_expect_not(tp_is_readable((const void *)8));
	cr_expect_not(tp_is_readable((const void *)0x00007ffffffff000ull));
	cr_expect_not(tp_is_readable((const void *)0xdead00000000ull));
	cr_expect_not(tp_is_readable((const void *)UINTPTR_MAX));
}

Test(readable, follows_what_becomes_of_a_page_and_keeps_errno)
{
	char *pages = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert(pages != MAP_FAILED);
	cr_assert_eq(mprotect(pages + 4096, 4096, PROT_NONE), 0);
	errno = ENOENT;
	cr_expect(tp_is_readable(pages + 4088));
	cr_expect_not(tp_is_readable(pages + 4089), "its last byte lies in the other page");
	cr_expect_not(tp_is_readable(pages + 4096));
	cr_expect_eq(errno, ENOENT);
	munmap(pages, 8192);
	cr_expect_not(tp_is_readable(pages));
}

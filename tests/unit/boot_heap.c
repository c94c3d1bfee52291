/* SPDX-License-Identifier: Apache-2.0 */
/* The heap that serves the dynamic linker before malloc is known. */
#include <criterion/criterion.h>

#include <stdint.h>
#include <string.h>

/* Not linked into tests: the hooks beside it would be this program's malloc. */
#include "preload/boot_heap.c"

Test(boot_heap, aligns_zeroes_and_remembers_sizes)
{
	static const struct {
		size_t bytes, align, wanted_align;
	} cases[] = {
		{ 0, 0, 16 }, { 1, 1, 16 }, { 100, 16, 16 }, { 33, 64, 64 }, { 10, 4096, 4096 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned char *block = tp_boot_alloc(cases[i].bytes, cases[i].align);

		cr_assert(block);
		cr_expect_eq((uintptr_t)block % cases[i].wanted_align, 0);
		cr_expect_eq(tp_boot_size(block), cases[i].bytes);
		cr_expect(tp_boot_owns(block));
		cr_expect(tp_heap_size_word(block) & TP_HEAP_SIZE_MAPPED, "free looks closer");
		for (size_t k = 0; k < cases[i].bytes; k++)
			cr_expect_eq(block[k], 0);
		memset(block, 0xff, cases[i].bytes);
	}
}

Test(boot_heap, blocks_do_not_overlap)
{
	char *block[50];

	for (int i = 0; i < 50; i++) {
		block[i] = tp_boot_alloc(24, 16);
		memset(block[i], i, 24);
	}
	for (int i = 0; i < 50; i++) {
		for (int k = 0; k < 24; k++)
			cr_expect_eq(block[i][k], i);
		cr_expect_eq(tp_boot_size(block[i]), 24);
	}
}

Test(boot_heap, refuses_what_does_not_fit_and_goes_on)
{
	cr_expect_null(tp_boot_alloc(TP_BOOT_BYTES, 16));
	cr_expect_null(tp_boot_alloc(SIZE_MAX, 16));
	cr_expect_null(tp_boot_alloc(SIZE_MAX - 40, 16));
	cr_expect_null(tp_boot_alloc(1, (size_t)1 << 40));
	cr_expect(tp_boot_alloc(TP_BOOT_BYTES / 2, 16));
	cr_expect_null(tp_boot_alloc(TP_BOOT_BYTES / 2, 16));
	cr_expect(tp_boot_alloc(1000, 16));
}

Test(boot_heap, owns_only_its_own_bytes_to_the_last_block)
{
	int other;
	void *block, *last = NULL;

	cr_expect_not(tp_boot_owns(&other));
	cr_expect_not(tp_boot_owns(NULL));
	cr_expect_not(tp_boot_owns(tp_boot_bytes + TP_BOOT_BYTES));
	/* Also a block of no bytes at the very end. */
	while ((block = tp_boot_alloc(0, 16)) != NULL)
		last = block;
	cr_expect(tp_boot_owns(last));
}

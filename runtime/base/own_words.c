/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_words.c - words that no child process inherits: in every child they are 0
 */
#include "runtime/base/own_words.h"

#include <sys/mman.h>

/* All zero, so that it lies in memory without a file behind it: others are not cleared. */
union tp_own_words_page tp_own_words_page;

/* Children do inherit these. */
static bool has_begun;
static bool was_ours;		/* atomic: threads fork at once */

bool tp_own_words_begin(void)
{
#ifndef MADV_WIPEONFORK
	enum { MADV_WIPEONFORK = 18 };
#endif
	if (has_begun)
		return tp_own_words.is_ours;
	/* Kernel before 4.14, or refused: children of fork() are told apart all the same. */
	(void)madvise(&tp_own_words_page, sizeof(tp_own_words_page), MADV_WIPEONFORK);
	tp_own_words.is_ours = true;
	has_begun = true;
	return true;
}

bool tp_own_words_is_stranger(void)
{
	return has_begun && !tp_own_words.is_ours;
}

void tp_own_words_before_fork(void)
{
	__atomic_store_n(&was_ours, tp_own_words.is_ours, __ATOMIC_RELAXED);
}

void tp_own_words_forked(void)
{
	tp_own_words.is_ours = __atomic_load_n(&was_ours, __ATOMIC_RELAXED);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * need.h - memory that is there: who asks need not look whether it got any
 *
 * Without memory there is no result to give: tp_need_failed() says so once and ends the program with
 * exit status 1 (files that are not finished are removed at exit). For the thread of the pass; not
 * for sizes that an input names: those are bounded first.
 */
#ifndef TP_MERGE_NEED_H
#define TP_MERGE_NEED_H

#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>

#include "merge/kit/grow.h"
#include "merge/kit/keyed.h"

_Noreturn void tp_need_failed(void);
/* For a library, which must not end its program: this thread goes there instead (longjmp), silently.
 * What was being made is left as it is, and not freed. NULL: the program ends again. */
void tp_need_leave(jmp_buf *to);

/* n objects of `size` bytes, zeroed; the caller frees them. */
void *tp_need(size_t n, size_t size);

/* As tp_grow, which see. */
static inline void tp_need_room(void *array, uint32_t *cap, uint64_t need, size_t item)
{
	if (need > *cap && !tp_grow(array, cap, need, item))
		tp_need_failed();
}

/* As tp_keyed_add. */
static inline void tp_need_keyed(struct tp_keyed *keyed, uint32_t hash, uint32_t row)
{
	if (!tp_keyed_add(keyed, hash, row))
		tp_need_failed();
}

#endif

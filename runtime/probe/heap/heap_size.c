/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_size.c - whether a block's size stands in the word before it
 */
#include "runtime/probe/heap/heap_size.h"

static uint32_t n_to_try;	/* atomic; 0: decided */

void tp_heap_size_start(bool is_glibc)
{
#ifdef __x86_64__
	__atomic_store_n(&n_to_try, is_glibc ? TP_HEAP_SIZE_TRIES : 0, __ATOMIC_RELAXED);
#endif
}

TP_COLD size_t tp_heap_size_ask(tp_heap_size_fn ask, void *block)
{
	size_t size = ask(block), word;
	uint32_t left = __atomic_load_n(&n_to_try, __ATOMIC_RELAXED);

	if (!left || !block)
		return size;
	word = tp_heap_size_word(block);
	if (word & TP_HEAP_SIZE_MAPPED)
		return size;
	if (tp_heap_size_told(word) != size)
		__atomic_store_n(&n_to_try, 0, __ATOMIC_RELAXED);
	else if (__atomic_compare_exchange_n(&n_to_try, &left, left - 1, false, __ATOMIC_RELAXED,
					     __ATOMIC_RELAXED) && left == 1)
		tp_heap_change_mode(TP_HEAP_SIZED, 0);
	return size;
}

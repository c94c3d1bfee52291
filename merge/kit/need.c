/* SPDX-License-Identifier: Apache-2.0 */
/*
 * need.c - memory that is there, or the end of the program
 */
#include "merge/kit/need.h"

#include <stdio.h>

void tp_need_failed(void)
{
	fputs("trainprof-merge: out of memory: no result; choose steps, ranks or windows "
	      "(--steps, --ranks, --windows), or fewer views\n", stderr);
	exit(EXIT_FAILURE);
}

void *tp_need(size_t n, size_t size)
{
	void *memory = calloc(n ? n : 1, size);

	if (!memory)
		tp_need_failed();
	return memory;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * need.c - memory that is there, or the end of the program
 */
#include "merge/kit/need.h"

#include <stdio.h>

static _Thread_local jmp_buf *leave;

void tp_need_leave(jmp_buf *to)
{
	leave = to;
}

void tp_need_failed(void)
{
	if (leave)
		longjmp(*leave, 1);
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

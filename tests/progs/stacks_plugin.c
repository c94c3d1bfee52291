/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks_plugin.c - a library that is loaded and unloaded: compiled with several sizes of its
 * frame (BYTES), so that equal addresses mean other frames
 */
#include <stddef.h>

void *plug(void *(*then)(size_t), size_t bytes)
{
	volatile char room[BYTES];
	void *result;

	room[0] = 1;
	result = then(bytes);
	room[BYTES - 1] = 2;
	return result;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_now.c - finds one thread among the interpreter's, and names the frames of its stack
 */
#include "runtime/probe/python/pysample_now.h"

#include <string.h>

#include "runtime/engine/intern.h"
#include "runtime/engine/ring.h"
#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/python/pysample.h"
#include "runtime/probe/python/pysample_threads.h"

bool tp_pysample_of(uint32_t tid, struct tp_pysample_look *look)
{
	static struct tp_pysample_thread thread[TP_PYSAMPLE_THREADS];
	static uint32_t generation;
	uint32_t n;
	bool is_whole;

	if (!tp_pysample_can_read() || tp_pyapi_is_ending())
		return false;
	if (generation != tp_ring.generation)
		tp_pysample_forget();
	generation = tp_ring.generation;
	n = tp_pysample_threads(thread, &is_whole);
	for (uint32_t i = 0; i < n; i++)
		if (thread[i].tid == tid)
			return tp_pysample_look(thread[i].state, look) && look->n;
	return false;
}

bool tp_pysample_place(const struct tp_pysample_frame *frame, struct tp_pysample_place *place)
{
	uint32_t kind, n;
	const char *bytes, *end;

	if (frame->is_hidden || !frame->string ||
	    !tp_intern_get(NULL, frame->string, &kind, &bytes, &n) || kind != TP_STRING_PYFRAME)
		return false;
	end = memchr(bytes, '\0', n);
	if (!end)
		return false;
	place->function = bytes;
	place->n_function = (uint32_t)(end - bytes);
	place->file = end + 1;
	place->n_file = n - place->n_function - 1;
	place->line = frame->line;
	return true;
}

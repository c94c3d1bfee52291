/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pynow.c - finds one thread among the interpreter's, and names the frames of its stack
 */
#include "runtime/probe/hang/pynow.h"

#include <string.h>

#include "runtime/engine/intern.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/sample/pysample.h"
#include "runtime/probe/sample/pysample_names.h"
#include "runtime/probe/sample/pysample_threads.h"

/* The interpreter's state of thread `tid`; NULL: it has none, or states cannot be read. */
static const char *find_state(uint32_t tid)
{
	const struct tp_pysample_thread *thread;

	if (!tp_pysample_can_read() || tp_pyapi_is_ending())
		return NULL;
	thread = tp_pysample_thread_of(tid);
	return thread ? thread->state : NULL;
}

bool tp_pynow_stack(uint32_t tid, struct tp_pysample_look *look)
{
	/* Nothing is remembered of it: it is looked at until it is the same twice. */
	const struct tp_pysample_state kernel = { .tid = tid };
	struct tp_pysample_hint hint = { .n = 0 };
	static uint32_t generation;
	const char *state = find_state(tid);

	if (!state)
		return false;
	if (generation != tp_ring.generation)
		tp_pysample_forget();
	generation = tp_ring.generation;
	look->digest = 0;
	return tp_pysample_look(state, &kernel, &hint, look) == TP_PYSAMPLE_NAMED && look->n;
}

bool tp_pynow_is_inside(uint32_t tid, const char *const *functions, const char *file_end)
{
	struct tp_pysample_hint hint = { .n = 0 };
	static struct tp_pysample_look look;
	const char *state = find_state(tid);

	if (!state || !tp_pysample_frames(state, &hint, &look))
		return false;
	for (uint32_t i = 0; i < look.n; i++)
		for (uint32_t k = 0; functions[k]; k++)
			if (tp_pysample_names_is(&look.frame[i], functions[k], file_end))
				return true;
	return false;
}

bool tp_pynow_frame(const struct tp_pysample_frame *frame, struct tp_pynow_place *place)
{
	return !frame->is_hidden && tp_pynow_string(frame->string, frame->line, place);
}

bool tp_pynow_string(uint32_t string, uint32_t line, struct tp_pynow_place *place)
{
	uint32_t kind, n;
	const char *bytes, *end;

	if (!string || !tp_intern_get(NULL, string, &kind, &bytes, &n) || kind != TP_STRING_PYFRAME)
		return false;
	end = memchr(bytes, '\0', n);
	if (!end)
		return false;
	place->function = bytes;
	place->n_function = (uint32_t)(end - bytes);
	place->file = end + 1;
	place->n_file = n - place->n_function - 1;
	place->line = line;
	return true;
}

static bool is_in(const struct tp_pynow_place *place, const char *part)
{
	return memmem(place->file, place->n_file, part, strlen(part)) != NULL;
}

bool tp_pynow_is_library(const struct tp_pynow_place *place)
{
	return is_in(place, "/site-packages/") || is_in(place, "/dist-packages/") ||
	       is_in(place, "/lib/python3") || !place->n_file || place->file[0] == '<';
}

void tp_pynow_put(struct tp_text *out, const struct tp_pynow_place *place, bool is_short)
{
	const char *file = place->file;
	uint32_t n = place->n_file;

	for (uint32_t i = 0; is_short && i < place->n_file; i++) {
		if (place->file[i] == '/') {
			file = place->file + i + 1;
			n = place->n_file - i - 1;
		}
	}
	tp_text_fmt(out, "%.*s (%.*s:%u)", (int)place->n_function, place->function, (int)n, file,
		    place->line);
}

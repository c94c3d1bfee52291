/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_gc.c - where the interpreter says that it collects garbage: see pysample_gc.h
 */
#include "runtime/probe/sample/pysample_gc.h"

#include <string.h>

#include "runtime/base/peek.h"
#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/python/pyframe_layout.h"
#include "runtime/probe/sample/pysample_frames.h"

enum {
	SEARCHED = 64 << 10,	/* bytes of the interpreter's state */
	FIGURES = 3,		/* of a generation: collections, objects collected, and that could not be */
	WORDS = FIGURES * TP_PYSAMPLE_GENERATIONS,
	/* After those: an int, and the two lists. */
	COLLECTING = WORDS * 8, GARBAGE = COLLECTING + 8, CALLBACKS = GARBAGE + 8, BYTES = CALLBACKS + 8,
};

static const char *generations;	/* NULL: not found */

/* ---- where it is ---- */

/* The one place with both lists behind it; NULL: none, or several. */
static const char *find_figures(const char *interpreter, const void *garbage, const void *callbacks)
{
	static char copy[SEARCHED];
	const char *found = NULL;
	/* What follows the state may be somebody else's: by the kernel's hand, up to where memory ends. */
	const size_t n = tp_peek(interpreter, copy, sizeof(copy));
	uint32_t n_found = 0;

	for (size_t at = 0; at + BYTES <= n; at += 8) {
		if (tp_pyframe_ptr(copy + at, GARBAGE) != garbage ||
		    tp_pyframe_ptr(copy + at, CALLBACKS) != callbacks)
			continue;
		found = interpreter + at;
		n_found++;
	}
	return n_found == 1 ? found : NULL;
}

/* The figures of the generation that comes next; true: all of them. */
static bool take_figures(void *all, int64_t out[FIGURES])
{
	static const char *const name[FIGURES] = {"collections", "collected", "uncollectable"};
	void *figures = tp_py.next(all);
	uint32_t n = 0;

	for (; figures && n < FIGURES; n++) {
		void *value = tp_py.get_key(figures, name[n]);

		if (!value)
			break;
		out[n] = tp_py.as_long(value);
		tp_py.drop(value);
	}
	tp_pyapi_drop(figures);
	return n == FIGURES;
}

/* What gc.get_stats() says. */
static bool ask(void *module, int64_t out[WORDS])
{
	void *function = tp_pyapi_get(module, "get_stats");
	void *list = function && tp_pyapi_is_builtin(function) ? tp_py.call(function, NULL) : NULL;
	void *all = list ? tp_py.iterator(list) : NULL;
	uint32_t n = 0;

	while (all && n < TP_PYSAMPLE_GENERATIONS && take_figures(all, &out[n * FIGURES]))
		n++;
	tp_pyapi_drop(all);
	tp_pyapi_drop(list);
	tp_pyapi_drop(function);
	if (tp_py.error())
		tp_py.clear();
	return n == TP_PYSAMPLE_GENERATIONS;
}

const char *tp_pysample_gc_init(const char *interpreter)
{
	void *module = tp_py.dict_get(tp_py.modules(), "gc"), *garbage, *callbacks;
	int64_t before[WORDS], asked[WORDS];
	const char *found;

	if (!module)
		return "the module gc is not loaded";
	garbage = tp_pyapi_get(module, "garbage");
	callbacks = tp_pyapi_get(module, "callbacks");
	found = garbage && callbacks ? find_figures(interpreter, garbage, callbacks) : NULL;
	tp_pyapi_drop(garbage);
	tp_pyapi_drop(callbacks);
	if (!found)
		return "the garbage collector's state is not found";
	memcpy(before, found, sizeof(before));
	/* What is asked makes objects, which may have it collect: after it took the figures. */
	if (!ask(module, asked) || memcmp(before, asked, sizeof(before)) != 0)
		return "the garbage collector's figures are another way";
	generations = found;
	return NULL;
}

/* ---- what it says ---- */

bool tp_pysample_gc_read(struct tp_pysample_gc *gc)
{
	char bytes[GARBAGE];
	int32_t is_collecting;

	*gc = (struct tp_pysample_gc){.is_collecting = false};
	if (!generations || !tp_pysample_read(generations, bytes, sizeof(bytes)))
		return false;
	memcpy(&is_collecting, bytes + COLLECTING, sizeof(is_collecting));
	gc->is_collecting = is_collecting == 1;
	for (uint32_t i = 0; i < TP_PYSAMPLE_GENERATIONS; i++)
		memcpy(&gc->collections[i], bytes + i * FIGURES * 8, sizeof(gc->collections[i]));
	return true;
}

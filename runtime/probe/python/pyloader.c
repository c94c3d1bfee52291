/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pyloader.c - the dataset behind a loader's iterator, by the interpreter's public functions
 */
#include "runtime/probe/python/pyloader.h"

#include <string.h>

#include "runtime/base/text.h"
#include "runtime/probe/python/pyapi.h"

enum { WRAPPERS_MAX = 4 };

static const char wrappers_file[] = "/torch/utils/data/dataset.py";

static void append_attr(struct tp_text *out, void *object, const char *name)
{
	void *value = tp_pyapi_get(object, name);
	const char *text = value ? tp_py.as_utf8(value) : NULL;

	if (tp_py.error())
		tp_py.clear();
	tp_text_str(out, text ? text : "");
	tp_pyapi_drop(value);
}

/* The code object of the class's function that gives samples; NULL: it is none of Python's. */
static void *get_code(void *class)
{
	static const char *const names[] = { "__getitem__", "__iter__" };
	void *code = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !code; i++) {
		void *function = tp_pyapi_get(class, names[i]);

		if (!function)
			continue;
		code = tp_pyapi_get(function, "__code__");
		tp_py.drop(function);
	}
	return code;
}

/* Describes one object; true: it is a wrapper of torch's. */
static bool describe(void *dataset, struct tp_text *out)
{
	void *class = tp_pyapi_get(dataset, "__class__");
	void *code = class ? get_code(class) : NULL;
	bool is_wrapper = false;

	if (class) {
		append_attr(out, class, "__qualname__");
		tp_py.drop(class);
	}
	if (code) {
		const size_t n_end = sizeof(wrappers_file) - 1;

		tp_text_char(out, ' ');
		append_attr(out, code, "co_filename");
		is_wrapper = out->len > n_end &&
			     !memcmp(out->buf + out->len - n_end, wrappers_file, n_end);
		tp_text_fmt(out, ":%d", (int)tp_pyapi_number(code, "co_firstlineno", 0));
		tp_py.drop(code);
	}
	return is_wrapper;
}

void tp_pyloader_describe(void *iterator, char *text, size_t cap)
{
	void *dataset = tp_pyapi_get(iterator, "_dataset");
	struct tp_text out;

	text[0] = '\0';
	for (int i = 0; dataset && i < WRAPPERS_MAX; i++) {
		void *inner = NULL;

		tp_text_init(&out, text, cap);
		if (describe(dataset, &out))
			inner = tp_pyapi_get(dataset, "dataset");
		tp_py.drop(dataset);
		dataset = inner;
	}
	tp_pyapi_drop(dataset);
}

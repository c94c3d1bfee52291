/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keep_roots.c - where the walk begins: modules and classes of the program's own, local variables
 */
#include "runtime/probe/keep/keep_in.h"

#include <string.h>

#include "runtime/base/hash.h"
#include "runtime/base/own_python.h"
#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/python/pyframe.h"

enum { OTHERS = 1024 };		/* packages that are remembered */

static uint64_t known[OTHERS];	/* hashes of names of packages that are not the program's own */

/* The file of a module that is the program's own; NULL: it is not. Where one module of a package is not, none
 * is: there are a thousand of torch's. */
static const char *own_file(const char *name, void *module)
{
	const uint64_t hash = tp_hash_bytes(name, strcspn(name, "."), 0);
	uint64_t *others = &known[hash / 2 % OTHERS];
	void *globals, *file;
	const char *text;

	if (*others == hash)
		return NULL;
	globals = tp_keep_module_dict(module);
	file = globals ? tp_py.dict_get(globals, "__file__") : NULL;
	text = file && file != tp_py.none ? tp_pyapi_text(file) : NULL;
	if (!text)
		return globals && !strcmp(name, "__main__") ? "<stdin>" : NULL;
	if (tp_own_python(text))
		return text;
	*others = hash;
	return NULL;
}

/* Classes that others define are theirs. */
static bool is_of(void *class, const char *module)
{
	void *its = tp_pyapi_get(class, "__module__");
	const char *text = its ? tp_pyapi_text(its) : NULL;
	const bool is_it = text && !strcmp(text, module);

	tp_pyapi_drop(its);
	return is_it;
}

static bool is_code(enum tp_keep_kind kind)
{
	return kind == TP_KEEP_FUNCTION || kind == TP_KEEP_CLASS || kind == TP_KEEP_CACHE;
}

static void add_globals(const char *module, void *globals, const char *file, bool are_code)
{
	void *key, *value;
	ptrdiff_t at = 0;

	while (tp_py.dict_next(globals, &at, &key, &value)) {
		const char *name = tp_pyapi_text(key);
		const enum tp_keep_kind kind = tp_keep_kind_of(value);
		struct tp_keep_node *node;

		if (!name || tp_keep_is_dunder(name) || is_code(kind) != are_code ||
		    (kind == TP_KEEP_CLASS && !is_of(value, module)))
			continue;
		node = tp_keep_add(value, TP_WAY_VARIABLE, key, NULL);
		if (node)
			node->file = file;
	}
}

void tp_keep_add_modules(bool are_code)
{
	void *key, *module;
	ptrdiff_t at = 0;

	while (tp_py.dict_next(tp_py.modules(), &at, &key, &module)) {
		const char *name = tp_pyapi_text(key), *file = name ? own_file(name, module) : NULL;

		if (file)
			add_globals(name, tp_keep_module_dict(module), file, are_code);
	}
}

/* The frame's file and function; true: they are known, and to be dropped. */
static bool read_code(const struct tp_pyframe_local *local, void **file, void **function)
{
	*file = tp_pyapi_get(local->code, "co_filename");
	*function = tp_pyapi_get(local->code, "co_name");
	if (*file && *function && local->name && tp_pyapi_text(*file))
		return true;
	tp_pyapi_drop(*file);
	tp_pyapi_drop(*function);
	return false;
}

/* The function's name is its own then. */
static bool add_local_of(const struct tp_pyframe_local *local, const char *file, void *function,
			 bool is_others)
{
	struct tp_keep_node *node = tp_keep_add(local->object, TP_WAY_LOCAL, local->name, NULL);

	if (!node)
		return false;
	/* The code has it. */
	node->file = file;
	node->function = function;
	node->is_others = is_others;
	return true;
}

static void add_local(void *ctx, const struct tp_pyframe_local *local)
{
	void *file, *function;

	if (!read_code(local, &file, &function))
		return;
	if (!tp_own_python(tp_pyapi_text(file)) || !add_local_of(local, tp_pyapi_text(file), function, false))
		tp_py.drop(function);
	tp_py.drop(file);
}

void tp_keep_add_locals(void)
{
	tp_pyframe_each_local(add_local, NULL);
}

/* ---- what libraries run ---- */

static void add_self(void *ctx, const struct tp_pyframe_local *local)
{
	const char *name = local->name ? tp_pyapi_text(local->name) : NULL;
	void *file, *function;

	if (!name || strcmp(name, "self") != 0 || !read_code(local, &file, &function))
		return;
	if (!tp_own_python_is_package(tp_pyapi_text(file)) ||
	    !add_local_of(local, tp_pyapi_text(file), function, true))
		tp_py.drop(function);
	tp_py.drop(file);
}

void tp_keep_add_libraries(void)
{
	tp_pyframe_each_local(add_self, NULL);
}

/* The file of the class's module, if that is the program's own. */
static const char *own_file_of(void *class)
{
	void *name = tp_pyapi_get(class, "__module__");
	const char *text = name ? tp_pyapi_text(name) : NULL, *file = NULL;
	void *module = text ? tp_py.dict_get(tp_py.modules(), text) : NULL;

	if (module)
		file = own_file(text, module);
	tp_pyapi_drop(name);
	return file;
}

void tp_keep_claim(struct tp_keep_node *node)
{
	void *class = tp_keep_class_of(node->object);
	const char *file = class ? own_file_of(class) : NULL;
	void *name = file ? tp_pyapi_get(class, "__name__") : NULL;

	if (!name)
		return;
	tp_pyapi_drop(node->key);
	tp_pyapi_drop(node->function);
	node->function = NULL;
	node->key = name;
	node->file = file;
	node->way = TP_WAY_VARIABLE;
	node->depth = 0;
	node->is_others = false;
}

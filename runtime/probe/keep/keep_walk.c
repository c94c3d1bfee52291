/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keep_walk.c - what the program's own code can reach by name
 */
#include "runtime/probe/keep/keep_walk.h"

#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/base/hash.h"
#include "runtime/base/own_python.h"
#include "runtime/base/text.h"
#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/python/pyframe.h"

enum {
	DEPTH = 5,		/* from a variable on */
	SMALL = 32,		/* items: of a larger container only the size is looked at */
	VISITED_BITS = 12,
	VISITED_MOST = 3 << (VISITED_BITS - 2),
	OTHERS = 1024,		/* packages that are remembered */
	ASK_CLOCK = 64,		/* objects */
};

static struct {
	tp_keep_take *take;
	uint64_t end_ns;
	uint64_t visited[1 << VISITED_BITS];
	uint32_t n_visited;
	bool is_given_up;
	char file[TP_KEEP_FILE];
	char name[TP_KEEP_NAME];
	uint32_t n_name;
	uint64_t others[OTHERS];	/* hashes of names of packages that are not the program's own */
} walk;

/* True: for the first time in this walk. */
static bool visit(const void *object)
{
	const uint32_t mask = (1u << VISITED_BITS) - 1;
	const uint64_t key = (uintptr_t)object;
	uint32_t place = (uint32_t)tp_hash_mix(key) & mask;

	while (walk.visited[place] && walk.visited[place] != key)
		place = (place + 1) & mask;
	if (walk.visited[place])
		return false;
	if (walk.n_visited == VISITED_MOST ||
	    (walk.n_visited % ASK_CLOCK == 0 && tp_clock_mono_ns() > walk.end_ns)) {
		walk.is_given_up = true;
		return false;
	}
	walk.visited[place] = key;
	walk.n_visited++;
	return true;
}

/* ---- names ---- */

/* Appends to the name; what does not fit is cut. Returns where it ended before, to go back to. */
static uint32_t append(const char *before, const char *text, const char *behind)
{
	const uint32_t n = walk.n_name;
	struct tp_text out = {.buf = walk.name, .cap = sizeof(walk.name), .len = n};

	tp_text_str(&out, before);
	tp_text_str(&out, text);
	tp_text_str(&out, behind);
	walk.n_name = (uint32_t)out.len;
	return n;
}

static void go_back(uint32_t n_name)
{
	walk.n_name = n_name;
	walk.name[n_name] = '\0';
}

/* NULL: it is no text. Until the object goes. */
static const char *text_of(void *object)
{
	const char *text = tp_py.as_utf8(object);

	if (!text)
		tp_py.clear();
	return text;
}

/* ---- what an object holds ---- */

static void take_object(void *object, uint32_t depth);

static void take_named(void *object, uint32_t depth, const char *before, const char *name, const char *behind)
{
	const uint32_t n = append(before, name, behind);

	tp_py.take(object);
	take_object(object, depth);
	tp_py.drop(object);
	go_back(n);
}

static void tell(void *object, enum tp_keep_kind kind, ptrdiff_t size)
{
	const struct tp_keep_found found = {
		.object = object, .kind = kind, .size = size, .name = walk.name, .file = walk.file,
	};

	walk.take(&found);
}

static void take_dict(void *dict, uint32_t depth, const char *before, const char *behind)
{
	void *key, *value;
	ptrdiff_t at = 0;

	while (!walk.is_given_up && tp_py.dict_next(dict, &at, &key, &value)) {
		const char *name = tp_keep_kind_of(key) == TP_KEEP_LEAF ? text_of(key) : NULL;

		if (tp_keep_kind_of(value) != TP_KEEP_LEAF && !(name && name[0] == '_' && name[1] == '_'))
			take_named(value, depth, before, name ? name : "...", behind);
	}
}

static void take_items(void *object, enum tp_keep_kind kind, ptrdiff_t n, uint32_t depth)
{
	for (ptrdiff_t i = 0; i < n && !walk.is_given_up; i++) {
		void *item = tp_keep_item(object, kind, i);
		char number[24];
		struct tp_text text;

		if (!item || tp_keep_kind_of(item) == TP_KEEP_LEAF)
			continue;
		tp_text_init(&text, number, sizeof(number));
		tp_text_i64(&text, i);
		take_named(item, depth, "[", number, "]");
	}
}

static void take_attribute(void *object, const char *attribute, uint32_t depth)
{
	void *value = tp_pyapi_get(object, attribute);

	if (value) {
		take_object(value, depth);
		tp_py.drop(value);
	}
}

/* Variables of outer functions that it uses, and its arguments' defaults. */
static void take_function(void *function, uint32_t depth)
{
	void *code = tp_pyapi_get(function, "__code__"), *cells = tp_pyapi_get(function, "__closure__");
	void *names = code ? tp_pyapi_get(code, "co_freevars") : NULL;
	const ptrdiff_t n = cells && names && cells != tp_py.none ? tp_py.size(cells) : 0;

	for (ptrdiff_t i = 0; i < n && !walk.is_given_up; i++) {
		void *cell = tp_keep_item(cells, TP_KEEP_TUPLE, i);
		void *name = tp_keep_item(names, TP_KEEP_TUPLE, i);
		void *inside = cell ? tp_pyapi_get(cell, "cell_contents") : NULL;
		const char *text = name ? text_of(name) : NULL;

		if (inside && text)
			take_named(inside, depth, "'s ", text, "");
		if (inside)
			tp_py.drop(inside);
	}
	take_attribute(function, "__defaults__", depth);
	take_attribute(function, "__kwdefaults__", depth);
	take_attribute(function, "__dict__", depth);
	for (size_t i = 0; i < 3; i++) {
		void *own = (void *[]){code, cells, names}[i];

		if (own)
			tp_py.drop(own);
	}
}

static void take_cache(void *cache)
{
	void *referents = tp_keep_referents(cache);
	const ptrdiff_t n = referents ? tp_keep_size(referents, TP_KEEP_LIST) : 0;
	void *largest = NULL;

	/* Its own attributes are a dict, too, with a few. */
	for (ptrdiff_t i = 0; i < n; i++) {
		void *item = tp_keep_item(referents, TP_KEEP_LIST, i);

		if (item && tp_keep_kind_of(item) == TP_KEEP_DICT &&
		    (!largest || tp_keep_size(item, TP_KEEP_DICT) > tp_keep_size(largest, TP_KEEP_DICT)))
			largest = item;
	}
	if (largest)
		tell(largest, TP_KEEP_CACHE, tp_keep_size(largest, TP_KEEP_DICT));
	if (referents)
		tp_py.drop(referents);
}

static void take_instance(void *object, uint32_t depth)
{
	void *dict = tp_keep_instance_dict(object);

	if (!dict)
		return;
	take_dict(dict, depth, ".", "");
	tp_py.drop(dict);
}

static void take_object(void *object, uint32_t depth)
{
	const enum tp_keep_kind kind = tp_keep_kind_of(object);
	const ptrdiff_t size = tp_keep_size(object, kind);

	if (walk.is_given_up || !visit(object))
		return;
	if (kind == TP_KEEP_LIST || kind == TP_KEEP_DICT || kind == TP_KEEP_SET || kind == TP_KEEP_DEQUE)
		tell(object, kind, size);
	if (kind == TP_KEEP_CACHE)
		take_cache(object);
	if (!depth)
		return;
	if (kind == TP_KEEP_FUNCTION)
		take_function(object, depth - 1);
	else if (kind == TP_KEEP_OTHER)
		take_instance(object, depth - 1);
	else if (kind == TP_KEEP_DICT && size <= SMALL)
		take_dict(object, depth - 1, "['", "']");
	else if ((kind == TP_KEEP_LIST || kind == TP_KEEP_TUPLE) && size <= SMALL)
		take_items(object, kind, size, depth - 1);
}

/* ---- where it begins ---- */

static void set_file(const char *file)
{
	struct tp_text text;

	tp_text_init(&text, walk.file, sizeof(walk.file));
	tp_text_str(&text, file);
}

/* The file of a module that is the program's own; NULL: it is not. Where one module of a package is not, none
 * is: there are a thousand of torch's. */
static const char *own_file(const char *name, void *module)
{
	const uint64_t hash = tp_hash_bytes(name, strcspn(name, "."), 0);
	uint64_t *others = &walk.others[hash / 2 % OTHERS];
	void *globals, *file;
	const char *text;

	if (*others == hash)
		return NULL;
	globals = tp_keep_module_dict(module);
	file = globals ? tp_py.dict_get(globals, "__file__") : NULL;
	text = file && file != tp_py.none ? text_of(file) : NULL;
	if (!text)
		return globals && !strcmp(name, "__main__") ? "<stdin>" : NULL;
	if (tp_own_python(text))
		return text;
	*others = hash;
	return NULL;
}

/* Attributes of a class that this module defines. */
static void take_class(void *class, const char *module, const char *name)
{
	void *its = tp_pyapi_get(class, "__module__"), *dict;
	const char *text = its ? text_of(its) : NULL;

	if (text && !strcmp(text, module) && visit(class) && (dict = tp_keep_class_dict(class))) {
		const uint32_t n = append(name, "", "");

		take_dict(dict, DEPTH - 1, ".", "");
		go_back(n);
		tp_py.drop(dict);
	}
	if (its)
		tp_py.drop(its);
}

static void take_module(const char *module, void *globals)
{
	void *key, *value;
	ptrdiff_t at = 0;

	if (!visit(globals))
		return;
	while (!walk.is_given_up && tp_py.dict_next(globals, &at, &key, &value)) {
		const char *name = text_of(key);
		const enum tp_keep_kind kind = tp_keep_kind_of(value);

		if (!name || (name[0] == '_' && name[1] == '_') || kind == TP_KEEP_LEAF)
			continue;
		if (kind == TP_KEEP_CLASS)
			take_class(value, module, name);
		else
			take_named(value, DEPTH, "", name, "");
	}
}

static void take_modules(void)
{
	void *key, *module;
	ptrdiff_t at = 0;

	while (!walk.is_given_up && tp_py.dict_next(tp_py.modules(), &at, &key, &module)) {
		const char *name = text_of(key), *file = name ? own_file(name, module) : NULL;

		if (!file)
			continue;
		set_file(file);
		take_module(name, tp_keep_module_dict(module));
	}
}

static void take_local(void *ctx, const struct tp_pyframe_local *local)
{
	void *file = tp_pyapi_get(local->code, "co_filename"), *function = NULL;
	const char *text = file ? text_of(file) : NULL, *of;
	const char *name = local->name ? text_of(local->name) : NULL;

	if (!walk.is_given_up && text && name && tp_own_python(text) &&
	    tp_keep_kind_of(local->object) != TP_KEEP_LEAF &&
	    (function = tp_pyapi_get(local->code, "co_name")) && (of = text_of(function))) {
		const uint32_t n = append("", of, "().");

		set_file(text);
		take_named(local->object, DEPTH, "", name, "");
		go_back(n);
	}
	if (function)
		tp_py.drop(function);
	if (file)
		tp_py.drop(file);
}

bool tp_keep_walk(tp_keep_take *take)
{
	walk.take = take;
	walk.end_ns = tp_clock_mono_ns() + TP_KEEP_TIME_US * 1000ull;
	memset(walk.visited, 0, sizeof(walk.visited));
	walk.n_visited = 0;
	walk.is_given_up = false;
	go_back(0);
	take_modules();
	tp_pyframe_each_local(take_local, NULL);
	return !walk.is_given_up;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keep_api.c - what an object is, and what it holds
 */
#include "runtime/probe/keep/keep_api.h"

#include <dlfcn.h>
#include <stdint.h>

#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/python/pyframe_layout.h"

static struct {
	void *(*instance_dict)(void *, void *);
	ptrdiff_t (*dict_size)(void *), (*list_size)(void *), (*set_size)(void *);
	void *(*list_item)(void *, ptrdiff_t);
	int (*is_subtype)(void *, void *);
	void *(*module_dict)(void *);
	void *(*pack)(ptrdiff_t, ...);
	int (*stop_collecting)(void), (*collect)(void);	/* NULL: before 3.10 */
	void *list, *set, *module, *function, *type, *text, *bytes, *number, *real;
	/* Found as soon as they are there. */
	void *deque, *cache, *tensor, *array, *referents;
	void *attribute_of_class;	/* how type looks one up */
	bool was_collecting;
} api;

bool tp_keep_api_find(void)
{
	static const struct tp_pysymbol symbol[] = {
		{ &api.instance_dict, "PyObject_GenericGetDict" },
		{ &api.dict_size, "PyDict_Size" },
		{ &api.list_size, "PyList_Size" },
		{ &api.set_size, "PySet_Size" },
		{ &api.list_item, "PyList_GetItem" },
		{ &api.is_subtype, "PyType_IsSubtype" },
		{ &api.module_dict, "PyModule_GetDict" },
		{ &api.pack, "PyTuple_Pack" },
		{ &api.list, "PyList_Type" },
		{ &api.set, "PySet_Type" },
		{ &api.module, "PyModule_Type" },
		{ &api.function, "PyFunction_Type" },
		{ &api.type, "PyType_Type" },
		{ &api.text, "PyUnicode_Type" },
		{ &api.bytes, "PyBytes_Type" },
		{ &api.number, "PyLong_Type" },
		{ &api.real, "PyFloat_Type" },
	};

	if (!tp_pyapi_load(symbol, sizeof(symbol) / sizeof(symbol[0])))
		return false;
	*(void **)&api.stop_collecting = dlsym(RTLD_DEFAULT, "PyGC_Disable");
	*(void **)&api.collect = dlsym(RTLD_DEFAULT, "PyGC_Enable");
	return true;
}

/* Kept for ever, so that its address means it. */
static void find(void **what, const char *module, const char *name)
{
	if (!*what)
		*what = tp_pyapi_of_module(module, name);
}

void tp_keep_begin(void)
{
	find(&api.tensor, "torch", "Tensor");
	find(&api.array, "numpy", "ndarray");
	find(&api.deque, "collections", "deque");
	find(&api.cache, "functools", "_lru_cache_wrapper");
	find(&api.referents, "gc", "get_referents");
	if (!api.attribute_of_class)
		api.attribute_of_class = tp_pyapi_get(api.type, "__getattribute__");
	if (api.stop_collecting && api.collect)
		api.was_collecting = api.stop_collecting();
}

void tp_keep_end(void)
{
	if (api.stop_collecting && api.collect && api.was_collecting)
		api.collect();
}

static void *type_of(void *object)
{
	return (void *)tp_pyframe_ptr(object, TP_PYOBJECT_TYPE);
}

static bool is_leaf(void *type)
{
	return type == api.text || type == api.bytes || type == api.real ||
	       api.is_subtype(type, api.number) || type == type_of(tp_py.none) || type == tp_py.code_type ||
	       (api.array && type == api.array) || (api.tensor && api.is_subtype(type, api.tensor)) ||
	       api.is_subtype(type, api.module) || api.is_subtype(type, api.type);
}

/* Classes of a metaclass that looks attributes up as type does: ABCMeta, that of autograd's functions. */
static bool is_plain_metaclass(void *type)
{
	void *its;

	if (type == api.type)
		return true;
	if (!api.is_subtype(type, api.type) || type_of(type) != api.type)
		return false;
	its = tp_pyapi_get(type, "__getattribute__");
	tp_pyapi_drop(its);
	return its && its == api.attribute_of_class;
}

void *tp_keep_class_of(void *object)
{
	void *class = type_of(object);

	return is_plain_metaclass(type_of(class)) ? class : NULL;
}

enum tp_keep_kind tp_keep_kind_of(void *object)
{
	void *type = type_of(object);

	if (type == api.list)
		return TP_KEEP_LIST;
	if (type == tp_py.tuple_type)
		return TP_KEEP_TUPLE;
	if (type == api.set)
		return TP_KEEP_SET;
	if (type == api.function)
		return TP_KEEP_FUNCTION;
	if (is_plain_metaclass(type))
		return TP_KEEP_CLASS;
	if (is_leaf(type))
		return TP_KEEP_LEAF;
	if (type == tp_py.dict_type || api.is_subtype(type, tp_py.dict_type))
		return TP_KEEP_DICT;
	return type == api.deque   ? TP_KEEP_DEQUE
	       : type == api.cache ? TP_KEEP_CACHE
				   : TP_KEEP_OTHER;
}

ptrdiff_t tp_keep_size(void *object, enum tp_keep_kind kind)
{
	switch (kind) {
	case TP_KEEP_LIST:
		return api.list_size(object);
	case TP_KEEP_DICT:
		return api.dict_size(object);
	case TP_KEEP_SET:
		return api.set_size(object);
	case TP_KEEP_DEQUE:
	case TP_KEEP_TUPLE:
		return tp_py.size(object);
	default:
		return 0;
	}
}

void *tp_keep_item(void *object, enum tp_keep_kind kind, ptrdiff_t at)
{
	void *item = kind == TP_KEEP_LIST ? api.list_item(object, at) : tp_py.tuple_item(object, at);

	if (!item)
		tp_py.clear();
	return item;
}

void *tp_keep_instance_dict(void *object)
{
	void *dict = api.instance_dict(object, NULL);

	if (!dict)
		tp_py.clear();
	return dict;
}

/* What `function` gives for one argument; NULL, and no exception. */
static void *call_with(void *function, void *argument)
{
	void *arguments = api.pack(1, argument);
	void *result = arguments ? tp_py.call(function, arguments) : NULL;

	tp_pyapi_drop(arguments);
	if (!result)
		tp_py.clear();
	return result;
}

void *tp_keep_class_dict(void *class)
{
	void *proxy = tp_pyapi_get(class, "__dict__");
	void *dict = proxy ? call_with(tp_py.dict_type, proxy) : NULL;

	tp_pyapi_drop(proxy);
	return dict;
}

void *tp_keep_referents(void *object)
{
	return api.referents ? call_with(api.referents, object) : NULL;
}

void *tp_keep_module_dict(void *module)
{
	return type_of(module) == api.module ? api.module_dict(module) : NULL;
}

/* ---- how large ---- */

enum {
	SAMPLED = 4,		/* items of a container */
	DEPTH = 4,		/* of containers in containers */
	REFERENTS = 16,		/* of an instance */
	OBJECTS = 200,		/* in all, of one container */
};

static uint32_t n_left;

static size_t bytes_of(void *object, uint32_t depth, bool *has_tensor);

static size_t bytes_of_dict(void *dict, uint32_t depth, bool *has_tensor)
{
	const ptrdiff_t n = api.dict_size(dict);
	size_t all = 0, n_sampled = 0;
	void *key, *value;
	ptrdiff_t at = 0;

	while (n_sampled < SAMPLED && tp_py.dict_next(dict, &at, &key, &value)) {
		all += bytes_of(key, depth, has_tensor) + bytes_of(value, depth, has_tensor);
		n_sampled++;
	}
	return 64 + (n_sampled ? (size_t)n * (36 + all / n_sampled) : 0);
}

static size_t bytes_of_items(void *object, enum tp_keep_kind kind, uint32_t depth, bool *has_tensor)
{
	const ptrdiff_t n = tp_keep_size(object, kind);
	size_t all = 0, n_sampled = 0;

	for (; n_sampled < SAMPLED && (ptrdiff_t)n_sampled < n; n_sampled++) {
		void *item = tp_keep_item(object, kind, n - 1 - (ptrdiff_t)n_sampled);

		all += item ? bytes_of(item, depth, has_tensor) : 0;
	}
	return 56 + (n_sampled ? (size_t)n * (8 + all / n_sampled) : 0);
}

/* What an instance refers to; its class is no part of it. */
static size_t bytes_of_instance(void *object, uint32_t depth, bool *has_tensor)
{
	void *list = tp_keep_referents(object);
	const ptrdiff_t n = list ? api.list_size(list) : 0;
	size_t all = 64;

	for (ptrdiff_t i = 0; i < n && i < REFERENTS; i++) {
		void *item = api.list_item(list, i);

		if (item && !api.is_subtype(type_of(item), api.type))
			all += bytes_of(item, depth, has_tensor);
	}
	tp_pyapi_drop(list);
	return all;
}

static size_t bytes_of(void *object, uint32_t depth, bool *has_tensor)
{
	const enum tp_keep_kind kind = tp_keep_kind_of(object);
	void *type = type_of(object);

	if (kind == TP_KEEP_LEAF) {
		if (type == api.text || type == api.bytes)
			return 48 + (size_t)tp_py.size(object);
		if (api.array && type == api.array)
			return 112 + (size_t)tp_pyapi_number(object, "nbytes", 0);
		*has_tensor |= api.tensor && api.is_subtype(type, api.tensor);
		return type == api.real || api.is_subtype(type, api.number) ? 28 : 0;
	}
	if (kind == TP_KEEP_FUNCTION || kind == TP_KEEP_CLASS || kind == TP_KEEP_CACHE || !depth || !n_left)
		return 64;
	n_left--;
	if (kind == TP_KEEP_LIST || kind == TP_KEEP_TUPLE)
		return bytes_of_items(object, kind, depth - 1, has_tensor);
	if (kind == TP_KEEP_DICT)
		return bytes_of_dict(object, depth - 1, has_tensor);
	return kind == TP_KEEP_OTHER ? bytes_of_instance(object, depth - 1, has_tensor) : 64;
}

size_t tp_keep_item_bytes(void *object, enum tp_keep_kind kind, bool *has_tensor)
{
	const ptrdiff_t n = tp_keep_size(object, kind);
	void *key, *value;
	size_t all = 0;

	*has_tensor = false;
	n_left = OBJECTS;
	if (n < 1)
		return 0;
	if (kind == TP_KEEP_LIST) {
		void *item = tp_keep_item(object, kind, n - 1);

		return item ? 8 + bytes_of(item, DEPTH, has_tensor) : 0;
	}
	if (kind == TP_KEEP_DICT) {
		all = bytes_of_dict(object, DEPTH, has_tensor);
		return all / (size_t)n;
	}
	/* The first that comes. */
	key = tp_py.iterator(object);
	value = key ? tp_py.next(key) : NULL;
	if (value) {
		all = 8 + bytes_of(value, DEPTH, has_tensor);
		tp_py.drop(value);
	}
	tp_pyapi_drop(key);
	if (tp_py.error())
		tp_py.clear();
	return all;
}

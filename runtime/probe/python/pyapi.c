/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pyapi.c - the interpreter's public functions, found at run time
 */
#include "runtime/probe/python/pyapi.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

#include "runtime/base/readable.h"

enum {
	MOST_RUNTIME = 1 << 20,		/* bytes of _PyRuntime */
	MOST_CODE = 256,		/* of a function of a few instructions */
	PAGE = 4096,
};

struct tp_pyapi tp_py;

static const struct tp_pysymbol symbols[] = {
	{ &tp_py.thread_state, "PyGILState_GetThisThreadState" },
	{ &tp_py.ensure, "PyGILState_Ensure" },
	{ &tp_py.release, "PyGILState_Release" },
	{ &tp_py.is_initialized, "Py_IsInitialized" },
	{ &tp_py.frame, "PyEval_GetFrame" },
	{ &tp_py.line_at, "PyCode_Addr2Line" },
	{ &tp_py.get_attr, "PyObject_GetAttrString" },
	{ &tp_py.get_named, "PyObject_GetAttr" },
	{ &tp_py.intern, "PyUnicode_InternFromString" },
	{ &tp_py.get_item, "PyObject_GetItem" },
	{ &tp_py.get_key, "PyMapping_GetItemString" },
	{ &tp_py.modules, "PyImport_GetModuleDict" },
	{ &tp_py.tuple_item, "PyTuple_GetItem" },
	{ &tp_py.holds_lock, "PyGILState_Check" },
	{ &tp_py.as_long, "PyLong_AsLong" },
	{ &tp_py.as_utf8, "PyUnicode_AsUTF8" },
	{ &tp_py.from_utf8, "PyUnicode_FromStringAndSize" },
	{ &tp_py.error, "PyErr_Occurred" },
	{ &tp_py.clear, "PyErr_Clear" },
	{ &tp_py.call, "PyObject_CallObject" },
	{ &tp_py.type, "PyObject_Type" },
	{ &tp_py.is_instance, "PyObject_IsInstance" },
	{ &tp_py.size, "PyObject_Size" },
	{ &tp_py.contains, "PySequence_Contains" },
	{ &tp_py.iterator, "PyObject_GetIter" },
	{ &tp_py.next, "PyIter_Next" },
	{ &tp_py.dict_next, "PyDict_Next" },
	{ &tp_py.dict_get, "PyDict_GetItemString" },
	{ &tp_py.take, "Py_IncRef" },
	{ &tp_py.drop, "Py_DecRef" },
	{ &tp_py.version, "Py_GetVersion" },
	{ &tp_py.compile, "Py_CompileString" },
	{ &tp_py.run, "PyEval_EvalCode" },
	{ &tp_py.new_code, "PyCode_NewEmpty" },
	{ &tp_py.new_dict, "PyDict_New" },
	{ &tp_py.set_key, "PyDict_SetItemString" },
	{ &tp_py.builtins, "PyEval_GetBuiltins" },
	{ &tp_py.new_function, "PyCFunction_NewEx" },
	{ &tp_py.none, "_Py_NoneStruct" },
	{ &tp_py.tuple_type, "PyTuple_Type" },
	{ &tp_py.dict_type, "PyDict_Type" },
	{ &tp_py.code_type, "PyCode_Type" },
	{ &tp_py.cell_type, "PyCell_Type" },
};

/* Bytes of what is exported at this address, 0: not known. */
static size_t get_size(const void *object)
{
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	return object && dladdr1(object, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol ?
		       symbol->st_size : 0;
}

const char *tp_pyapi_runtime(size_t *n_bytes)
{
	const char *runtime = dlsym(RTLD_DEFAULT, "_PyRuntime");
	size_t n = get_size(runtime), at = 0;

	n = n < MOST_RUNTIME ? n : MOST_RUNTIME;
	while (at < n && tp_is_readable(runtime + at))
		at += PAGE - (uintptr_t)(runtime + at) % PAGE;
	*n_bytes = at < n ? at : n;
	return *n_bytes ? runtime : NULL;
}

/* Where a key is looked for, and of which state. */
struct key_search {
	const char *runtime;
	size_t n_runtime;
	const void *state;
};

/* Is the key here? A Py_tss_t is 1, then the key. */
static bool is_key(const struct key_search *search, const char *at)
{
	uintptr_t byte = (uintptr_t)at - (uintptr_t)search->runtime;
	uint32_t is_made, key;

	if (byte % sizeof(key) || byte < sizeof(is_made) ||
	    byte > search->n_runtime - sizeof(key))
		return false;
	memcpy(&is_made, at - sizeof(is_made), sizeof(is_made));
	memcpy(&key, at, sizeof(key));
	return is_made == 1 && key < PTHREAD_KEYS_MAX &&
	       pthread_getspecific((pthread_key_t)key) == search->state;
}

/*
 * The one key in the interpreter's memory that the code of PyGILState_GetThisThreadState names, by
 * its distance from that memory's begin or (x86-64, static) from the next instruction, itself or
 * the word before it, and under which this thread's state is. Other libraries have keys of their own
 * for that state (pybind11).
 */
static const pthread_key_t *find_state_key(void)
{
	const char *code = (const char *)(uintptr_t)tp_py.thread_state, *found = NULL;
	struct key_search search = { .state = tp_py.thread_state() };
	size_t n_code = get_size(code);
	int32_t named;

	search.runtime = tp_pyapi_runtime(&search.n_runtime);
	if (!search.runtime || !search.state || n_code < sizeof(uint64_t) || n_code > MOST_CODE ||
	    !tp_is_readable(code) || !tp_is_readable(code + n_code - sizeof(uint64_t)))
		return NULL;
	for (size_t i = 0; i + sizeof(named) <= n_code; i++) {
		const char *from[] = { search.runtime, code + i + sizeof(named) };

		memcpy(&named, code + i, sizeof(named));
		for (size_t way = 0; way < 4; way++) {
			const char *at = from[way / 2] + named + way % 2 * sizeof(pthread_key_t);

			if (!is_key(&search, at))
				continue;
			if (found && found != at)
				return NULL;
			found = at;
		}
	}
	return (const pthread_key_t *)(const void *)found;
}

/*
 * The word that Py_IsInitialized reads, where that is its whole code: by its address, or through a
 * pointer, then a return. A call into the interpreter costs a cache line and a page of code.
 */
static const int *find_initialized(void)
{
#if defined(__x86_64__)
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa }, word[] = { 0x8b, 0x05 },
			     pointer[] = { 0x48, 0x8b, 0x05 };
	const uint8_t *code = (const uint8_t *)(uintptr_t)tp_py.is_initialized;
	int32_t distance, offset;
	const char *object;

	if (get_size(code) < sizeof(endbr) || !tp_is_readable(code) || !tp_is_readable(code + 32))
		return NULL;
	if (memcmp(code, endbr, sizeof(endbr)) == 0)
		code += sizeof(endbr);
	if (memcmp(code, word, sizeof(word)) == 0) {
		memcpy(&distance, code + 2, sizeof(distance));
		return code[6] == 0xc3 ? (const int *)(const void *)(code + 6 + distance) : NULL;
	}
	if (memcmp(code, pointer, sizeof(pointer)) != 0 || code[7] != 0x8b)
		return NULL;
	memcpy(&distance, code + 3, sizeof(distance));
	memcpy(&object, code + 7 + distance, sizeof(object));
	if (code[8] == 0x40 && code[10] == 0xc3)
		return (const int *)(const void *)(object + (int8_t)code[9]);
	memcpy(&offset, code + 9, sizeof(offset));
	return code[8] == 0x80 && code[13] == 0xc3 ? (const int *)(const void *)(object + offset) : NULL;
#else
	return NULL;
#endif
}

bool tp_pyapi_load(const struct tp_pysymbol *symbol, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		void *found = dlsym(RTLD_DEFAULT, symbol[i].name);

		if (!found)
			return false;
		memcpy(symbol[i].at, &found, sizeof(found));
	}
	return true;
}

const char *tp_pyapi_find(void)
{
	const char *version;

	if (tp_py.minor)
		return NULL;
	if (!tp_pyapi_load(symbols, sizeof(symbols) / sizeof(symbols[0])))
		return "this python lacks a function of its public API";
	version = tp_py.version();
	if (strncmp(version, "3.", 2) != 0)
		return "this kind of python is not known";
	if (strstr(version, "free-threading"))
		return "frames of free-threaded python are not known";
	tp_py.minor = (unsigned)(version[2] - '0');
	if (version[3] >= '0' && version[3] <= '9')
		tp_py.minor = tp_py.minor * 10 + (unsigned)(version[3] - '0');
	tp_py.state_key = find_state_key();
	tp_py.initialized = find_initialized();
	return NULL;
}

void *tp_pyapi_get(void *object, const char *name)
{
	void *value = tp_py.get_attr(object, name);

	if (!value)
		tp_py.clear();
	return value;
}

void *tp_pyapi_of_module(const char *module, const char *name)
{
	void *found = tp_py.dict_get(tp_py.modules(), module);

	return found ? tp_pyapi_get(found, name) : NULL;
}

bool tp_pyapi_is_builtin(void *function)
{
	void *length = tp_py.dict_get(tp_py.builtins(), "len");
	void *builtin = length ? tp_py.type(length) : NULL, *type = tp_py.type(function);
	const bool is_it = builtin && type == builtin;

	tp_pyapi_drop(builtin);
	tp_pyapi_drop(type);
	return is_it;
}

const char *tp_pyapi_text(void *object)
{
	const char *text = tp_py.as_utf8(object);

	if (!text)
		tp_py.clear();
	return text;
}

long tp_pyapi_number(void *object, const char *name, long otherwise)
{
	void *value = tp_py.get_attr(object, name);
	long number = otherwise;

	if (value) {
		number = tp_py.as_long(value);
		tp_py.drop(value);
	}
	if (tp_py.error()) {
		tp_py.clear();
		return otherwise;
	}
	return number;
}

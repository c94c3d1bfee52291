/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pyapi.c - the interpreter's public functions, found at run time
 */
#include "runtime/probe/python/pyapi.h"

#include <dlfcn.h>
#include <string.h>

struct tp_pyapi tp_py;

static const struct {
	void *at;
	const char *name, *other_name;
	bool is_needed;
} symbols[] = {
	{ &tp_py.thread_state, "PyGILState_GetThisThreadState", NULL, true },
	{ &tp_py.ensure, "PyGILState_Ensure", NULL, true },
	{ &tp_py.release, "PyGILState_Release", NULL, true },
	{ &tp_py.is_initialized, "Py_IsInitialized", NULL, true },
	{ &tp_py.is_finalizing, "Py_IsFinalizing", "_Py_IsFinalizing", false },
	{ &tp_py.frame, "PyEval_GetFrame", NULL, true },
	{ &tp_py.line_at, "PyCode_Addr2Line", NULL, true },
	{ &tp_py.get_attr, "PyObject_GetAttrString", NULL, true },
	{ &tp_py.get_named, "PyObject_GetAttr", NULL, true },
	{ &tp_py.intern, "PyUnicode_InternFromString", NULL, true },
	{ &tp_py.get_item, "PyObject_GetItem", NULL, true },
	{ &tp_py.get_key, "PyMapping_GetItemString", NULL, true },
	{ &tp_py.modules, "PyImport_GetModuleDict", NULL, true },
	{ &tp_py.tuple_item, "PyTuple_GetItem", NULL, true },
	{ &tp_py.holds_lock, "PyGILState_Check", NULL, true },
	{ &tp_py.as_long, "PyLong_AsLong", NULL, true },
	{ &tp_py.as_utf8, "PyUnicode_AsUTF8", NULL, true },
	{ &tp_py.from_utf8, "PyUnicode_FromStringAndSize", NULL, true },
	{ &tp_py.error, "PyErr_Occurred", NULL, true },
	{ &tp_py.clear, "PyErr_Clear", NULL, true },
	{ &tp_py.call, "PyObject_CallObject", NULL, true },
	{ &tp_py.type, "PyObject_Type", NULL, true },
	{ &tp_py.is_instance, "PyObject_IsInstance", NULL, true },
	{ &tp_py.size, "PyObject_Size", NULL, true },
	{ &tp_py.contains, "PySequence_Contains", NULL, true },
	{ &tp_py.iterator, "PyObject_GetIter", NULL, true },
	{ &tp_py.next, "PyIter_Next", NULL, true },
	{ &tp_py.dict_next, "PyDict_Next", NULL, true },
	{ &tp_py.dict_get, "PyDict_GetItemString", NULL, true },
	{ &tp_py.take, "Py_IncRef", NULL, true },
	{ &tp_py.drop, "Py_DecRef", NULL, true },
	{ &tp_py.version, "Py_GetVersion", NULL, true },
	{ &tp_py.compile, "Py_CompileString", NULL, true },
	{ &tp_py.run, "PyEval_EvalCode", NULL, true },
	{ &tp_py.new_dict, "PyDict_New", NULL, true },
	{ &tp_py.set_key, "PyDict_SetItemString", NULL, true },
	{ &tp_py.builtins, "PyEval_GetBuiltins", NULL, true },
	{ &tp_py.new_function, "PyCFunction_NewEx", NULL, true },
	{ &tp_py.none, "_Py_NoneStruct", NULL, true },
	{ &tp_py.tuple_type, "PyTuple_Type", NULL, true },
	{ &tp_py.dict_type, "PyDict_Type", NULL, true },
	{ &tp_py.code_type, "PyCode_Type", NULL, true },
	{ &tp_py.cell_type, "PyCell_Type", NULL, true },
};

const char *tp_pyapi_find(void)
{
	const char *version;

	if (tp_py.minor)
		return NULL;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *found = dlsym(RTLD_DEFAULT, symbols[i].name);

		if (!found && symbols[i].other_name)
			found = dlsym(RTLD_DEFAULT, symbols[i].other_name);
		if (!found && symbols[i].is_needed)
			return "this python lacks a function of its public API";
		memcpy(symbols[i].at, &found, sizeof(found));
	}
	version = tp_py.version();
	if (strncmp(version, "3.", 2) != 0)
		return "this kind of python is not known";
	if (strstr(version, "free-threading"))
		return "frames of free-threaded python are not known";
	tp_py.minor = (unsigned)(version[2] - '0');
	if (version[3] >= '0' && version[3] <= '9')
		tp_py.minor = tp_py.minor * 10 + (unsigned)(version[3] - '0');
	return NULL;
}

void *tp_pyapi_get(void *object, const char *name)
{
	void *value = tp_py.get_attr(object, name);

	if (!value)
		tp_py.clear();
	return value;
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

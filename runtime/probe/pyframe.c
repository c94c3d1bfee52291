/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pyframe.c - reads the interpreter's frames of the calling thread
 *
 * Reading: any thread, lock held or not; a thread without Python has no frames. Whatever
 * needs the interpreter's lock takes it with PyGILState_Ensure, only in callbacks of user
 * ranges (a few a step), never while holding a lock of ours, and leaves no exception behind.
 * Python's functions are looked up at run time; nothing here needs its headers.
 */
#include "runtime/probe/pyframe.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

enum {
	MAX_CHECKED = 64,	/* frames compared with the public API */
	MAX_SEARCHED = 16,	/* frames between a range and the function that opened it */
	TUPLE_ITEMS = 24,	/* PyTupleObject.ob_item */
	OWNER_C_STACK = 3,	/* frames from here on are the interpreter's own */
};

/* Public API. Every entry is needed except where said. */
static struct {
	void *(*thread_state)(void);	/* PyGILState_GetThisThreadState */
	int (*ensure)(void);
	void (*release)(int);
	int (*is_initialized)(void);
	int (*is_finalizing)(void);	/* may be missing */
	void *(*frame)(void);		/* borrowed */
	void *(*get_attr)(void *, const char *);
	void *(*get_item)(void *, void *);
	void *(*get_key)(void *, const char *);
	void *(*modules)(void);		/* borrowed */
	void *(*tuple_item)(void *, ptrdiff_t);	/* borrowed */
	long (*as_long)(void *);
	const char *(*as_utf8)(void *);
	void *(*error)(void);		/* borrowed; not NULL: an exception is set */
	void (*clear)(void);
	void (*take)(void *);
	void (*drop)(void *);
	const char *(*version)(void);
	void *tuple_type;
} py;

static const struct {
	void *at;
	const char *name, *other_name;
	bool is_needed;
} py_symbols[] = {
	{ &py.thread_state, "PyGILState_GetThisThreadState", NULL, true },
	{ &py.ensure, "PyGILState_Ensure", NULL, true },
	{ &py.release, "PyGILState_Release", NULL, true },
	{ &py.is_initialized, "Py_IsInitialized", NULL, true },
	{ &py.is_finalizing, "Py_IsFinalizing", "_Py_IsFinalizing", false },
	{ &py.frame, "PyEval_GetFrame", NULL, true },
	{ &py.get_attr, "PyObject_GetAttrString", NULL, true },
	{ &py.get_item, "PyObject_GetItem", NULL, true },
	{ &py.get_key, "PyMapping_GetItemString", NULL, true },
	{ &py.modules, "PyImport_GetModuleDict", NULL, true },
	{ &py.tuple_item, "PyTuple_GetItem", NULL, true },
	{ &py.as_long, "PyLong_AsLong", NULL, true },
	{ &py.as_utf8, "PyUnicode_AsUTF8", NULL, true },
	{ &py.error, "PyErr_Occurred", NULL, true },
	{ &py.clear, "PyErr_Clear", NULL, true },
	{ &py.take, "Py_IncRef", NULL, true },
	{ &py.drop, "Py_DecRef", NULL, true },
	{ &py.version, "Py_GetVersion", NULL, true },
	{ &py.tuple_type, "PyTuple_Type", NULL, true },
};

/* struct _PyInterpreterFrame and the way to the newest one from a thread state. */
struct frame_layout {
	uint8_t minor;		/* of Python 3 */
	uint8_t state_frame;	/* in the thread state: the newest frame, or a _PyCFrame */
	int8_t c_frame;		/* in that: the newest frame; -1: there is none */
	uint8_t code, previous, owner, locals;
};

static const struct frame_layout frame_layouts[] = {
	{ 11, 56, 8, 32, 48, 69, 72 },
	{ 12, 56, 0, 0, 8, 70, 72 },
	{ 13, 72, -1, 0, 8, 70, 72 },
};

/* How to know the function: its name, the end of its file's name, its first variable. */
static const struct {
	const char *name, *file_end, *variable;
	bool is_args;		/* the variable is the tuple of all arguments */
} functions[TP_PYFRAME_N] = {
	[TP_PYFRAME_STEP] = { "wrapper", "/torch/optim/optimizer.py", "args", true },
	[TP_PYFRAME_ZERO_GRAD] = { "zero_grad", "/torch/optim/optimizer.py", "self", false },
	[TP_PYFRAME_NEXT] = { "__next__", "/torch/utils/data/dataloader.py", "self", false },
	[TP_PYFRAME_WORKER] = { "_worker_loop", "/torch/utils/data/_utils/worker.py",
				"dataset_kind", false },
};

static struct {
	bool has_api;			/* the slow way works */
	const struct frame_layout *layout; /* NULL: frames are not read */
	void *code[TP_PYFRAME_N];	/* atomic; code objects that were recognised, kept alive */
} state;

static const char *get_ptr(const char *object, uint32_t at)
{
	const char *p;

	memcpy(&p, object + at, sizeof(p));
	return p;
}

static bool is_pointer(const char *p)
{
	return p && ((uintptr_t)p & 7) == 0;
}

static bool is_ending(void)
{
	return !py.is_initialized() || (py.is_finalizing && py.is_finalizing());
}

static const char *get_newest_frame(const struct frame_layout *layout)
{
	const char *thread_state, *frame;

	/* A daemon thread goes on while Python ends, and its state may be gone then. */
	if (is_ending())
		return NULL;
	thread_state = py.thread_state();
	if (!thread_state)
		return NULL;
	frame = get_ptr(thread_state, layout->state_frame);
	if (layout->c_frame >= 0 && frame)
		frame = get_ptr(frame, (uint32_t)layout->c_frame);
	return is_pointer(frame) ? frame : NULL;
}

/* `frame` itself or the next outer one that runs Python code. */
static const char *skip_own_frames(const struct frame_layout *layout, const char *frame)
{
	while (frame && (uint8_t)frame[layout->owner] >= OWNER_C_STACK) {
		frame = get_ptr(frame, layout->previous);
		if (!is_pointer(frame))
			return NULL;
	}
	return frame;
}

static const char *get_outer_frame(const struct frame_layout *layout, const char *frame)
{
	frame = get_ptr(frame, layout->previous);
	return is_pointer(frame) ? skip_own_frames(layout, frame) : NULL;
}

/* The attribute as a number, or `otherwise`. */
static long get_number(void *object, const char *name, long otherwise)
{
	void *value = py.get_attr(object, name);
	long number = otherwise;

	if (value) {
		number = py.as_long(value);
		py.drop(value);
	}
	if (py.error()) {
		py.clear();
		return otherwise;
	}
	return number;
}

/* A local variable of a frame object, as a number that is not a reference. */
static uint64_t get_local(void *frame, void *name, const char *name_text)
{
	void *locals = py.get_attr(frame, "f_locals");
	void *value = NULL;

	if (locals && name)
		value = py.get_item(locals, name);
	else if (locals)
		value = py.get_key(locals, name_text);
	if (locals)
		py.drop(locals);
	if (value)
		py.drop(value);
	if (py.error())
		py.clear();
	return (uintptr_t)value;
}

/* First argument of the function that a frame object runs; 0: none, or not readable. */
static uint64_t get_first_argument(void *frame, void *code)
{
	uint64_t value = 0;
	void *names;

	if (get_number(code, "co_argcount", 0) < 1)
		return 0;
	names = py.get_attr(code, "co_varnames");
	if (names) {
		void *name = py.tuple_item(names, 0);

		if (name)
			value = get_local(frame, name, NULL);
		py.drop(names);
	}
	if (py.error())
		py.clear();
	return value;
}

/* Our walk against the public API's, frame by frame. */
static const char *check_layout(const struct frame_layout *layout)
{
	const char *own = get_newest_frame(layout);
	void *frame = py.frame();
	uint32_t n = 0, n_arguments = 0;
	const char *why = NULL;

	if (!frame || !own)
		return "no frame to compare with";
	own = skip_own_frames(layout, own);
	py.take(frame);
	while (frame && own && n < MAX_CHECKED && !why) {
		void *code = py.get_attr(frame, "f_code");
		void *outer = py.get_attr(frame, "f_back");
		uint64_t argument = code ? get_first_argument(frame, code) : 0;

		if (get_ptr(own, layout->code) != code)
			why = "frames read and frames reported differ";
		/* A variable that an inner function uses lies in a cell: no match, no harm. */
		else if (argument && (uintptr_t)get_ptr(own, layout->locals) == argument)
			n_arguments++;
		own = get_outer_frame(layout, own);
		/* The outermost frame's f_back is None, which has no f_back of its own. */
		if (!why && outer && !own) {
			void *code_of_outer = py.get_attr(outer, "f_code");

			if (code_of_outer) {
				why = "frames reported are more than frames read";
				py.drop(code_of_outer);
			}
		}
		if (code)
			py.drop(code);
		py.drop(frame);
		frame = outer;
		if (py.error())
			py.clear();
		n++;
	}
	if (frame)
		py.drop(frame);
	if (!why && n_arguments == 0)
		why = "no argument was found where it should be";
	return why;
}

const char *tp_pyframe_init(void)
{
	const char *version, *why = "frames of this version of python are not known";
	uint32_t minor;

	for (size_t i = 0; i < sizeof(py_symbols) / sizeof(py_symbols[0]); i++) {
		void *found = dlsym(RTLD_DEFAULT, py_symbols[i].name);

		if (!found && py_symbols[i].other_name)
			found = dlsym(RTLD_DEFAULT, py_symbols[i].other_name);
		if (!found && py_symbols[i].is_needed)
			return "this python lacks a function of its public API";
		memcpy(py_symbols[i].at, &found, sizeof(found));
	}
	version = py.version();
	if (strncmp(version, "3.", 2) != 0 || strstr(version, "free-threading"))
		return "this kind of python is not known";
	minor = (uint32_t)(version[2] - '0');
	if (version[3] >= '0' && version[3] <= '9')
		minor = minor * 10 + (uint32_t)(version[3] - '0');
	/* An exception on its way is not ours to disturb: then everything stays off. */
	if (py.error())
		return "an exception was set";
	state.has_api = true;
	for (size_t i = 0; i < sizeof(frame_layouts) / sizeof(frame_layouts[0]); i++) {
		if (frame_layouts[i].minor != minor)
			continue;
		why = check_layout(&frame_layouts[i]);
		if (!why)
			state.layout = &frame_layouts[i];
	}
	return why;
}

/* True: the lock is held, and must be given back. Not when Python is on its way out: there
 * it would never come. */
static bool enter_python(int *held)
{
	if (!state.has_api || is_ending() || !py.thread_state())
		return false;
	*held = py.ensure();
	if (py.error()) {
		py.release(*held);
		return false;
	}
	return true;
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), n_end = strlen(end);

	return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

/* Lock held. */
static bool is_code_of(void *code, enum tp_pyframe_function function)
{
	void *name = py.get_attr(code, "co_name");
	void *file = py.get_attr(code, "co_filename");
	const char *name_text = name ? py.as_utf8(name) : NULL;
	const char *file_text = file ? py.as_utf8(file) : NULL;
	bool is_it = name_text && file_text &&
		     strcmp(name_text, functions[function].name) == 0 &&
		     ends_with(file_text, functions[function].file_end);

	if (name)
		py.drop(name);
	if (file)
		py.drop(file);
	if (py.error())
		py.clear();
	return is_it;
}

static uint64_t get_object(uint64_t variable, enum tp_pyframe_function function)
{
	const char *tuple = (const char *)(uintptr_t)variable;

	if (!functions[function].is_args)
		return variable;
	/* ob_refcnt, ob_type, ob_size, ob_item[] */
	if (!is_pointer(tuple) || get_ptr(tuple, 8) != py.tuple_type || !get_ptr(tuple, 16))
		return 0;
	return (uintptr_t)get_ptr(tuple, TUPLE_ITEMS);
}

/* First sight of a function: its code object is recognised by names, under the lock. */
static void *learn_code(enum tp_pyframe_function function)
{
	const char *frame = skip_own_frames(state.layout, get_newest_frame(state.layout));
	void *found = NULL;
	int held;

	if (!frame || !enter_python(&held))
		return NULL;
	for (uint32_t i = 0; frame && i < MAX_SEARCHED && !found; i++) {
		void *code = (void *)get_ptr(frame, state.layout->code);

		if (is_code_of(code, function)) {
			/* Kept for ever, so that its address means it for ever. */
			py.take(code);
			found = code;
		}
		frame = get_outer_frame(state.layout, frame);
	}
	py.release(held);
	if (found)
		__atomic_store_n(&state.code[function], found, __ATOMIC_RELEASE);
	return found;
}

static uint64_t read_object(enum tp_pyframe_function function)
{
	void *code = __atomic_load_n(&state.code[function], __ATOMIC_ACQUIRE);
	const char *frame;

	if (!code)
		code = learn_code(function);
	if (!code)
		return 0;
	frame = skip_own_frames(state.layout, get_newest_frame(state.layout));
	for (uint32_t i = 0; frame && i < MAX_SEARCHED; i++) {
		if (get_ptr(frame, state.layout->code) == code)
			return get_object((uintptr_t)get_ptr(frame, state.layout->locals),
					  function);
		frame = get_outer_frame(state.layout, frame);
	}
	return 0;
}

/* The same by the public API alone. Lock held. */
static uint64_t ask_object(enum tp_pyframe_function function)
{
	void *frame = py.frame();
	uint64_t object = 0;

	if (frame)
		py.take(frame);
	for (uint32_t i = 0; frame && i < MAX_SEARCHED && !object; i++) {
		void *code = py.get_attr(frame, "f_code");
		void *outer = py.get_attr(frame, "f_back");

		if (code && is_code_of(code, function))
			object = get_object(get_local(frame, NULL, functions[function].variable),
					    function);
		if (code)
			py.drop(code);
		py.drop(frame);
		frame = outer;
		if (py.error())
			py.clear();
	}
	if (frame)
		py.drop(frame);
	return object;
}

uint64_t tp_pyframe_object(enum tp_pyframe_function function)
{
	uint64_t object;
	int held;

	if (!state.has_api)
		return 0;
	if (state.layout)
		return read_object(function);
	if (!enter_python(&held))
		return 0;
	object = ask_object(function);
	py.release(held);
	return object;
}

uint64_t tp_pyframe_loader(int32_t *n_yielded)
{
	uint64_t iterator, loader = 0;
	int held;

	*n_yielded = -1;
	if (!state.has_api)
		return 0;
	iterator = state.layout ? read_object(TP_PYFRAME_NEXT) : 0;
	if ((state.layout && !iterator) || !enter_python(&held))
		return 0;
	if (!state.layout)
		iterator = ask_object(TP_PYFRAME_NEXT);
	if (iterator) {
		void *object = (void *)(uintptr_t)iterator;
		/* The sampler belongs to the loader; iterators come and go with each pass. */
		void *sampler = py.get_attr(object, "_index_sampler");

		if (sampler) {
			loader = (uintptr_t)sampler;
			py.drop(sampler);
		}
		if (py.error())
			py.clear();
		*n_yielded = (int32_t)get_number(object, "_num_yielded", -1);
	}
	py.release(held);
	return loader;
}

bool tp_pyframe_module_text(const char *module, const char *name, char *text, size_t cap)
{
	void *object, *value = NULL;
	const char *found = NULL;
	int held;

	if (!enter_python(&held))
		return false;
	object = py.get_key(py.modules(), module);
	if (object) {
		value = py.get_attr(object, name);
		found = value ? py.as_utf8(value) : NULL;
		py.drop(object);
	}
	if (found) {
		size_t n = strlen(found);

		n = n < cap ? n : cap - 1;
		memcpy(text, found, n);
		text[n] = '\0';
	}
	if (value)
		py.drop(value);
	if (py.error())
		py.clear();
	py.release(held);
	return found != NULL;
}

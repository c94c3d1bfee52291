/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pyframe.c - reads the interpreter's frames of the calling thread
 *
 * Reading: any thread, lock held or not; a thread without Python has no frames. Whatever
 * needs the interpreter's lock takes it with PyGILState_Ensure, only in callbacks of user
 * ranges (a few a step), never while holding a lock of ours, and leaves no exception behind.
 */
#include "runtime/probe/python/pyframe.h"

#include <stddef.h>
#include <string.h>

#include "runtime/base/begins.h"
#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/python/pyframe_layout.h"
#include "runtime/probe/python/pyloader.h"

enum {
	MAX_CHECKED = 64,	/* frames compared with the public API */
	MAX_SEARCHED = 16,	/* frames between a range and the function that opened it */
	MAX_LOCALS = 256,	/* of one function that are looked at */
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
	const struct tp_pyframe_layout *layout; /* NULL: frames are not read */
	void *code[TP_PYFRAME_N];	/* atomic; code objects that were recognised, kept alive */
} state;

/* `frame` itself or the next outer one that runs Python code. */
static const char *skip_own_frames(const struct tp_pyframe_layout *layout, const char *frame)
{
	while (frame && (tp_pyframe_is_own(layout, frame) ||
			 tp_pyframe_is_helper(layout, tp_pyframe_ref(frame, layout->code)))) {
		frame = tp_pyframe_ptr(frame, layout->previous);
		if (!tp_pyframe_is_ptr(frame))
			return NULL;
	}
	return frame;
}

/* This thread's newest frame that runs Python code. */
static const char *get_newest_frame(const struct tp_pyframe_layout *layout)
{
	/* A daemon thread goes on while Python ends, and its state may be gone then. */
	const char *thread_state = tp_pyapi_state();

	if (!thread_state)
		return NULL;
	return skip_own_frames(layout, tp_pyframe_newest(layout, thread_state));
}

static const char *get_outer_frame(const struct tp_pyframe_layout *layout, const char *frame)
{
	frame = tp_pyframe_ptr(frame, layout->previous);
	return tp_pyframe_is_ptr(frame) ? skip_own_frames(layout, frame) : NULL;
}

/* A local variable of a frame object, as a number that is not a reference. */
static uint64_t get_local(void *frame, void *name, const char *name_text)
{
	void *locals = tp_py.get_attr(frame, "f_locals");
	void *value = NULL;

	if (locals && name)
		value = tp_py.get_item(locals, name);
	else if (locals)
		value = tp_py.get_key(locals, name_text);
	tp_pyapi_drop(locals);
	tp_pyapi_drop(value);
	if (tp_py.error())
		tp_py.clear();
	return (uintptr_t)value;
}

/* First argument of the function that a frame object runs; 0: none, or not readable. */
static uint64_t get_first_argument(void *frame, void *code)
{
	uint64_t value = 0;
	void *names;

	if (tp_pyapi_number(code, "co_argcount", 0) < 1)
		return 0;
	names = tp_py.get_attr(code, "co_varnames");
	if (names) {
		void *name = tp_py.tuple_item(names, 0);

		if (name)
			value = get_local(frame, name, NULL);
		tp_py.drop(names);
	}
	if (tp_py.error())
		tp_py.clear();
	return value;
}

/* Our walk against the public API's, frame by frame. */
static const char *check_layout(const struct tp_pyframe_layout *layout)
{
	const char *own = get_newest_frame(layout);
	void *frame = tp_py.frame();
	uint32_t n = 0, n_arguments = 0;
	const char *why = NULL;

	if (!frame || !own)
		return "no frame to compare with";
	tp_py.take(frame);
	while (frame && own && n < MAX_CHECKED && !why) {
		void *code = tp_py.get_attr(frame, "f_code");
		void *outer = tp_py.get_attr(frame, "f_back");
		uint64_t argument = code ? get_first_argument(frame, code) : 0;

		if (tp_pyframe_ref(own, layout->code) != code)
			why = "frames read and frames reported differ";
		/* A variable that an inner function uses lies in a cell: no match, no harm. */
		else if (argument && (uintptr_t)tp_pyframe_ref(own, layout->locals) == argument)
			n_arguments++;
		own = get_outer_frame(layout, own);
		/* The outermost frame's f_back is None, which has no f_back of its own. */
		if (!why && outer && !own) {
			void *code_of_outer = tp_py.get_attr(outer, "f_code");

			if (code_of_outer) {
				why = "frames reported are more than frames read";
				tp_py.drop(code_of_outer);
			}
		}
		tp_pyapi_drop(code);
		tp_py.drop(frame);
		frame = outer;
		if (tp_py.error())
			tp_py.clear();
		n++;
	}
	tp_pyapi_drop(frame);
	if (!why && n_arguments == 0)
		why = "no argument was found where it should be";
	return why;
}

const char *tp_pyframe_init(void)
{
	const struct tp_pyframe_layout *layout;
	const char *why = tp_pyapi_find();

	if (why)
		return why;
	/* An exception on its way is not ours to disturb: then everything stays off. */
	if (tp_py.error())
		return "an exception was set";
	state.has_api = true;
	layout = tp_pyframe_layout(&why);
	if (layout && layout->locals == TP_PYFRAME_NONE)
		why = "frames of this version of python are not known";
	else if (layout)
		why = check_layout(layout);
	if (!why)
		state.layout = layout;
	return why;
}

const struct tp_pyframe_layout *tp_pyframe_checked(void)
{
	return state.layout;
}

/* True: the lock is held, and must be given back. Not when Python is on its way out: there
 * it would never come. */
bool tp_pyframe_enter(int *held)
{
	if (!state.has_api || tp_pyapi_is_ending() || !tp_py.thread_state())
		return false;
	*held = tp_py.ensure();
	if (tp_py.error()) {
		tp_py.release(*held);
		return false;
	}
	return true;
}

/* Lock held. */
static bool is_code_of(void *code, enum tp_pyframe_function function)
{
	void *name = tp_py.get_attr(code, "co_name");
	void *file = tp_py.get_attr(code, "co_filename");
	const char *name_text = name ? tp_py.as_utf8(name) : NULL;
	const char *file_text = file ? tp_py.as_utf8(file) : NULL;
	bool is_it = name_text && file_text &&
		     strcmp(name_text, functions[function].name) == 0 &&
		     tp_ends(file_text, functions[function].file_end);

	tp_pyapi_drop(name);
	tp_pyapi_drop(file);
	if (tp_py.error())
		tp_py.clear();
	return is_it;
}

static uint64_t get_object(uint64_t variable, enum tp_pyframe_function function)
{
	const char *tuple = (const char *)(uintptr_t)variable;

	if (!functions[function].is_args)
		return variable;
	/* ob_refcnt, ob_type, ob_size */
	if (!tp_pyframe_is_ptr(tuple) || tp_pyframe_ptr(tuple, 8) != tp_py.tuple_type ||
	    !tp_pyframe_ptr(tuple, 16))
		return 0;
	/* Not by an offset: 3.14 has a hash before the items. Reads, and needs no lock for it. */
	return (uintptr_t)tp_py.tuple_item((void *)tuple, 0);
}

/* First sight of a function: its code object is recognised by names, under the lock. */
static void *learn_code(enum tp_pyframe_function function)
{
	const char *frame = get_newest_frame(state.layout);
	void *found = NULL;
	int held;

	if (!frame || !tp_pyframe_enter(&held))
		return NULL;
	for (uint32_t i = 0; frame && i < MAX_SEARCHED && !found; i++) {
		void *code = (void *)tp_pyframe_ref(frame, state.layout->code);

		if (is_code_of(code, function)) {
			/* Kept for ever, so that its address means it for ever. */
			tp_py.take(code);
			found = code;
		}
		frame = get_outer_frame(state.layout, frame);
	}
	tp_py.release(held);
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
	frame = get_newest_frame(state.layout);
	for (uint32_t i = 0; frame && i < MAX_SEARCHED; i++) {
		if (tp_pyframe_ref(frame, state.layout->code) == code)
			return get_object((uintptr_t)tp_pyframe_ref(frame, state.layout->locals),
					  function);
		frame = get_outer_frame(state.layout, frame);
	}
	return 0;
}

/* The same by the public API alone. Lock held. */
static uint64_t ask_object(enum tp_pyframe_function function)
{
	void *frame = tp_py.frame();
	uint64_t object = 0;

	if (frame)
		tp_py.take(frame);
	for (uint32_t i = 0; frame && i < MAX_SEARCHED && !object; i++) {
		void *code = tp_py.get_attr(frame, "f_code");
		void *outer = tp_py.get_attr(frame, "f_back");

		if (code && is_code_of(code, function))
			object = get_object(get_local(frame, NULL, functions[function].variable),
					    function);
		tp_pyapi_drop(code);
		tp_py.drop(frame);
		frame = outer;
		if (tp_py.error())
			tp_py.clear();
	}
	tp_pyapi_drop(frame);
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
	if (!tp_pyframe_enter(&held))
		return 0;
	object = ask_object(function);
	tp_py.release(held);
	return object;
}

/* The iterator of the loader that asks; true: the lock is held, and must be given back. */
static bool enter_iterator(void **iterator, int *held)
{
	*iterator = NULL;
	if (!state.has_api)
		return false;
	if (state.layout)
		*iterator = (void *)(uintptr_t)read_object(TP_PYFRAME_NEXT);
	if ((state.layout && !*iterator) || !tp_pyframe_enter(held))
		return false;
	if (!state.layout)
		*iterator = (void *)(uintptr_t)ask_object(TP_PYFRAME_NEXT);
	return true;
}

uint64_t tp_pyframe_loader(int32_t *n_yielded)
{
	uint64_t loader = 0;
	void *object;
	int held;

	*n_yielded = -1;
	if (!enter_iterator(&object, &held))
		return 0;
	if (object) {
		/* The sampler belongs to the loader; iterators come and go with each pass. */
		void *sampler = tp_py.get_attr(object, "_index_sampler");

		if (sampler) {
			loader = (uintptr_t)sampler;
			tp_py.drop(sampler);
		}
		if (tp_py.error())
			tp_py.clear();
		*n_yielded = (int32_t)tp_pyapi_number(object, "_num_yielded", -1);
	}
	tp_py.release(held);
	return loader;
}

bool tp_pyframe_dataset(char *text, size_t cap)
{
	void *object;
	int held;

	text[0] = '\0';
	if (!enter_iterator(&object, &held))
		return false;
	if (object)
		tp_pyloader_describe(object, text, cap);
	tp_py.release(held);
	return text[0] != '\0';
}

static long count(void *tuple)
{
	long n = tuple ? (long)tp_py.size(tuple) : 0;

	if (n < 0)
		tp_py.clear();
	return n < 0 ? 0 : n;
}

/* Variables of a function: its own, those that inner functions use, those of outer ones. */
static long count_locals(void *code)
{
	void *names = tp_py.get_attr(code, "co_varnames");
	void *shared = tp_py.get_attr(code, "co_cellvars");
	void *outer = tp_py.get_attr(code, "co_freevars");
	long n = count(names) + count(outer), n_shared = count(shared);

	/* An argument that inner functions use has one place only. */
	for (long i = 0; names && i < n_shared; i++) {
		void *name = tp_py.tuple_item(shared, i);

		n += name && tp_py.contains(names, name) == 0;
	}
	tp_pyapi_drop(names);
	tp_pyapi_drop(shared);
	tp_pyapi_drop(outer);
	if (tp_py.error())
		tp_py.clear();
	return n;
}

/* What a variable holds, to be dropped. Those that functions share lie in a cell. */
static void *get_variable(void *object)
{
	void *type = tp_py.type(object), *inside;

	tp_pyapi_drop(type);
	if (type != tp_py.cell_type) {
		tp_py.take(object);
		return object;
	}
	inside = tp_py.get_attr(object, "cell_contents");
	if (!inside)
		tp_py.clear();
	return inside;
}

void tp_pyframe_each_local(void (*each)(void *ctx, const struct tp_pyframe_local *local), void *ctx)
{
	const char *frame = state.layout ? get_newest_frame(state.layout) : NULL;

	for (uint32_t i = 0; frame && i < MAX_CHECKED; i++) {
		void *code = (void *)tp_pyframe_ref(frame, state.layout->code);
		void *names = tp_py.get_attr(code, "co_varnames");
		long n = count_locals(code), n_named = count(names);

		for (long k = 0; k < n && k < MAX_LOCALS; k++) {
			struct tp_pyframe_local local = { .code = code };

			local.object = (void *)tp_pyframe_ref(frame, state.layout->locals + (uint32_t)k * 8);
			/* Not set yet, or no more. */
			local.object = local.object ? get_variable(local.object) : NULL;
			if (!local.object)
				continue;
			/* Behind them come those that only inner functions share, and outer ones'. */
			local.name = k < n_named ? tp_py.tuple_item(names, k) : NULL;
			each(ctx, &local);
			tp_py.drop(local.object);
		}
		tp_pyapi_drop(names);
		frame = get_outer_frame(state.layout, frame);
	}
}

bool tp_pyframe_module_text(const char *module, const char *name, char *text, size_t cap)
{
	void *object, *value = NULL;
	const char *found = NULL;
	int held;

	if (!tp_pyframe_enter(&held))
		return false;
	object = tp_py.get_key(tp_py.modules(), module);
	if (object) {
		value = tp_py.get_attr(object, name);
		found = value ? tp_py.as_utf8(value) : NULL;
		tp_py.drop(object);
	}
	if (found) {
		size_t n = strlen(found);

		n = n < cap ? n : cap - 1;
		memcpy(text, found, n);
		text[n] = '\0';
	}
	tp_pyapi_drop(value);
	if (tp_py.error())
		tp_py.clear();
	tp_py.release(held);
	return found != NULL;
}

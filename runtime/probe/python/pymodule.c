/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pymodule.c - calls of nn.Modules: which frames they are, which module, what it is called
 *
 * Names are told once a window, under the interpreter's lock: so no two threads tell them at a
 * time.
 */
#include "runtime/probe/python/pymodule.h"

#include <errno.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/base/sync.h"
#include "runtime/base/text.h"
#include "runtime/engine/intern.h"
#include "runtime/engine/probe.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/engine/session.h"
#include "runtime/probe/python/nnmodule.h"
#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/python/pyframe_layout.h"
#include "runtime/probe/python/pystack.h"

enum {
	DEPTH_MAX = 64,		/* of modules in modules that are named */
	NAME_MAX_BYTES = 1024,
	CLASS_MAX_BYTES = 256,
	FIRST_LINES = 3,	/* of _call_impl, in which it asks */
	TRIES_MAX = 1000,	/* calls of other functions by that name */
};

uint32_t tp_pymodule_is_armed;

static struct {
	const struct tp_pyframe_layout *layout;	/* NULL: off */
	const char *call_code;		/* of _call_impl, kept alive, and where it asks */
	const char *call_at;
	/* A module is called: `frame` of this thread is its call. */
	void (*called)(const char *frame);
	/* Atomic. */
	uint64_t n_calls, n_named;
	uint32_t n_tries;
} state;

static void count(uint64_t *what)
{
	__atomic_fetch_add(what, 1, __ATOMIC_RELAXED);
}

/* ---- names, under the lock ---- */

/* A module whose modules are being gone through. */
struct inside {
	void *modules;			/* its _modules, ours to give back */
	ptrdiff_t at;
	uint32_t n_name;		/* bytes of its own name */
};

struct naming {
	char name[NAME_MAX_BYTES + CLASS_MAX_BYTES];
	struct inside inside[DEPTH_MAX];
	uint64_t window;
};

/* What belongs to the public API, and only that, is asked of the object. */
static void *get_modules(void *module)
{
	void *modules = tp_py.get_attr(module, "_modules");

	if (modules && tp_py.is_instance(modules, tp_py.dict_type) != 1) {
		tp_py.drop(modules);
		modules = NULL;
	}
	if (tp_py.error())
		tp_py.clear();
	return modules;
}

static uint32_t put_class(void *module, char *text)
{
	void *name = tp_py.get_attr((void *)tp_pyframe_ptr(module, TP_PYOBJECT_TYPE), "__name__");
	const char *utf8 = name ? tp_py.as_utf8(name) : NULL;
	size_t n = utf8 ? strlen(utf8) : 0;

	if (n > CLASS_MAX_BYTES)
		n = CLASS_MAX_BYTES;
	if (n)
		memcpy(text, utf8, n);
	tp_pyapi_drop(name);
	if (tp_py.error())
		tp_py.clear();
	return (uint32_t)n;
}

/* False: it has been told in this window, as all modules inside of it. */
static bool tell_name(struct naming *naming, void *module, uint32_t n_name)
{
	struct tp_nnmodule *place = tp_nnmodule_find(module);
	const char *type = tp_pyframe_ptr(module, TP_PYOBJECT_TYPE);
	struct tp_rec *rec;
	uint32_t string, n;

	if (!place || (place->window == naming->window && place->type == type))
		return false;
	if (place->type && place->type != type) {
		tp_nnmodule_turn(place);
		/* Stacks in which the other one was called are not its. */
		tp_pystack_unmapped();
	}
	place->type = type;
	place->window = naming->window;
	naming->name[n_name] = '\0';
	n = n_name + 1 + put_class(module, naming->name + n_name + 1);
	string = tp_intern(TP_STRING_NNMODULE, naming->name, n);
	rec = string ? tp_ring_reserve() : NULL;
	if (!rec)
		return true;
	rec->time = tp_clock_now();
	tp_rec_set_len(rec, 0);
	rec->kind = TP_REC_NNMODULE;
	rec->flags = 0;
	rec->name = string;
	rec->link = tp_nnmodule_number_of(place);
	rec->arg = 0;
	tp_ring_commit();
	count(&state.n_named);
	return true;
}

/* The name of a module in the one that stands behind `n` bytes. 0: too long. */
static uint32_t put_name(struct naming *naming, uint32_t n, void *key)
{
	const char *text = tp_pyapi_text(key);
	size_t n_text = text ? strlen(text) : 0;

	if (!n_text || n + 1 + n_text >= NAME_MAX_BYTES)
		return 0;
	if (n)
		naming->name[n++] = '.';
	memcpy(naming->name + n, text, n_text);
	return n + (uint32_t)n_text;
}

/*
 * `root` and all modules in it. A module in several places has the name of the first. A class may
 * have attributes made by Python, which may let another thread have the lock, and come here: that
 * one's modules are named at their next call.
 */
static void tell_names(void *root, uint64_t window)
{
	static struct naming naming;	/* the lock is held */
	static bool is_busy;
	uint32_t depth = 0;
	void *modules;

	if (is_busy)
		return;
	naming.window = window;
	if (!tell_name(&naming, root, 0))
		return;
	is_busy = true;
	modules = get_modules(root);
	if (modules)
		naming.inside[depth++] = (struct inside){ .modules = modules };
	while (depth) {
		struct inside *inside = &naming.inside[depth - 1];
		void *key, *module;
		uint32_t n;

		if (!tp_py.dict_next(inside->modules, &inside->at, &key, &module)) {
			tp_py.drop(inside->modules);
			depth--;
			continue;
		}
		n = put_name(&naming, inside->n_name, key);
		modules = n ? get_modules(module) : NULL;
		/* None, or something else that has no modules, is none. */
		if (!modules)
			continue;
		if (tell_name(&naming, module, n) && depth < DEPTH_MAX)
			naming.inside[depth++] = (struct inside){ .modules = modules, .n_name = n };
		else
			tp_py.drop(modules);
	}
	is_busy = false;
}

/* ---- calls ---- */

static bool is_called(const char *code, const char *wanted)
{
	void *name = tp_py.get_attr((void *)code, "co_qualname");
	const char *text = name ? tp_py.as_utf8(name) : NULL;
	bool is_it = text && strcmp(text, wanted) == 0;

	tp_pyapi_drop(name);
	if (tp_py.error())
		tp_py.clear();
	return is_it;
}

/* The frame outside of it that runs code; NULL: none. */
static const char *get_outer(const char *frame)
{
	do
		frame = tp_pyframe_ptr(frame, state.layout->previous);
	while (tp_pyframe_is_ptr(frame) && tp_pyframe_is_own(state.layout, frame));
	return tp_pyframe_is_ptr(frame) ? frame : NULL;
}

/* In its first statement: whatever it calls later may come here, too, without the lock. */
static bool is_first_statement(const char *code, const char *at)
{
	int line = tp_py.line_at((void *)code, (int)(at - (code + state.layout->instructions)));
	long first = tp_pyapi_number((void *)code, "co_firstlineno", 0);

	return line > first && line <= first + FIRST_LINES;
}

/* Is this a call of a module, the first that is seen? Its code is kept for ever then, so that
 * its address means it. */
static bool learn(const char *frame, const char *code)
{
	const char *at = tp_pyframe_ptr(frame, state.layout->at), *outer, *outer_code;

	if (state.n_tries > TRIES_MAX || !tp_py.holds_lock() || tp_py.error())
		return false;
	if (!is_called(code, "Module._call_impl"))
		return false;
	outer = get_outer(frame);
	outer_code = outer ? tp_pyframe_ref(outer, state.layout->code) : NULL;
	if (!outer_code || !is_called(outer_code, "Module._wrapped_call_impl") ||
	    !is_first_statement(code, at)) {
		if (state.n_tries++ == TRIES_MAX)
			tp_probe_off("modules", "calls of modules look otherwise in this torch");
		return false;
	}
	tp_py.take((void *)code);
	tp_py.take((void *)outer_code);
	state.call_at = at;
	__atomic_store_n(&tp_nnmodule_code, outer_code, __ATOMIC_RELAXED);
	__atomic_store_n(&state.call_code, code, __ATOMIC_RELEASE);
	/* Frames that were read without knowing it are read anew. */
	tp_pystack_unmapped();
	return true;
}

/* The outermost module on this thread whose call `frame`, or one outside of it, is. */
static const char *get_outermost(const char *frame)
{
	const char *module = NULL;

	for (; frame; frame = get_outer(frame)) {
		if (tp_pyframe_ref(frame, state.layout->code) == tp_nnmodule_code)
			module = tp_pyframe_ref(frame, state.layout->locals);
	}
	return module;
}

static void take_call(const char *frame)
{
	const char *module = tp_pyframe_ref(frame, state.layout->locals);
	const struct tp_nnmodule *place = tp_nnmodule_find(module);
	uint64_t window = tp_ring_window_begin();

	if (place && tp_unlikely(place->window != window ||
				 place->type != tp_pyframe_ptr(module, TP_PYOBJECT_TYPE)) &&
	    tp_py.holds_lock() && !tp_py.error()) {
		tell_names((void *)get_outermost(frame), window);
		/* One that its outer module does not know of, or another one than before. */
		tell_names((void *)module, window);
	}
	/* The interpreter's lock is held. */
	__atomic_store_n(&state.n_calls, state.n_calls + 1, __ATOMIC_RELAXED);
	state.called(frame);
}

void tp_pymodule_tracing_asked(void)
{
	const char *call_code = __atomic_load_n(&state.call_code, __ATOMIC_ACQUIRE);
	const char *thread_state, *frame, *code;
	int kept_errno = errno;

	if (!tp_session_is_armed())
		return;
	thread_state = tp_pyapi_state();
	frame = thread_state ? tp_pyframe_newest(state.layout, thread_state) : NULL;
	if (!frame || tp_pyframe_is_own(state.layout, frame))
		return;
	code = tp_pyframe_ref(frame, state.layout->code);
	if (tp_likely(call_code) ? code != call_code : !learn(frame, code)) {
		errno = kept_errno;
		return;
	}
	if (tp_pyframe_ptr(frame, state.layout->at) == state.call_at) {
		frame = get_outer(frame);
		if (frame && tp_pyframe_ref(frame, state.layout->code) == tp_nnmodule_code)
			take_call(frame);
	}
	errno = kept_errno;
}

void tp_pymodule_open(const struct tp_pyframe_layout *layout,
		      void (*called)(const char *frame))
{
	state.layout = layout;
	state.called = called;
}

void tp_pymodule_arm(bool is_armed)
{
	__atomic_store_n(&tp_pymodule_is_armed, is_armed, __ATOMIC_RELEASE);
}

void tp_pymodule_report(struct tp_text *totals)
{
	tp_text_fmt(totals, "module.calls=%lu\nmodule.named=%lu\nmodule.lost=%lu\n",
		    (unsigned long)__atomic_load_n(&state.n_calls, __ATOMIC_RELAXED),
		    (unsigned long)__atomic_load_n(&state.n_named, __ATOMIC_RELAXED),
		    (unsigned long)tp_nnmodule_lost());
}

void tp_pymodule_forked(void)
{
	tp_pymodule_is_armed = 0;
	state.n_calls = state.n_named = 0;
	tp_nnmodule_forked();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pyhooks.c - what makes all of Python slow: hooks of its allocator, and of its lines and calls
 *
 * Python's own allocators have no context. Its debug hooks have one that begins with the letter of their
 * domain; that of tracemalloc is the allocator which it replaced, in the interpreter's own data (3.9 to 3.14:
 * a static of its file, or a part of _PyRuntime).
 *
 * Who follows lines and calls is what sys.gettrace() and sys.getprofile() say of this thread, and from 3.12
 * on who uses sys.monitoring. These are functions of C without effects.
 */
#include "runtime/probe/python/pyhooks.h"

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/peek.h"
#include "runtime/base/text.h"
#include "runtime/engine/config/config.h"
#include "runtime/engine/session.h"
#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/python/pyframe.h"

enum {
	OBJECTS = 2,			/* PYMEM_DOMAIN_OBJ */
	OBJECTS_LETTER = 'o',
	DATA_BYTES = 4 << 20,		/* more than the interpreter's data before and behind _PyRuntime */
	TOOLS = 6,			/* of sys.monitoring */
	TOOLS_SINCE = 12,		/* Python 3.12 */
	LOOKS = 8,			/* windows; then those that are a power of two, the others are as */
					/* the one before: the lock may have to be waited for */
};

/* PyMemAllocatorEx. */
struct allocator {
	void *context;
	void *(*malloc)(void *, size_t);
	void *(*calloc)(void *, size_t, size_t);
	void *(*realloc)(void *, void *, size_t);
	void (*free)(void *, void *);
};

enum hook { TRACEMALLOC, DEBUG_MEMORY, MEMORY_HOOKS, TRACE, PROFILE, MONITORING, N_HOOKS };

static struct {
	void (*get)(int domain, struct allocator *allocator);	/* PyMem_GetAllocator */
	void *(*get_sys)(const char *);	/* PySys_GetObject: borrowed, sets no exception */
	void *(*call_with)(void *, const char *, ...);	/* PyObject_CallFunction */
	bool is_there;
	uintptr_t data;			/* where _PyRuntime is */
	uint32_t n_windows, seen;	/* seen: bits of enum hook, when looked last */
	uint32_t n[N_HOOKS];		/* atomic: windows at whose start it was there */
} hooks;

static const char *const key[N_HOOKS] = {"tracemalloc", "debug_memory", "memory_hooks", "trace", "profile",
					 "monitoring"};

static int open_hooks(const struct tp_config *config)
{
	const struct tp_pysymbol symbol[] = {
		{&hooks.get, "PyMem_GetAllocator"},
		{&hooks.get_sys, "PySys_GetObject"},
		{&hooks.call_with, "PyObject_CallFunction"},
	};
	size_t n_bytes;

	/* What it costs is told by operators. Of a program without Python, or one that hides its functions,
	 * nothing is said. */
	hooks.is_there = config->record & TP_RECORD_OPS && !tp_pyapi_find() &&
			 tp_pyapi_load(symbol, sizeof(symbol) / sizeof(symbol[0]));
	if (hooks.is_there)
		hooks.data = (uintptr_t)tp_pyapi_runtime(&n_bytes);
	return 0;
}

static enum hook find_memory_hook(void)
{
	struct allocator allocator = {.context = NULL};
	uintptr_t at, word;

	hooks.get(OBJECTS, &allocator);
	at = (uintptr_t)allocator.context;
	if (!at)
		return N_HOOKS;
	/* Whoever else set it may mean anything by it. */
	if (tp_peek(allocator.context, &word, sizeof(word)) == sizeof(word) && word == OBJECTS_LETTER)
		return DEBUG_MEMORY;
	return hooks.data && at - hooks.data + DATA_BYTES < 2 * (uintptr_t)DATA_BYTES ? TRACEMALLOC
										      : MEMORY_HOOKS;
}

/* Something other than None; what a function raised is gone. */
static bool is_something(void *result)
{
	const bool is_any = result && result != tp_py.none;

	tp_pyapi_drop(result);
	if (tp_py.error())
		tp_py.clear();
	return is_any;
}

static bool is_set(const char *getter)
{
	void *function = hooks.get_sys(getter);

	return function && tp_pyapi_is_builtin(function) && is_something(tp_py.call(function, NULL));
}

static bool has_tool(void)
{
	void *monitoring = tp_py.minor >= TOOLS_SINCE ? hooks.get_sys("monitoring") : NULL;
	void *function = monitoring ? tp_pyapi_get(monitoring, "get_tool") : NULL;
	const int n = function && tp_pyapi_is_builtin(function) ? TOOLS : 0;
	bool is_any = false;

	for (int i = 0; i < n && !is_any; i++)
		is_any = is_something(hooks.call_with(function, "i", i));
	tp_pyapi_drop(function);
	return is_any;
}

/* Lock held. */
static uint32_t look(void)
{
	const enum hook hook = find_memory_hook();
	uint32_t seen = hook < N_HOOKS ? 1u << hook : 0;

	seen |= is_set("gettrace") ? 1u << TRACE : 0;
	seen |= is_set("getprofile") ? 1u << PROFILE : 0;
	return seen | (has_tool() ? 1u << MONITORING : 0);
}

static void arm_hooks(void)
{
	uint32_t n;
	int held;

	if (!hooks.is_there || !tp_session_is_armed())
		return;
	n = ++hooks.n_windows;
	if ((n <= LOOKS || !(n & (n - 1))) && tp_pyframe_enter(&held)) {
		hooks.seen = look();
		tp_py.release(held);
	}
	for (uint32_t i = 0; i < N_HOOKS; i++)
		if (hooks.seen & 1u << i)
			__atomic_fetch_add(&hooks.n[i], 1, __ATOMIC_RELAXED);
}

static void report_hooks(struct tp_text *totals)
{
	for (uint32_t i = 0; i < N_HOOKS; i++) {
		const uint32_t n = __atomic_load_n(&hooks.n[i], __ATOMIC_RELAXED);

		if (n)
			tp_text_fmt(totals, "python.%s=%u\n", key[i], n);
	}
}

static void forget_hooks(void)
{
	hooks.n_windows = hooks.seen = 0;
	for (uint32_t i = 0; i < N_HOOKS; i++)
		hooks.n[i] = 0;
}

const struct tp_probe tp_pyhooks_probe = {
	.name = "pyhooks",
	.open = open_hooks,
	.arm = arm_hooks,
	.report = report_hooks,
	.forked = forget_hooks,
};

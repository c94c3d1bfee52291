/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frameworks.c - runs frameworks.py in the guest's interpreter, once, and is its start and end
 */
#include "runtime/probe/python/frameworks.h"

#include <string.h>

#include "runtime/base/text.h"
#include "runtime/engine/probe.h"
#include "runtime/probe/mark/mark.h"
#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/python/pyframe.h"

/* The program's text, NUL-terminated. */
__asm__(".pushsection .rodata\n"
	"tp_frameworks_text:\n"
	".incbin \"runtime/probe/python/frameworks.py\"\n"
	".byte 0\n"
	".popsection\n");
extern const char tp_frameworks_text[] __attribute__((visibility("hidden")));

bool tp_frameworks_is_due;

/* Python's own numbers. */
enum { FILE_INPUT = 257, METH_NOARGS = 4, METH_O = 8 };
struct method {			/* PyMethodDef */
	const char *name;
	void *(*function)(void *, void *);
	int flags;
	const char *doc;
};

static void *nothing(void)
{
	tp_py.take(tp_py.none);
	return tp_py.none;
}

static void *begin(void *self, void *name)
{
	if (tp_mark_is_nesting()) {
		const char *text = tp_py.as_utf8(name);
		struct tp_mark_name mark = {.text = text, .n_text = text ? (uint32_t)strlen(text) : 0};

		if (!text)
			tp_py.clear();
		tp_mark_push(&mark);
	}
	return nothing();
}

static void *end(void *self, void *unused)
{
	if (tp_mark_depth)
		tp_mark_pop(NULL);
	return nothing();
}

static struct method methods[] = {
	{ "begin", begin, METH_O, NULL },
	{ "end", end, METH_NOARGS, NULL },
};

void tp_frameworks_want(void)
{
	__atomic_store_n(&tp_frameworks_is_due, true, __ATOMIC_RELAXED);
}

static bool add(void *globals, const char *key, void *value)
{
	return value && tp_py.set_key(globals, key, value) == 0;
}

static bool add_functions(void *globals)
{
	bool is_good = true;

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		void *function = tp_py.new_function(&methods[i], NULL, NULL);

		is_good = add(globals, methods[i].name, function) && is_good;
		tp_pyapi_drop(function);
	}
	return is_good;
}

/* A line "framework: why" each. */
static void tell(const char *said)
{
	while (*said) {
		size_t n = strcspn(said, "\n");
		const char *colon = memchr(said, ':', n);
		char name[64], why[200];
		struct tp_text text;

		tp_text_init(&text, name, sizeof(name));
		tp_text_bytes(&text, said, colon ? (size_t)(colon - said) : n);
		tp_text_init(&text, why, sizeof(why));
		if (colon)
			tp_text_bytes(&text, colon + 2, n - (size_t)(colon + 2 - said));
		tp_probe_off(name, why);
		said += n + (said[n] == '\n');
	}
}

/* Lock held. Into `why`: what was said, or why nothing was done. */
static void run(struct tp_text *why)
{
	void *globals = tp_py.new_dict(), *code = NULL, *result = NULL, *said;
	const char *text = "frameworks: an error of Python's";

	if (globals && add(globals, "__builtins__", tp_py.builtins()) &&
	    add(globals, "modules", tp_py.modules()) && add_functions(globals))
		code = tp_py.compile(tp_frameworks_text, "<trainprof>", FILE_INPUT);
	if (code) {
		result = tp_py.run(code, globals, globals);
		text = "frameworks: an error in trainprof's own Python code";
	}
	said = result ? tp_py.get_key(globals, "said") : NULL;
	if (said)
		text = tp_py.as_utf8(said);
	if (tp_py.error())
		tp_py.clear();
	tp_text_str(why, text ? text : "");
	tp_pyapi_drop(said);
	tp_pyapi_drop(result);
	tp_pyapi_drop(code);
	tp_pyapi_drop(globals);
}

void tp_frameworks_attach(void)
{
	char buf[1024];
	struct tp_text why;
	int held;

	if (!__atomic_exchange_n(&tp_frameworks_is_due, false, __ATOMIC_RELAXED))
		return;
	if (!tp_pyframe_enter(&held)) {
		tp_probe_off("frameworks", "Python's lock was not to be had");
		return;
	}
	tp_text_init(&why, buf, sizeof(buf));
	run(&why);
	tp_py.release(held);
	/* Not under the interpreter's lock: it may print. */
	tell(buf);
}

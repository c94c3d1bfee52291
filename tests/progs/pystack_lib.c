/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pystack_lib.c - the reader of Python stacks as a library of its own, for pystack_check.py
 *
 * Built by tests/flow/302-pystack.sh together with runtime/probe/pystack*.c. Trees and strings
 * are simple ones of our own, so that each stack can be taken apart again. Never shipped.
 */
#include "runtime/probe/python/pystack.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/text.h"
#include "runtime/engine/intern.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/probe/python/nnmodule.h"
#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/stack/stack_tree.h"

#define EXPORT __attribute__((visibility("default")))

enum { MOST_NODES = 1 << 21, MOST_STRINGS = 1 << 13, MOST_NATIVE = 4096 };

struct tp_ring tp_ring;
__thread struct tp_ring_self tp_ring_self __attribute__((tls_model("initial-exec")));
uint32_t tp_stack_epoch;
static struct tp_ring_head head;

static struct {
	pthread_mutex_t lock;
	uint32_t generation, n_nodes, n_strings;
	struct { uint32_t outer, flags, name; uint64_t arg; } node[MOST_NODES];
	struct { uint32_t n; char text[TP_INTERN_MAX]; } string[MOST_STRINGS];
} books = { PTHREAD_MUTEX_INITIALIZER, 1, 0, 0, { { 0, 0, 0, 0 } }, { { 0, "" } } };

/* A handler of a signal comes at any time: it may not wait for what it interrupted. */
static __thread volatile sig_atomic_t is_inside;

uint32_t tp_intern(enum tp_string_kind kind, const void *bytes, uint32_t n)
{
	uint32_t at;

	if (kind != TP_STRING_PYFRAME)
		return 0;
	pthread_mutex_lock(&books.lock);
	for (at = 1; at <= books.n_strings; at++) {
		if (books.string[at].n == n && !memcmp(books.string[at].text, bytes, n))
			break;
	}
	if (at > books.n_strings && at < MOST_STRINGS) {
		books.n_strings = at;
		books.string[at].n = n;
		memcpy(books.string[at].text, bytes, n);
	}
	pthread_mutex_unlock(&books.lock);
	return at < MOST_STRINGS ? at : 0;
}

const char *tp_nnmodule_code;	/* no module is called */

uint32_t tp_nnmodule_number(const char *module)
{
	return 0;
}

struct tp_stack_tree *tp_stack_tree(uint64_t time, uint32_t *generation)
{
	static __thread struct tp_stack_tree tree;

	tree.turn = head.window_turn;
	*generation = books.generation;
	return &tree;
}

uint32_t tp_stack_tree_child(struct tp_stack_tree *tree, uint32_t outer, uint32_t flags,
			     uint32_t name, uint64_t arg, uint64_t time)
{
	uint32_t at = __atomic_add_fetch(&books.n_nodes, 1, __ATOMIC_RELAXED);

	if (at >= MOST_NODES)
		return 0;
	books.node[at].outer = outer;
	books.node[at].flags = flags;
	books.node[at].name = name;
	books.node[at].arg = arg;
	return at;
}

/* After Python has ended, not before: the word that is read for it says so, as the function does. */
static void say_ending(void)
{
	fprintf(stderr, "pystack.ending=%d,%d\n", tp_pyapi_is_ending(), !tp_py.is_initialized());
}

EXPORT const char *init(void);
EXPORT const char *init(void)
{
	const char *why = tp_pystack_init();

	atexit(say_ending);
	tp_ring.head = &head;
	return why ? why : "";
}

/* The stack's number. */
EXPORT uint32_t take(void);
EXPORT uint32_t take(void)
{
	uint32_t stack;

	is_inside = 1;
	stack = tp_pystack_take(7);
	is_inside = 0;
	return stack;
}

/* What a number stands for: its innermost frame, and the number of the rest. */
EXPORT uint32_t outer(uint32_t stack, uint32_t *flags, uint64_t *line, const char **text, uint32_t *n);
EXPORT uint32_t outer(uint32_t stack, uint32_t *flags, uint64_t *line, const char **text, uint32_t *n)
{
	*flags = books.node[stack].flags;
	*line = books.node[stack].arg;
	*text = books.string[books.node[stack].name].text;
	*n = books.string[books.node[stack].name].n;
	return books.node[stack].outer;
}

/* A string by its number: "function\0file"; 0: there is none. */
EXPORT uint32_t text(uint32_t string, const char **out, uint32_t *n);
EXPORT uint32_t text(uint32_t string, const char **out, uint32_t *n)
{
	*out = books.string[string].text;
	*n = books.string[string].n;
	return string <= books.n_strings;
}

/* Stacks made so far: a walk that met what it knew makes none. */
EXPORT uint32_t n_made(void);
EXPORT uint32_t n_made(void)
{
	return books.n_nodes;
}

/* A new window: numbers from before must not be used again. */
EXPORT void begin_window(void);
EXPORT void begin_window(void)
{
	books.generation++;
	head.window_turn += 2;
}

EXPORT const char *report(void);
EXPORT const char *report(void)
{
	static char buf[256];
	struct tp_text text;

	tp_text_init(&text, buf, sizeof(buf));
	tp_pystack_report(&text);
	return buf;
}

/*
 * How often the interpreter's evaluation function stands on the stack of C. -1 from the first time on
 * that it is nowhere: this one's has a cold part without a name.
 */
EXPORT int n_evaluations(void);
EXPORT int n_evaluations(void)
{
	static int is_nameless;
	void *native[MOST_NATIVE];
	int n = backtrace(native, MOST_NATIVE), n_found = 0;

	for (int i = 0; i < n; i++) {
		Dl_info info;

		if (dladdr((char *)native[i] - 1, &info) && info.dli_sname &&
		    strcmp(info.dli_sname, "_PyEval_EvalFrameDefault") == 0)
			n_found++;
	}
	is_nameless |= !n_found;
	return is_nameless ? -1 : n_found;
}

static struct {
	pthread_t sender, receiver;
	uint64_t n_walks;
	int is_on;
} handler;

static void walk_in_handler(int signal)
{
	if (!is_inside)
		take();
	__atomic_fetch_add(&handler.n_walks, 1, __ATOMIC_RELAXED);
}

static void *send_signals(void *unused)
{
	while (__atomic_load_n(&handler.is_on, __ATOMIC_RELAXED)) {
		uint64_t before = __atomic_load_n(&handler.n_walks, __ATOMIC_RELAXED);

		pthread_kill(handler.receiver, SIGPROF);
		while (__atomic_load_n(&handler.n_walks, __ATOMIC_RELAXED) == before)
			sched_yield();
	}
	return NULL;
}

/* From now on signals walk this thread's stack wherever it is. */
EXPORT void walk_often(void);
EXPORT void walk_often(void)
{
	struct sigaction action = { .sa_handler = walk_in_handler, .sa_flags = SA_RESTART };

	sigaction(SIGPROF, &action, NULL);
	handler.receiver = pthread_self();
	handler.is_on = 1;
	pthread_create(&handler.sender, NULL, send_signals, NULL);
}

EXPORT uint64_t n_walks(void);
EXPORT uint64_t n_walks(void)
{
	return __atomic_load_n(&handler.n_walks, __ATOMIC_RELAXED);
}

EXPORT void walk_no_more(void);
EXPORT void walk_no_more(void)
{
	handler.is_on = 0;
	pthread_join(handler.sender, NULL);
}

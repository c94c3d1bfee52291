/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_threads.c - follows the list of thread states
 */
#include "runtime/probe/sample/pysample_threads.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/base/readable.h"
#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/python/pyframe_layout.h"

enum {
	PREVIOUS = 0, NEXT = 8, INTERPRETER = 16,	/* of a thread state, in all versions */
	LEAST_STATE = 264,	/* bytes of it, in any version (3.9) */
	MOST_STATE = 512,	/* room for what is copied of one */
	MOST_PTHREAD = 1024,	/* bytes of struct pthread that are looked at */
	HEAD = MOST_STATE + 8,	/* a state and its thread's tid */
	MOST_STEPS = 4096,	/* to the first of the list */
};

static struct {
	const char *anchor;	/* atomic: a state that is in the list */
	const char *interpreter;
	uint32_t thread_id;	/* in a state: pthread_t */
	uint32_t tid;		/* in that */
	/* Those of the last round, in the order of the list, and those of the one that is made. */
	struct tp_pysample_thread known[2][TP_PYSAMPLE_THREADS];
	uint32_t which, n;
	bool is_cut;
	char head[TP_PYSAMPLE_THREADS][HEAD] __attribute__((aligned(8)));
	struct iovec own[2 * TP_PYSAMPLE_THREADS], other[2 * TP_PYSAMPLE_THREADS];
} threads;

static const char *take_word(const char *at)
{
	return tp_pyframe_ptr(at, 0);
}

/* Where in a state its thread's pthread_t stands; 0: nowhere, or twice. */
static uint32_t find_thread_id(const char *state)
{
	uint32_t found = 0, n = 0;

	for (uint32_t at = INTERPRETER + 8; at < LEAST_STATE; at += 8) {
		if (take_word(state + at) != (const char *)pthread_self())
			continue;
		found = at;
		n++;
	}
	return n == 1 ? found : 0;
}

static uint32_t find_tid(void)
{
	const char *self = (const char *)pthread_self();
	uint32_t tid = (uint32_t)syscall(SYS_gettid), at_tid;

	for (uint32_t at = 0; at < MOST_PTHREAD && tp_is_readable(self + at); at += 4) {
		memcpy(&at_tid, self + at, sizeof(at_tid));
		if (at_tid == tid)
			return at;
	}
	return 0;
}

const char *tp_pysample_threads_init(void)
{
	void *(*get_next)(void *) = NULL, *(*get_interpreter)(void *) = NULL;
	void *found = dlsym(RTLD_DEFAULT, "PyThreadState_Next");
	char *state = tp_py.thread_state();

	memcpy(&get_next, &found, sizeof(found));
	found = dlsym(RTLD_DEFAULT, "PyThreadState_GetInterpreter");
	memcpy(&get_interpreter, &found, sizeof(found));
	if (!state || !get_next || !get_interpreter)
		return "this python does not tell of its threads";
	threads.interpreter = take_word(state + INTERPRETER);
	if (threads.interpreter != get_interpreter(state) || take_word(state + NEXT) != get_next(state))
		return "states of threads are another way";
	threads.thread_id = find_thread_id(state);
	threads.tid = find_tid();
	if (!threads.thread_id || !threads.tid)
		return "states of threads do not name their threads";
	tp_pysample_threads_from_here();
	return NULL;
}

const char *tp_pysample_threads_interpreter(void)
{
	return threads.interpreter;
}

void tp_pysample_threads_from_here(void)
{
	const char *state = tp_pyapi_is_ending() ? NULL : tp_py.thread_state();

	if (state)
		__atomic_store_n(&threads.anchor, state, __ATOMIC_RELEASE);
}

/* ---- the list as it is ---- */

struct list {
	struct tp_pysample_thread *thread;
	uint32_t n;
	bool is_cut;	/* there are more */
};

/* A state that is gone has another interpreter, or none, or a thread that is no more. */
static bool read_thread(const char *state, const char *copy, struct tp_pysample_thread *out)
{
	*out = (struct tp_pysample_thread){
		.state = state,
		.self = tp_pyframe_ptr(copy, threads.thread_id),
	};
	if (tp_pyframe_ptr(copy, INTERPRETER) != threads.interpreter)
		return false;
	/* A state that is being made has none yet. */
	if (!tp_pyframe_is_ptr(out->self) ||
	    !tp_pysample_read(out->self + threads.tid, &out->kernel.tid, sizeof(out->kernel.tid)))
		out->kernel.tid = 0;
	return true;
}

/* From `state` on in one direction; what is there must point back. */
static bool follow(struct list *list, const char *state, uint32_t link, uint32_t back)
{
	char copy[MOST_STATE];
	const char *before = NULL;

	while (state && list->n < TP_PYSAMPLE_THREADS) {
		if (!tp_pyframe_is_ptr(state) || !tp_pysample_read(state, copy, threads.thread_id + 8) ||
		    (before && tp_pyframe_ptr(copy, back) != before) ||
		    !read_thread(state, copy, &list->thread[list->n]))
			return false;
		list->n++;
		before = state;
		state = tp_pyframe_ptr(copy, link);
	}
	list->is_cut = state != NULL;
	return true;
}

/* New states come first in the list. The one that trains is old, and wanted most. */
static void put_last(struct list *list, const char *state)
{
	struct tp_pysample_thread *last = &list->thread[list->n - 1], thread;
	char copy[MOST_STATE];

	for (uint32_t i = 0; i < list->n; i++)
		if (list->thread[i].state == state)
			return;
	if (tp_pyframe_is_ptr(state) && tp_pysample_read(state, copy, threads.thread_id + 8) &&
	    read_thread(state, copy, &thread))
		*last = thread;
}

/* The first of the list: inwards from `state`, which may be no state any more. */
static const char *find_first(const char *state)
{
	char copy[INTERPRETER + 8];

	for (uint32_t i = 0; i < MOST_STEPS; i++) {
		if (!tp_pyframe_is_ptr(state) || !tp_pysample_read(state, copy, sizeof(copy)) ||
		    tp_pyframe_ptr(copy, INTERPRETER) != threads.interpreter)
			return NULL;
		if (!tp_pyframe_ptr(copy, PREVIOUS))
			return state;
		state = tp_pyframe_ptr(copy, PREVIOUS);
	}
	return NULL;
}

/* What is remembered of a thread stays with it. */
static void take_over(struct tp_pysample_thread *to, const struct tp_pysample_thread *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (from[i].state == to->state && from[i].self == to->self &&
		    from[i].kernel.tid == to->kernel.tid)
			*to = from[i];
}

static bool follow_all(void)
{
	const struct tp_pysample_thread *known = threads.known[threads.which];
	struct list list = { .thread = threads.known[!threads.which] };
	const char *anchor = __atomic_load_n(&threads.anchor, __ATOMIC_ACQUIRE);
	const char *first = find_first(anchor);
	bool is_whole;

	for (uint32_t i = 0; i < threads.n && !first; i++)
		first = find_first(known[i].state);
	is_whole = first && follow(&list, first, NEXT, PREVIOUS);
	threads.is_cut = list.is_cut;
	if (list.is_cut)
		put_last(&list, anchor);
	for (uint32_t i = 0; i < list.n; i++)
		take_over(&list.thread[i], known, threads.n);
	for (uint32_t i = 0; i < list.n; i++)
		tp_pysample_clock(&list.thread[i].kernel);
	threads.which = !threads.which;
	threads.n = list.n;
	return is_whole;
}

/* ---- is it still that? ---- */

static bool is_as_known(uint32_t at, const char *head)
{
	const struct tp_pysample_thread *thread = &threads.known[threads.which][at];
	uint32_t tid;

	memcpy(&tid, head + MOST_STATE, sizeof(tid));
	return tp_pyframe_ptr(head, INTERPRETER) == threads.interpreter &&
	       tp_pyframe_ptr(head, PREVIOUS) == (at ? thread[-1].state : NULL) &&
	       tp_pyframe_ptr(head, NEXT) == (at + 1 < threads.n ? thread[1].state : NULL) &&
	       tp_pyframe_ptr(head, threads.thread_id) == thread->self && tid == thread->kernel.tid;
}

/*
 * A state that is new is the list's first, so that the one that was it points to it; one that is gone
 * was its own thread's doing, which has run. So of those that did not run only the first is read.
 */
static bool is_unchanged(void)
{
	struct tp_pysample_thread *known = threads.known[threads.which];
	const size_t n_state = threads.thread_id + 8, n_tid = sizeof(known->kernel.tid);
	static uint32_t asked[TP_PYSAMPLE_THREADS];
	uint32_t n = 0;

	for (uint32_t i = 0; i < threads.n; i++) {
		const char *tid = known[i].self + threads.tid;

		if (!known[i].kernel.tid || !tp_pysample_clock(&known[i].kernel))
			return false;
		if (i && !known[i].kernel.ran_ns)
			continue;
		threads.own[2 * n] = (struct iovec){ threads.head[n], n_state };
		threads.other[2 * n] = (struct iovec){ (void *)(uintptr_t)known[i].state, n_state };
		threads.own[2 * n + 1] = (struct iovec){ threads.head[n] + MOST_STATE, n_tid };
		threads.other[2 * n + 1] = (struct iovec){ (void *)(uintptr_t)tid, n_tid };
		asked[n++] = i;
	}
	if (!n || process_vm_readv(getpid(), threads.own, 2 * n, threads.other, 2 * n, 0) !=
			  (ssize_t)(n * (n_state + n_tid)))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!is_as_known(asked[i], threads.head[i]))
			return false;
	return true;
}

bool tp_pysample_threads_is_cut(void)
{
	return threads.is_cut;
}

struct tp_pysample_thread *tp_pysample_threads(uint32_t *n, bool *is_whole)
{
	*is_whole = is_unchanged() || follow_all();
	*n = threads.n;
	return threads.known[threads.which];
}

struct tp_pysample_thread *tp_pysample_thread_of(uint32_t tid)
{
	struct tp_pysample_thread *thread;
	bool is_whole;
	uint32_t n;

	thread = tp_pysample_threads(&n, &is_whole);
	for (uint32_t i = 0; i < n; i++)
		if (thread[i].kernel.tid == tid)
			return &thread[i];
	return NULL;
}

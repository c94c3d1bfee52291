/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_threads.c - follows the list of thread states; asks the kernel what each thread does
 */
#include "runtime/probe/python/pysample_threads.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/base/own_table.h"
#include "runtime/base/readable.h"
#include "runtime/base/text.h"
#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/python/pyframe_layout.h"
#include "runtime/probe/python/pysample_read.h"

enum {
	PREVIOUS = 0, NEXT = 8, INTERPRETER = 16,	/* of a thread state, in all versions */
	MOST_STATE = 512,	/* bytes of it that are looked at */
	MOST_PTHREAD = 1024,	/* likewise, of struct pthread */
	TEXT = 256,
};

static struct {
	const char *anchor;	/* atomic: a state that is in the list */
	const char *interpreter;
	uint32_t thread_id;	/* in a state: pthread_t */
	uint32_t tid;		/* in that */
} threads;

static const char *take_word(const char *at)
{
	return tp_pyframe_ptr(at, 0);
}

/* Where in a state its thread's pthread_t stands; 0: nowhere, or twice. */
static uint32_t find_thread_id(const char *state)
{
	uint32_t found = 0, n = 0;

	for (uint32_t at = INTERPRETER + 8; at < MOST_STATE; at += 8) {
		if (!tp_is_readable(state + at) ||
		    take_word(state + at) != (const char *)pthread_self())
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

void tp_pysample_threads_from_here(void)
{
	const char *state = tp_pyapi_is_ending() ? NULL : tp_py.thread_state();

	if (state)
		__atomic_store_n(&threads.anchor, state, __ATOMIC_RELEASE);
}

/* A state that is gone has another interpreter, or none, or a thread that is no more. */
static bool add(struct tp_pysample_thread *out, uint32_t *n, const char *state, const char *copy)
{
	const char *self = tp_pyframe_ptr(copy, threads.thread_id);
	uint32_t tid;

	if (tp_pyframe_ptr(copy, INTERPRETER) != threads.interpreter)
		return false;
	/* A state that is being made has none yet. */
	if (tp_pyframe_is_ptr(self) && tp_pysample_read(self + threads.tid, &tid, sizeof(tid)) && tid)
		out[(*n)++] = (struct tp_pysample_thread){ state, tid };
	return true;
}

/* From `state` on, outwards in one direction; what is there must point back. */
static bool follow(struct tp_pysample_thread *out, uint32_t *n, const char *state, uint32_t link,
		   uint32_t back)
{
	char copy[MOST_STATE];
	const char *before = NULL;

	for (uint32_t i = 0; state && i < TP_PYSAMPLE_THREADS && *n < TP_PYSAMPLE_THREADS; i++) {
		if (!tp_pyframe_is_ptr(state) ||
		    !tp_pysample_read(state, copy, threads.thread_id + 8) ||
		    (before && tp_pyframe_ptr(copy, back) != before))
			return false;
		/* The first one is added by who follows the other way. */
		if ((before || link == NEXT) && !add(out, n, state, copy))
			return false;
		before = state;
		state = tp_pyframe_ptr(copy, link);
	}
	return true;
}

uint32_t tp_pysample_threads(struct tp_pysample_thread thread[TP_PYSAMPLE_THREADS], bool *is_whole)
{
	const char *anchor = __atomic_load_n(&threads.anchor, __ATOMIC_ACQUIRE);
	uint32_t n = 0;

	*is_whole = follow(thread, &n, anchor, NEXT, PREVIOUS);
	*is_whole &= follow(thread, &n, anchor, PREVIOUS, NEXT);
	return n;
}

/* ---- what threads do ---- */

struct asked {
	struct tp_pysample_state *state;
	uint32_t n;
};

/* "running", or the call's number and what it was given. */
static int32_t ask_kernel(uint32_t tid)
{
	char path[64], text[TEXT];
	struct tp_text name;
	int32_t number = 0;
	ssize_t n;
	int fd;

	tp_text_init(&name, path, sizeof(path));
	tp_text_fmt(&name, "/proc/self/task/%u/syscall", tid);
	fd = tp_file_open(path, O_RDONLY, 0);
	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	if (!strncmp(text, "running", 7))
		return 0;
	/* -1: it waits, but in no system call: for a page. */
	if (text[0] < '0' || text[0] > '9')
		return -1;
	for (const char *at = text; *at >= '0' && *at <= '9' && number < 100000; at++)
		number = number * 10 + (*at - '0');
	return number + 1;
}

static int ask_all(void *arg)
{
	const struct asked *asked = arg;

	for (uint32_t i = 0; i < asked->n; i++)
		asked->state[i].waits_in = ask_kernel(asked->state[i].tid);
	return 0;
}

void tp_pysample_states(struct tp_pysample_state *state, uint32_t n)
{
	struct asked asked = { state, n };

	if (n)
		tp_own_table_call(ask_all, &asked);
}

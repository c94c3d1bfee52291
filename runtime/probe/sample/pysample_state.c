/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_state.c - processor times of threads, what /proc says of them, the interpreter's lock
 */
#include "runtime/probe/sample/pysample_state.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/base/own_table.h"
#include "runtime/base/text.h"
#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/python/pyframe_layout.h"
#include "runtime/probe/sample/pysample_frames.h"

enum {
	TEXT = 256,
	/* CPython's lock, 3.9 to 3.14: the switch interval, the last holder, whether it is held; then
	 * the futexes that threads wait on. */
	HOLDER = 8, IS_HELD = 16, LOCK_BYTES = 208,
	MOST_INTERVAL = 1000000000,	/* us */
	MOST_CALL = 100000,
	ASKED_EVERY = 4,		/* rounds: it costs as much as a look */
};

static const char *lock;	/* NULL: not found */

/* ---- the interpreter's lock ---- */

static bool is_lock(const char *at, const char *holder)
{
	uint64_t interval;
	int32_t is_held;

	memcpy(&interval, at, sizeof(interval));
	memcpy(&is_held, at + IS_HELD, sizeof(is_held));
	return interval >= 1 && interval <= MOST_INTERVAL && is_held == 1 &&
	       tp_pyframe_ptr(at, HOLDER) == holder;
}

/* It is in _PyRuntime in all versions: by itself, or in the main interpreter. */
void tp_pysample_state_init(void)
{
	const char *self = tp_py.thread_state(), *found = NULL;
	uint32_t n_found = 0;
	size_t n;
	const char *runtime = tp_pyapi_runtime(&n);

	for (size_t at = 0; at + LOCK_BYTES <= n; at += 8) {
		if (!is_lock(runtime + at, self))
			continue;
		found = runtime + at;
		n_found++;
	}
	lock = n_found == 1 ? found : NULL;
}

const char *tp_pysample_lock_holder(void)
{
	char bytes[IS_HELD + 4];
	int32_t is_held;

	if (!lock || !tp_pysample_read(lock, bytes, sizeof(bytes)))
		return NULL;
	memcpy(&is_held, bytes + IS_HELD, sizeof(is_held));
	return is_held ? tp_pyframe_ptr(bytes, HOLDER) : NULL;
}

/* ---- what threads do ---- */

/* 0: there is no such thread. The number of the clock is Linux's, for a tid of the own process. */
static uint64_t get_cpu_ns(uint32_t tid)
{
	struct timespec ts;

	if (syscall(SYS_clock_gettime, (clockid_t)(~tid << 3 | 6), &ts))
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

bool tp_pysample_clock(struct tp_pysample_state *state)
{
	const uint64_t before_ns = state->cpu_ns;

	state->cpu_ns = get_cpu_ns(state->tid);
	state->ran_ns = before_ns && state->cpu_ns > before_ns ? state->cpu_ns - before_ns : 0;
	return state->cpu_ns && (!before_ns || state->cpu_ns >= before_ns);
}

bool tp_pysample_has_run(const struct tp_pysample_state *state)
{
	return !state->cpu_ns || get_cpu_ns(state->tid) != state->cpu_ns;
}

/* "running", or the call's number and what it was given. */
static void take_answer(struct tp_pysample_state *state, const char *text)
{
	uintptr_t argument;
	int32_t number = 0;
	const char *at = text;

	state->wants_lock = false;
	state->waits_in = TP_PYSAMPLE_NOT_KNOWN;
	if (!strncmp(text, "running", 7))
		state->waits_in = TP_PYSAMPLE_RUNS;
	/* -1: it waits, but in no system call: for a page. */
	if (*at < '0' || *at > '9')
		return;
	for (; *at >= '0' && *at <= '9' && number < MOST_CALL; at++)
		number = number * 10 + (*at - '0');
	state->waits_in = number + 1;
	if (number != SYS_futex || !lock)
		return;
	argument = strtoul(at, NULL, 16);
	state->wants_lock = argument >= (uintptr_t)lock && argument < (uintptr_t)lock + LOCK_BYTES;
}

static void ask_kernel(struct tp_pysample_state *state)
{
	char path[64], text[TEXT];
	struct tp_text name;
	ssize_t n = 0;
	int fd;

	tp_text_init(&name, path, sizeof(path));
	tp_text_fmt(&name, "/proc/self/task/%u/syscall", state->tid);
	fd = tp_file_open(path, O_RDONLY, 0);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	take_answer(state, text);
	state->asked_ns = state->cpu_ns;
}

struct asked {
	struct tp_pysample_state **state;
	uint32_t n;
};

/* False: that is not told by the clock, and it is this thread's turn to be asked of. */
static bool is_told_by_clock(struct tp_pysample_state *state, uint64_t since_ns, uint32_t turn)
{
	/* One that waited has not run since. */
	if (state->asked_ns == state->cpu_ns && state->waits_in > 0)
		return true;
	if (state->cpu_ns && !state->ran_ns)
		return false;
	if (state->cpu_ns && since_ns && state->ran_ns >= since_ns - since_ns / 8)
		state->waits_in = TP_PYSAMPLE_RUNS;
	else if (!state->is_asked && (state->tid + turn) % ASKED_EVERY)
		state->waits_in = TP_PYSAMPLE_NOT_KNOWN;
	else
		return false;
	state->wants_lock = false;
	state->asked_ns = 0;
	return true;
}

static int ask_all(void *arg)
{
	const struct asked *asked = arg;

	for (uint32_t i = 0; i < asked->n; i++)
		ask_kernel(asked->state[i]);
	return 0;
}

void tp_pysample_states(struct tp_pysample_state *state[], uint32_t n, uint64_t since_ns)
{
	static uint32_t turn;
	struct asked asked = { state, 0 };

	turn++;
	for (uint32_t i = 0; i < n; i++)
		if (!is_told_by_clock(state[i], since_ns, turn))
			state[asked.n++] = state[i];
	if (asked.n)
		tp_own_table_call(ask_all, &asked);
}

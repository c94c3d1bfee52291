/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_table.c - a thread with a descriptor table of its own
 *
 * close_range(2) with CLOSE_RANGE_UNSHARE makes the table: what is to be closed in the new
 * one is not even copied, so no pipe or socket of the program stays open a moment longer for
 * us (kernels before 6.13 copy the lowest 64 and close them at once). Before Linux 5.9 the
 * whole table is copied and then emptied, as with the child of any fork.
 *
 * The call is handed over in one futex word. A call and its answer cost two wake-ups, some
 * 10 us; there are a few for each block of 16 Ki records.
 */
#include "runtime/base/own_table.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/log.h"
#include "runtime/base/text.h"
#include "runtime/base/thread.h"

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2u
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum { SAID_BYTES = 8192, MOST_FDS = 1 << 20 };

enum { NONE, STARTING, REFUSED, IDLE, CALLED, DONE, ENDING, ENDED };

static struct {
	uint32_t id;		/* atomic; 0: no thread */
	uint32_t last_id;
	uint32_t state;		/* atomic; futex word */
	uint32_t is_busy;	/* atomic: somebody calls, or stops it */
	uint32_t tid;
	pthread_mutex_t meeting;	/* see meet() */
	int (*fn)(void *arg);
	void *arg;
	int result;
	struct tp_text said;
	char said_bytes[SAID_BYTES];
} table = {.meeting = PTHREAD_MUTEX_INITIALIZER};

static __thread bool is_inside __attribute__((tls_model("initial-exec")));

static uint32_t get_state(void)
{
	return __atomic_load_n(&table.state, __ATOMIC_ACQUIRE);
}

static void set_state(uint32_t state)
{
	__atomic_store_n(&table.state, state, __ATOMIC_RELEASE);
	syscall(SYS_futex, &table.state, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void await_change(uint32_t state)
{
	while (get_state() == state)
		syscall(SYS_futex, &table.state, FUTEX_WAIT_PRIVATE, state, NULL, NULL, 0);
}

/*
 * What one thread did before it is done before what the other does after. The words above say so to
 * the processor; the thread sanitizer, which a program may be built with, knows only of what it
 * intercepts, and would call each hand-over a race and the program's exit status 66. Never held.
 */
static void meet(void)
{
	pthread_mutex_lock(&table.meeting);
	pthread_mutex_unlock(&table.meeting);
}

/* ---- the table ---- */

/* What the list of the thread's descriptors names. False: there is no such list. */
static bool close_listed(void)
{
	char entries[4096] __attribute__((aligned(16)));
	int dir = open("/proc/thread-self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool is_known = dir >= 0, has_closed = true;
	ssize_t n;

	while (is_known && has_closed) {
		has_closed = false;
		lseek(dir, 0, SEEK_SET);
		while ((n = syscall(SYS_getdents64, dir, entries, sizeof(entries))) > 0) {
			for (ssize_t at = 0; at < n;) {
				const struct dirent64 *entry = (const void *)(entries + at);
				int fd = 0;

				at += entry->d_reclen;
				for (const char *p = entry->d_name; *p >= '0' && *p <= '9'; p++)
					fd = fd * 10 + (*p - '0');
				if (entry->d_name[0] != '.' && fd != dir) {
					close(fd);
					has_closed = true;
				}
			}
		}
	}
	if (is_known)
		close(dir);
	return is_known;
}

static int leave_copied_table(void)
{
	struct rlimit limit;

	/* Not by its name: that is a hook of ours. */
	if (syscall(SYS_unshare, CLONE_FILES) < 0)
		return -errno;
	if (!close_listed()) {
		if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > MOST_FDS)
			limit.rlim_cur = MOST_FDS;
		for (rlim_t fd = 0; fd < limit.rlim_cur; fd++)
			close((int)fd);
	}
	return 0;
}

static int leave_program_table(void)
{
	if (!syscall(SYS_close_range, 0u, ~0u, CLOSE_RANGE_UNSHARE))
		return 0;
	return leave_copied_table();
}

/* ---- the thread ---- */

static void *serve(void *unused)
{
	int err;

	tp_thread_introduce(TP_OWN_TABLE_THREAD, false);
	err = leave_program_table();
	table.result = err;
	table.tid = (uint32_t)syscall(SYS_gettid);
	meet();
	set_state(err ? REFUSED : IDLE);
	if (err)
		return NULL;
	is_inside = true;
	for (;;) {
		uint32_t state = get_state();

		if (state == ENDING)
			break;
		if (state != CALLED) {
			await_change(state);
			continue;
		}
		meet();
		tp_text_init(&table.said, table.said_bytes, sizeof(table.said_bytes));
		tp_log_hold(&table.said);
		table.result = table.fn(table.arg);
		tp_log_hold(NULL);
		meet();
		set_state(DONE);
	}
	set_state(ENDED);
	return NULL;
}

int tp_own_table_start(void)
{
	int err;

	set_state(STARTING);
	err = tp_thread_start(serve);
	if (!err) {
		await_change(STARTING);
		meet();
		err = table.result;
	}
	if (err) {
		set_state(NONE);
		return err;
	}
	__atomic_store_n(&table.id, ++table.last_id, __ATOMIC_RELEASE);
	return 0;
}

uint32_t tp_own_table_id(void)
{
	return __atomic_load_n(&table.id, __ATOMIC_ACQUIRE);
}

static void lock(void)
{
	const struct timespec pause = {.tv_nsec = 100000};

	while (__atomic_exchange_n(&table.is_busy, 1, __ATOMIC_ACQUIRE))
		syscall(SYS_nanosleep, &pause, NULL);
	meet();
}

static void unlock(void)
{
	meet();
	__atomic_store_n(&table.is_busy, 0, __ATOMIC_RELEASE);
}

int tp_own_table_call(int (*fn)(void *arg), void *arg)
{
	int saved = errno, result;

	if (is_inside || !tp_own_table_id()) {
		result = fn(arg);
		errno = saved;
		return result;
	}
	lock();
	if (tp_own_table_id()) {
		table.fn = fn;
		table.arg = arg;
		meet();
		set_state(CALLED);
		await_change(CALLED);
		meet();
		result = table.result;
		tp_log_write_held(&table.said);
		/* No wake-up: the thread sleeps as long as nobody calls. */
		__atomic_store_n(&table.state, IDLE, __ATOMIC_RELEASE);
	} else {
		result = fn(arg);
	}
	unlock();
	errno = saved;
	return result;
}

void tp_own_table_stop(void)
{
	int saved = errno;

	lock();
	if (tp_own_table_id()) {
		__atomic_store_n(&table.id, 0, __ATOMIC_RELEASE);
		set_state(ENDING);
		await_change(ENDING);
		tp_thread_await_gone(table.tid);
		table.tid = 0;
	}
	unlock();
	errno = saved;
}

void tp_own_table_forked(void)
{
	__atomic_store_n(&table.id, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&table.state, NONE, __ATOMIC_RELAXED);
	__atomic_store_n(&table.is_busy, 0, __ATOMIC_RELAXED);
	table.meeting = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	table.tid = 0;
}

uint64_t tp_own_table_cpu_ns(void)
{
	/* The kernel's number for the processor time of a thread. */
	const clockid_t clock = (clockid_t)(~table.tid << 3 | 6);
	struct timespec ts;

	if (!table.tid || clock_gettime(clock, &ts) < 0)
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

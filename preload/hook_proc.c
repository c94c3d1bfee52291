/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_proc.c - fork, the ways out (_exit, _Exit, quick_exit, pthread_exit), and exec
 *
 * A session belongs to the process whose handlers ran last: a child of vfork shares our
 * memory but has another pid, and everything here only forwards in it. posix_spawn needs
 * nothing: its child runs no code of ours.
 *
 * exec does not end the session, because it may fail (a search along PATH tries many): the
 * ring is marked, so that the reader of the dead does not take the new program, which has
 * our pid and start time, for us; and unmarked when exec comes back.
 */
#include "preload/hook_proc.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/export.h"
#include "preload/real.h"
#include "runtime/base/log.h"
#include "runtime/base/sync.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/engine/life.h"
#include "runtime/engine/session.h"
#include "runtime/engine/worker.h"
#include "runtime/probe/heap/heap_count.h"

#define REAL_CALLS(_)                                                                      \
	_(_exit) _(quick_exit) _(pthread_exit) _(execve) _(execv) _(execvp) _(execvpe) _(fexecve)

static struct {
#define _(fn) __typeof__(fn) *fn;
	REAL_CALLS(_)
#undef _
	pid_t owner;	/* whose session it is; 0: there is none, and never will be */
} proc;

static void find_real(void)
{
#define _(fn) proc.fn = (__typeof__(proc.fn))tp_real_next(#fn);
	REAL_CALLS(_)
#undef _
}

bool tp_hook_proc_is_owner(void)
{
	return proc.owner && tp_session_is_open() && getpid() == proc.owner;
}

/* Not one more system call of ours, in children neither. */
static void end_for_ever(void)
{
	proc.owner = 0;
	tp_heap_forget_owners();
}

void tp_hook_proc_restrict(const char *call)
{
	int kept_errno = errno;

	if (tp_hook_proc_is_owner()) {
		/* One of many workers is like one that becomes another program. */
		if (!tp_session_is_follower())
			tp_warn("the program calls %s to forbid itself system calls; recording stops",
				call);
		tp_session_close(call);
		end_for_ever();
	} else if (proc.owner && tp_worker_is_candidate() && getpid() == proc.owner) {
		tp_worker_never();
		end_for_ever();
	}
	errno = kept_errno;
}

static void before_fork(void)
{
	int kept_errno = errno, held;

	if (!proc.owner)
		return;
	held = tp_cancel_hold();
	/* Handlers that run in the child before ours may allocate: not into its parent's ring. */
	tp_heap_self.is_quiet = true;
	tp_session_before_fork();
	tp_cancel_release(held);
	errno = kept_errno;
}

static void after_fork_in_parent(void)
{
	/* fork() may have failed: its errno is on the way to the program. */
	int kept_errno = errno, held;

	if (!proc.owner)
		return;
	held = tp_cancel_hold();
	tp_session_after_fork(false);
	tp_heap_self.is_quiet = false;
	tp_cancel_release(held);
	errno = kept_errno;
}

static void after_fork_in_child(void)
{
	int kept_errno = errno, held;

	if (!proc.owner)
		return;
	held = tp_cancel_hold();
	proc.owner = getpid();
	tp_heap_forked((uint32_t)proc.owner);
	tp_session_after_fork(true);
	tp_heap_self.is_quiet = false;
	tp_cancel_release(held);
	errno = kept_errno;
}

/* The destructor is for processes in which on_exit failed: it runs last, when much is gone. */
static __attribute__((destructor)) void end_at_exit(void)
{
	if (tp_hook_proc_is_owner())
		tp_session_close("exit");
}

static void end_with_status(int status, void *unused)
{
	if (tp_hook_proc_is_owner())
		tp_session_fail("exit", status);
}

void tp_hook_proc_init(void)
{
	find_real();
	/* Without fork handlers a child would write into its parent's ring: then no session. */
	if (!pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child))
		proc.owner = getpid();
}

void tp_hook_proc_at_exit(void)
{
	(void)on_exit(end_with_status, NULL);
}

/* ---- the ways out ---- */

TP_EXPORT _Noreturn void _exit(int status)
{
	if (tp_hook_proc_is_owner())
		tp_session_fail("_exit", status);
	if (!proc._exit)
		find_real();
	if (proc._exit)
		proc._exit(status);
	for (;;)
		syscall(SYS_exit_group, status);
}

TP_EXPORT _Noreturn void _Exit(int status)
{
	_exit(status);
}

TP_EXPORT _Noreturn void quick_exit(int status)
{
	if (tp_hook_proc_is_owner())
		tp_session_fail("quick_exit", status);
	if (!proc.quick_exit)
		find_real();
	if (proc.quick_exit)
		proc.quick_exit(status);
	_exit(status);
}

/*
 * A process ends when its last thread does, and ours would never: so when the first thread
 * leaves the others behind, recording stops. The real one unwinds the stack, this frame too.
 */
TP_EXPORT _Noreturn void pthread_exit(void *value)
{
	if (tp_hook_proc_is_owner() && syscall(SYS_gettid) == proc.owner) {
		tp_warn("the first thread ended by pthread_exit; recording stops");
		tp_session_close("pthread_exit");
	}
	if (!proc.pthread_exit)
		find_real();
	if (proc.pthread_exit)
		proc.pthread_exit(value);
	for (;;)
		syscall(SYS_exit, 0);
}

/* ---- exec ---- */

/*
 * The mark of a ring whose process has become another program; NULL: none of ours. What a worker
 * is about to run is no part of the training: there are many, and none leaves its ring behind.
 */
static uint32_t *begin_exec(void)
{
	uint32_t *mark;

	if (tp_hook_proc_is_owner() && tp_session_is_follower())
		tp_session_close("exec");
	mark = tp_hook_proc_is_owner() && tp_ring.head ? &tp_ring.head->is_replaced : NULL;

	if (mark)
		__atomic_store_n(mark, 1, __ATOMIC_RELEASE);
	return mark;
}

static int end_exec(uint32_t *mark, int result)
{
	if (mark)
		__atomic_store_n(mark, 0, __ATOMIC_RELEASE);
	return result;
}

/* In a pass-through process the real ones are found here, at the first exec. */
#define FORWARD_EXEC(fn, ...)                                                              \
	do {                                                                               \
		if (!proc.fn)                                                              \
			find_real();                                                       \
		if (!proc.fn) {                                                            \
			errno = ENOSYS;                                                    \
			return -1;                                                         \
		}                                                                          \
		uint32_t *mark = begin_exec();                                             \
		return end_exec(mark, proc.fn(__VA_ARGS__));                               \
	} while (0)

TP_EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	FORWARD_EXEC(execve, path, argv, envp);
}

TP_EXPORT int execv(const char *path, char *const argv[])
{
	FORWARD_EXEC(execv, path, argv);
}

TP_EXPORT int execvp(const char *file, char *const argv[])
{
	FORWARD_EXEC(execvp, file, argv);
}

TP_EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	FORWARD_EXEC(execvpe, file, argv, envp);
}

TP_EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	FORWARD_EXEC(fexecve, fd, argv, envp);
}

/* Arguments of an execl, its first one and the final NULL included. */
static size_t count_args(const char *first, va_list args)
{
	size_t n = 1;

	if (first) {
		do
			n++;
		while (va_arg(args, char *));
	}
	return n;
}

static void copy_args(char **argv, size_t n, const char *first, va_list args)
{
	argv[0] = (char *)first;
	for (size_t i = 1; i < n; i++)
		argv[i] = va_arg(args, char *);
}

/* Declares argv on the stack, as the C library does, and leaves `args` behind the NULL. */
#define COLLECT_ARGS(argv, args, first)                                                    \
	va_list args;                                                                      \
	va_start(args, first);                                                             \
	size_t n_##argv = count_args(first, args);                                         \
	va_end(args);                                                                      \
	char *argv[n_##argv];                                                              \
	va_start(args, first);                                                             \
	copy_args(argv, n_##argv, first, args)

TP_EXPORT int execl(const char *path, const char *first, ...)
{
	COLLECT_ARGS(argv, args, first);
	va_end(args);
	return execv(path, argv);
}

TP_EXPORT int execlp(const char *file, const char *first, ...)
{
	COLLECT_ARGS(argv, args, first);
	va_end(args);
	return execvp(file, argv);
}

TP_EXPORT int execle(const char *path, const char *first, ...)
{
	COLLECT_ARGS(argv, args, first);
	char *const *envp = va_arg(args, char *const *);

	va_end(args);
	return execve(path, argv, envp);
}

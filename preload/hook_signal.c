/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_signal.c - kill and raise: a process that ends itself by a signal
 *
 * Python ends so after Ctrl-C: KeyboardInterrupt goes through the program, the interpreter is
 * finalized, and the last thing that it does is kill(getpid(), SIGINT) with the default action. Handlers of
 * C and C++ programs do the same when they have cleaned up. Nothing runs after that, so this is a way out
 * like _exit. A signal from elsewhere is none: there is no handler of ours. Callable from handlers; no memory
 * is taken, no error number changed.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/export.h"
#include "preload/hook_proc.h"
#include "runtime/engine/life.h"

/* Sent by this process to itself, this signal is its end; init of a container outlives it. */
static bool is_end(int number)
{
	struct sigaction action;
	sigset_t held;

	return (number == SIGINT || number == SIGTERM || number == SIGHUP) &&
	       tp_hook_proc_is_owner() && getpid() != 1 && !sigaction(number, NULL, &action) &&
	       action.sa_handler == SIG_DFL &&
	       !pthread_sigmask(SIG_BLOCK, NULL, &held) && !sigismember(&held, number);
}

static void before(int number, const char *how)
{
	int kept_errno = errno;

	if (is_end(number))
		tp_session_fail(how, -number);
	errno = kept_errno;
}

TP_EXPORT int kill(pid_t pid, int number)
{
	/* 0 and a negative number are process groups. */
	if (tp_hook_proc_is_owner() && (pid == getpid() || pid == 0 || pid == -getpgrp()))
		before(number, "kill");
	return (int)syscall(SYS_kill, pid, number);
}

TP_EXPORT int raise(int number)
{
	before(number, "raise");
	return (int)syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
}

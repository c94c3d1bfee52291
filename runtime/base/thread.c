/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.c - threads of ours in a program that does not know of them
 */
#include "runtime/base/thread.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	/* The C library takes the thread's TLS out of this, too: libraries of the guest may
	 * use tens of KB of it. */
	STACK_BYTES = 512 << 10,
	GONE_TRIES = 500,	/* of 100 us */
};

void __tsan_ignore_thread_begin(void) __attribute__((weak));
void __tsan_ignore_thread_end(void) __attribute__((weak));

/*
 * In a program under the thread sanitizer: its library sees each memcpy() and strlen() of ours,
 * but not the atomics that order them, and would end the program with a status of its own.
 */
static void hide_from_sanitizer(bool is_hidden)
{
#ifndef __SANITIZE_THREAD__	/* where ours are built with it, they are what it is to look at */
	void (*call)(void) = is_hidden ? __tsan_ignore_thread_begin : __tsan_ignore_thread_end;

	if (call)
		call();
#endif
}

static void *run_hidden(void *run)
{
	hide_from_sanitizer(true);
	((void *(*)(void *))run)(NULL);
	hide_from_sanitizer(false);
	return NULL;
}

int tp_thread_start(void *(*run)(void *))
{
	sigset_t all, kept;
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	/* A page of the ring that is gone: who blocks it is killed, handler or not. */
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &kept);
	err = pthread_create(&thread, &attr, run_hidden, (void *)run);
	if (err == EINVAL) {	/* the guest's TLS does not fit: the usual size then */
		pthread_attr_destroy(&attr);
		pthread_attr_init(&attr);
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		err = pthread_create(&thread, &attr, run_hidden, (void *)run);
	}
	pthread_sigmask(SIG_SETMASK, &kept, NULL);
	pthread_attr_destroy(&attr);
	return -err;
}

void tp_thread_introduce(const char *name, bool is_patient)
{
	prctl(PR_SET_NAME, name);
	/* The training goes on at the end of a window, and we start when a core is free. */
	if (is_patient)
		tp_thread_set_patient(true);
}

void tp_thread_set_patient(bool is_patient)
{
	const struct sched_param usual = {0};

	/* A thread of this class does not take the processor from the one that wakes it. */
	sched_setscheduler(0, is_patient ? SCHED_BATCH : SCHED_OTHER, &usual);
}

uint64_t tp_thread_cpu_ns(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t))
		return 0;
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void tp_thread_await_gone(uint32_t tid)
{
	const struct timespec pause = {.tv_nsec = 100000};

	/* The kernel counts a thread for a moment after its last instruction. Not nanosleep(): a
	 * thread can be cancelled in that. */
	for (uint32_t i = 0; i < GONE_TRIES && !syscall(SYS_tgkill, getpid(), tid, 0); i++)
		syscall(SYS_nanosleep, &pause, NULL);
}

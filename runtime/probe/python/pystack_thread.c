/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pystack_thread.c - what a thread read of its Python frames last
 *
 * Memory is given back by nobody, because a thread's last allocation may come after every
 * destructor that could tell us: a newcomer asks the kernel whether an owner still lives.
 */
#include "runtime/probe/python/pystack_thread.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/sync.h"

/* Owners that a newcomer asks about before it makes new memory: bounds its first stack. */
enum { TAKE_TRIES = 8 };

/* Of this thread there is no use in trying again. */
static __thread bool is_refused __attribute__((tls_model("initial-exec")));

static struct {
	struct tp_pystack_thread *thread[TP_PYSTACK_THREADS];	/* atomic, filled from 0 */
	uint32_t next;		/* atomic: where the next newcomer looks first */
} all;

static bool is_dead(uint32_t tid)
{
	return syscall(SYS_tgkill, getpid(), (pid_t)tid, 0) < 0 && errno == ESRCH;
}

static void begin_anew(struct tp_pystack_thread *thread)
{
	thread->n = thread->n_left = 0;
	thread->window_turn = TP_PYSTACK_NO_TURN;
	thread->told = (struct tp_pystack_told){ .turn = TP_PYSTACK_NO_TURN };
}

/* One that is nobody's any more, of TAKE_TRIES. */
static struct tp_pystack_thread *take_over(uint32_t tid)
{
	uint32_t first = __atomic_fetch_add(&all.next, 1, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < TAKE_TRIES; i++) {
		struct tp_pystack_thread *thread = __atomic_load_n(
			&all.thread[(first + i) % TP_PYSTACK_THREADS], __ATOMIC_ACQUIRE);
		uint32_t owner = thread ? __atomic_load_n(&thread->tid, __ATOMIC_RELAXED) : 0;

		if (!thread || (owner && owner != tid && !is_dead(owner)))
			continue;
		/* Acquire: what the dead owner wrote is there, and is thrown away. */
		if (__atomic_compare_exchange_n(&thread->tid, &owner, tid, false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED)) {
			begin_anew(thread);
			thread->tree_generation = 0;
			return thread;
		}
	}
	return NULL;
}

static struct tp_pystack_thread *make(uint32_t tid)
{
	struct tp_pystack_thread *thread;

	thread = (struct tp_pystack_thread *)syscall(SYS_mmap, NULL, sizeof(*thread),
						     PROT_READ | PROT_WRITE,
						     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
						     -1, 0);
	if (thread == MAP_FAILED)
		return NULL;
	thread->tid = tid;
	begin_anew(thread);
	for (uint32_t i = 0; i < TP_PYSTACK_THREADS; i++) {
		struct tp_pystack_thread *none = NULL;

		if (__atomic_compare_exchange_n(&all.thread[i], &none, thread, false,
						__ATOMIC_RELEASE, __ATOMIC_RELAXED))
			return thread;
	}
	syscall(SYS_munmap, thread, sizeof(*thread));
	return NULL;
}

struct tp_pystack_thread *tp_pystack_thread_find(void)
{
	struct tp_pystack_thread *thread;
	int kept_errno = errno;
	uint32_t tid;

	if (is_refused)
		return NULL;
	tid = (uint32_t)syscall(SYS_gettid);
	thread = take_over(tid);
	if (!thread)
		thread = make(tid);
	tp_ring_self.kept[TP_KEPT_PYSTACK] = thread;
	is_refused = !thread;
	errno = kept_errno;
	return thread;
}

void tp_pystack_thread_forget(struct tp_pystack_thread *thread)
{
	begin_anew(thread);
	memset(&thread->names, 0, sizeof(thread->names));
}

void tp_pystack_thread_forked(void)
{
	for (uint32_t i = 0; i < TP_PYSTACK_THREADS; i++) {
		if (all.thread[i])
			all.thread[i]->tid = 0;
	}
	tp_ring_self.kept[TP_KEPT_PYSTACK] = NULL;
	is_refused = false;
}

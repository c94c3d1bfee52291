/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_thread.c - the list of threads' records
 */
#include "runtime/probe/stack/stack_thread.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/arena.h"
#include "runtime/probe/stack/stack_inside.h"

/* Owners asked for before a newcomer gets a new record: bounds its first event. */
enum { TAKE_TRIES = 16 };
/* No thread's number: a record from which the drain thread is taking memory. */
#define BEING_REAPED 0x7fffffffu

__thread struct tp_stack_thread *tp_stack_self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

static struct {
	struct tp_stack_thread *first;	/* atomic */
	struct tp_stack_thread *look;	/* atomic: where the next newcomer looks first */
} threads;

void *tp_stack_map(size_t bytes)
{
	int kept_errno = errno;
	void *memory = tp_map_memory(bytes, 0);

	errno = kept_errno;
	return memory == MAP_FAILED ? NULL : memory;
}

void tp_stack_unmap(void *memory, size_t bytes)
{
	int kept_errno = errno;

	if (memory)
		tp_unmap(memory, bytes);
	errno = kept_errno;
}

static bool is_dead(uint32_t tid)
{
	return syscall(SYS_tgkill, getpid(), (pid_t)tid, 0) < 0 && errno == ESRCH;
}

/* An owner with our own number had it before us. */
static bool take_over(struct tp_stack_thread *thread, uint32_t tid)
{
	uint32_t owner = __atomic_load_n(&thread->tid, __ATOMIC_RELAXED);

	if (owner == BEING_REAPED || (owner && owner != tid && !is_dead(owner)))
		return false;
	/* Acquire: what the dead owner, or the drain thread, did to it is done. */
	return __atomic_compare_exchange_n(&thread->tid, &owner, tid, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static struct tp_stack_thread *find_free(uint32_t tid)
{
	struct tp_stack_thread *thread = __atomic_load_n(&threads.look, __ATOMIC_ACQUIRE);

	for (int i = 0; i < TAKE_TRIES; i++) {
		if (!thread)
			thread = __atomic_load_n(&threads.first, __ATOMIC_ACQUIRE);
		if (!thread)
			return NULL;
		if (take_over(thread, tid)) {
			__atomic_store_n(&threads.look, thread->next, __ATOMIC_RELEASE);
			return thread;
		}
		thread = thread->next;
	}
	__atomic_store_n(&threads.look, thread, __ATOMIC_RELEASE);
	return NULL;
}

static struct tp_stack_thread *make_new(uint32_t tid)
{
	struct tp_stack_thread *thread = tp_stack_map(sizeof(*thread));

	if (!thread)
		return NULL;
	thread->tid = tid;
	thread->next = __atomic_load_n(&threads.first, __ATOMIC_RELAXED);
	/* Release: who finds it finds it whole. */
	while (!__atomic_compare_exchange_n(&threads.first, &thread->next, thread, true,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	return thread;
}

struct tp_stack_thread *tp_stack_thread_take(void)
{
	int kept_errno = errno;
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	struct tp_stack_thread *thread = find_free(tid);

	if (thread) {
		tp_stack_tree_shrink(&thread->tree);
		tp_stack_walk_shrink(&thread->walk);
	} else {
		thread = make_new(tid);
	}
	if (thread) {
		/* Its numbers are good, its stack is another one. */
		tp_stack_walk_reset(&thread->walk);
		tp_stack_self = thread;
	}
	errno = kept_errno;
	return thread;
}

void tp_stack_thread_reap(void)
{
	struct tp_stack_thread *thread = __atomic_load_n(&threads.first, __ATOMIC_ACQUIRE);

	for (; thread; thread = thread->next) {
		uint32_t owner = __atomic_load_n(&thread->tid, __ATOMIC_RELAXED);

		/* A look without owning it: a guess, looked at again below. */
		if (!__atomic_load_n(&thread->tree.node, __ATOMIC_RELAXED) || (owner && !is_dead(owner)))
			continue;
		if (!__atomic_compare_exchange_n(&thread->tid, &owner, BEING_REAPED, false,
						 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		tp_stack_tree_shrink(&thread->tree);
		tp_stack_walk_shrink(&thread->walk);
		tp_stack_inside_shrink(thread);
		__atomic_store_n(&thread->tid, 0, __ATOMIC_RELEASE);
	}
}

void tp_stack_thread_forked(void)
{
	struct tp_stack_thread *thread = threads.first;

	for (; thread; thread = thread->next)
		thread->tid = thread == tp_stack_self ? (uint32_t)syscall(SYS_gettid) : 0;
}

void tp_stack_thread_each(void (*each)(void *ctx, struct tp_stack_thread *thread), void *ctx)
{
	struct tp_stack_thread *thread = __atomic_load_n(&threads.first, __ATOMIC_ACQUIRE);

	for (; thread; thread = thread->next)
		each(ctx, thread);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_inside.c - the gate of libunwind: a stack of ours, signals held back, forks waited for
 *
 * Nothing here is a cancellation point: system calls are made as such.
 */
#include "runtime/probe/stack/stack_inside.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/sync.h"
#include "runtime/probe/stack/stack_thread.h"

enum {
	GUARD_BYTES = 4096,		/* that nobody can touch, at the low end */
	ASIDE_BYTES = 32 << 10,		/* libunwind needs about a tenth of it */
	PAUSE_NS = 100000,		/* between two tries */
	ENTER_TRIES = 20,
	FORK_TRIES = 1000,
};

static struct {
	uint32_t n_inside;	/* atomic: threads */
	uint32_t is_forking;	/* atomic: nobody else may go inside */
	uint32_t is_torn;	/* atomic: a thread stays inside during the fork */
	uint32_t n_uses;	/* atomic */
} gate;

uint32_t tp_stack_inside_uses(void)
{
	return __atomic_load_n(&gate.n_uses, __ATOMIC_RELAXED);
}

/*
 * False: another thread forks, and it takes long; this once, do without. It may not be waited for
 * without end: this thread may have a lock of the loader (dlopen allocates) that one of those
 * inside waits for, and so the fork.
 */
static bool enter(void)
{
	for (uint32_t i = 0;; i++) {
		__atomic_fetch_add(&gate.n_inside, 1, __ATOMIC_SEQ_CST);
		if (tp_likely(!__atomic_load_n(&gate.is_forking, __ATOMIC_SEQ_CST)))
			break;
		__atomic_fetch_sub(&gate.n_inside, 1, __ATOMIC_SEQ_CST);
		if (i == ENTER_TRIES || __atomic_load_n(&gate.is_torn, __ATOMIC_RELAXED))
			return false;
		tp_sleep_ns(PAUSE_NS);
	}
	__atomic_fetch_add(&gate.n_uses, 1, __ATOMIC_RELAXED);
	return true;
}

static void leave(void)
{
	__atomic_fetch_sub(&gate.n_inside, 1, __ATOMIC_RELEASE);
}

/* ---- fork ---- */

/* Not for ever, though nobody stays inside for long: they may not be let run. */
static void close_gate(void)
{
	int kept_errno = errno;

	__atomic_store_n(&gate.is_forking, 1, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0; __atomic_load_n(&gate.n_inside, __ATOMIC_SEQ_CST); i++) {
		if (i == FORK_TRIES) {
			__atomic_store_n(&gate.is_torn, 1, __ATOMIC_RELAXED);
			break;
		}
		tp_sleep_ns(PAUSE_NS);
	}
	errno = kept_errno;
}

static void open_gate(void)
{
	__atomic_store_n(&gate.is_torn, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&gate.is_forking, 0, __ATOMIC_SEQ_CST);
}

/* A lock of libunwind that a thread of the parent held is held here for ever: nobody goes in. */
static void open_gate_in_child(void)
{
	if (!__atomic_load_n(&gate.is_torn, __ATOMIC_RELAXED))
		open_gate();
}

bool tp_stack_inside_open(void)
{
	return !pthread_atfork(close_gate, open_gate, open_gate_in_child);
}

/* ---- the stack ---- */

static bool make_aside(struct tp_stack_thread *thread)
{
	if (tp_likely(thread->aside != NULL))
		return true;
	thread->aside = tp_stack_map(GUARD_BYTES + ASIDE_BYTES);
	if (thread->aside)
		syscall(SYS_mprotect, thread->aside, (size_t)GUARD_BYTES, PROT_NONE);
	return thread->aside != NULL;
}

void tp_stack_inside_shrink(struct tp_stack_thread *thread)
{
	tp_stack_unmap(thread->aside, GUARD_BYTES + ASIDE_BYTES);
	thread->aside = NULL;
}

/* Asking for the frame's address makes the compiler keep one: a debugger finds its way out. */
static __attribute__((noinline)) void call_on(char *top, void (*work)(void *arg), void *arg)
{
#if defined(__x86_64__)
	__asm__ volatile("movq %%rsp, %%rbx\n\t"
			 "movq %[top], %%rsp\n\t"
			 "call *%[work]\n\t"
			 "movq %%rbx, %%rsp"
			 : [work] "+a"(work), "+D"(arg)
			 : [top] "r"(top), "r"(__builtin_frame_address(0))
			 : "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "xmm0", "xmm1",
			   "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
			   "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory", "cc");
#endif
}

bool tp_stack_inside_run(void (*work)(void *arg), void *arg)
{
	struct tp_stack_thread *thread = tp_stack_thread();
	const uint64_t all = ~0ull;
	int kept_errno = errno;
	uint64_t kept;
	bool is;

	/* glibc's own function would leave out the signal that cancels. */
	if (!thread || syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &kept, sizeof(all))) {
		errno = kept_errno;
		return false;
	}
	is = make_aside(thread) && enter();
	if (is) {
		call_on(thread->aside + GUARD_BYTES + ASIDE_BYTES, work, arg);
		leave();
	}
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &kept, NULL, sizeof(kept));
	errno = kept_errno;
	return is;
}

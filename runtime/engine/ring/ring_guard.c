/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_guard.c - the handler of SIGBUS: puts memory where the ring's file has ended
 */
#include "runtime/engine/ring/ring_guard.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/engine/ring/ring.h"

static struct {
	bool is_ours;			/* we have installed it, and it may still stand */
	bool has_met;			/* atomic */
	uintptr_t page_bytes;		/* atomic */
	struct sigaction before;	/* the program's */
} guard;

/* Not libc's, which is hooked, and which the thread sanitizer takes for a write. */
static bool cover(uintptr_t from, uintptr_t end)
{
	return syscall(SYS_mmap, from, end - from, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) >= 0;
}

bool tp_ring_guard_cover(void)
{
	uintptr_t begin = (uintptr_t)tp_ring.head;

	return cover(begin, begin + tp_ring.n_bytes);
}

/* False: it is no page of the ring. What is in front of it is there, or will be met next. */
static bool mend(uintptr_t at)
{
	uintptr_t begin = (uintptr_t)__atomic_load_n(&tp_ring.head, __ATOMIC_ACQUIRE);
	uintptr_t page = at & ~(__atomic_load_n(&guard.page_bytes, __ATOMIC_RELAXED) - 1);
	uintptr_t end = begin + tp_ring.n_bytes;

	if (!begin || at < begin || at >= end)
		return false;
	/* Two threads at once: what one has written there meanwhile is lost with the ring. */
	if (!cover(page, end))
		return false;
	__atomic_store_n(&guard.has_met, true, __ATOMIC_RELEASE);
	return true;
}

static bool is_default(const struct sigaction *action)
{
	return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_DFL;
}

/* One that was sent comes once only; that of a page comes again when we return. */
static void die(int number, const siginfo_t *info)
{
	signal(number, SIG_DFL);
	if (info->si_code <= 0)
		syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
}

/* Nothing of ours is open while the program's handler runs: it may never return. */
static void on_bus(int number, siginfo_t *info, void *context)
{
	int saved_errno = errno;

	if (info->si_code == BUS_ADRERR && mend((uintptr_t)info->si_addr))
		errno = saved_errno;
	else if (guard.before.sa_flags & SA_SIGINFO)
		guard.before.sa_sigaction(number, info, context);
	else if (is_default(&guard.before))
		die(number, info);
	else
		guard.before.sa_handler(number);
}

/* An ignored signal stays ignored over exec, a handled one does not. A handler that stands for a single time
 * cannot be called by another. */
static bool is_left_alone(const struct sigaction *action)
{
	return (!(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_IGN) ||
	       action->sa_flags & (int)SA_RESETHAND;
}

static bool is_same(const struct sigaction *a, const struct sigaction *b)
{
	return a->sa_sigaction == b->sa_sigaction && a->sa_flags == b->sa_flags;
}

void tp_ring_guard_watch(void)
{
	struct sigaction ours = {
		.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART,
	};
	struct sigaction now, was;

	if (sigaction(SIGBUS, NULL, &now) || (guard.is_ours && !is_default(&now)) || is_left_alone(&now))
		return;
	if (!is_default(&now)) {
		ours.sa_flags = now.sa_flags | SA_SIGINFO;
		ours.sa_mask = now.sa_mask;
	}
	guard.before = now;
	__atomic_store_n(&guard.page_bytes, (uintptr_t)sysconf(_SC_PAGESIZE), __ATOMIC_RELAXED);
	if (sigaction(SIGBUS, &ours, &was))
		return;
	guard.is_ours = true;
	if (!is_same(&was, &now))	/* the program's came in between */
		sigaction(SIGBUS, &was, NULL);
}

void tp_ring_guard_end(void)
{
	struct sigaction now;

	if (guard.is_ours && !sigaction(SIGBUS, NULL, &now) && now.sa_flags & SA_SIGINFO &&
	    now.sa_sigaction == on_bus)
		sigaction(SIGBUS, &guard.before, NULL);
	guard.is_ours = false;
	__atomic_store_n(&guard.has_met, false, __ATOMIC_RELEASE);
}

bool tp_ring_guard_has_met(void)
{
	return __atomic_load_n(&guard.has_met, __ATOMIC_ACQUIRE);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signal.c - the handler of the trigger's signal, before the program's own
 *
 * The handler stores one word. No allocation.
 */
#include "runtime/engine/trigger/signal.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>

static struct {
	uint32_t is_hit;		/* atomic */
	int number;			/* 0: not installed */
	struct sigaction before[2];	/* the program's; the newest is at [which & 1] */
	uint32_t which;			/* atomic */
} sig;

/* A handler of the program may call the one before it, which is ours. */
static __thread bool is_inside __attribute__((tls_model("initial-exec")));

static void on_signal(int number, siginfo_t *info, void *context)
{
	const struct sigaction *before;
	int saved_errno = errno;

	__atomic_store_n(&sig.is_hit, 1, __ATOMIC_RELAXED);
	if (is_inside)
		return;
	is_inside = true;
	before = &sig.before[__atomic_load_n(&sig.which, __ATOMIC_ACQUIRE) & 1];
	if (before->sa_flags & SA_SIGINFO)
		before->sa_sigaction(number, info, context);
	else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN)
		before->sa_handler(number);
	is_inside = false;
	errno = saved_errno;
}

static bool is_ours(const struct sigaction *action)
{
	return action->sa_flags & SA_SIGINFO && action->sa_sigaction == on_signal;
}

static bool is_handler(const struct sigaction *action)
{
	return action->sa_flags & SA_SIGINFO ||
	       (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

void tp_signal_install(int number)
{
	struct sigaction now, ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
	uint32_t next = sig.which + 1;

	if (!number || sigaction(number, NULL, &now) < 0 || is_ours(&now))
		return;
	if (is_handler(&now)) {
		/* Interrupted calls come back as the program's handler wants them to. */
		ours.sa_flags = SA_SIGINFO | (now.sa_flags & (SA_RESTART | SA_ONSTACK | SA_NODEFER));
		ours.sa_mask = now.sa_mask;
	}
	sig.before[next & 1] = now;
	__atomic_store_n(&sig.which, next, __ATOMIC_RELEASE);
	if (!sigaction(number, &ours, NULL))
		sig.number = number;
}

void tp_signal_shield(int number)
{
	struct sigaction now;

	if (number && !sigaction(number, NULL, &now) && !is_handler(&now) &&
	    now.sa_handler == SIG_DFL)
		tp_signal_install(number);
}

void tp_signal_restore(void)
{
	struct sigaction now;

	if (sig.number && !sigaction(sig.number, NULL, &now) && is_ours(&now))
		sigaction(sig.number, &sig.before[sig.which & 1], NULL);
	sig.number = 0;
}

bool tp_signal_take(void)
{
	return __atomic_exchange_n(&sig.is_hit, 0, __ATOMIC_RELAXED);
}

void tp_signal_forked(void)
{
	is_inside = false;
}

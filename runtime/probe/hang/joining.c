/* SPDX-License-Identifier: Apache-2.0 */
/*
 * joining.c - sleeps, and looks whether the program still joins a process group
 *
 * The Python stack is read by name without the ring, which is not there before the session. While it
 * is read nobody else opens one, so there is no drain thread that reads stacks, too.
 */
#include "runtime/probe/hang/joining.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/sync.h"
#include "runtime/base/thread.h"
#include "runtime/engine/config/config.h"
#include "runtime/probe/hang/pynow.h"
#include "runtime/probe/sample/pysample.h"

enum { TIMES = 2 };			/* half of the limit before the first step: hang_judge.c */
static const uint32_t period_ns = 1000000000u;
static const uint64_t most_gap_ns = 3000000000u;	/* more: the process was stopped */

static struct {
	const struct tp_joining_ops *ops;
	uint64_t limit_ns;
	pid_t pid;			/* atomic; that joins: a child of fork does not */
	uint32_t tid;			/* atomic; its thread that does */
	bool is_sleeping;		/* atomic; our thread is there, or was */
	uint64_t waited_ns;		/* atomic; by the thread that sleeps */
	bool is_opened;			/* atomic */
} joining;

bool tp_joining_stands(void)
{
	static const char *const functions[] = {"init_process_group", "new_group", NULL};

	return tp_pynow_is_inside(tp_joining_tid(), functions, "/torch/distributed/distributed_c10d.py");
}

static bool is_due(void)
{
	bool stands = tp_joining_stands();

	__atomic_store_n(&joining.is_opened, stands, __ATOMIC_RELAXED);
	return stands;
}

static void *wait_for_others(void *unused)
{
	uint64_t before = tp_clock_mono_ns(), waited = 0;

	tp_thread_introduce("trainprof-join", true);
	while (!joining.ops->is_open()) {
		uint64_t now;

		tp_sleep_ns(period_ns);
		now = tp_clock_mono_ns();
		waited += now - before < most_gap_ns ? now - before : most_gap_ns;
		before = now;
		__atomic_store_n(&joining.waited_ns, waited, __ATOMIC_RELAXED);
		if (waited >= joining.limit_ns)
			joining.ops->open_if(is_due);
	}
	return NULL;
}

void tp_joining_begin(const struct tp_config *config, const struct tp_joining_ops *ops)
{
	int saved = errno;
	pid_t pid = getpid();

	if (config->hang_s && tp_pysample_can_read()) {
		__atomic_store_n(&joining.tid, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELAXED);
		if (__atomic_exchange_n(&joining.pid, pid, __ATOMIC_ACQ_REL) != pid)
			joining.is_opened = joining.is_sleeping = false;
		if (ops && !__atomic_exchange_n(&joining.is_sleeping, true, __ATOMIC_ACQ_REL)) {
			joining.ops = ops;
			joining.limit_ns = config->hang_s * TIMES * 1000000000u;
			tp_thread_start(wait_for_others);
		}
	}
	errno = saved;
}

uint32_t tp_joining_tid(void)
{
	return __atomic_load_n(&joining.pid, __ATOMIC_RELAXED) == getpid() ?
		       __atomic_load_n(&joining.tid, __ATOMIC_RELAXED) : 0;
}

uint64_t tp_joining_waited_ns(void)
{
	return __atomic_load_n(&joining.is_opened, __ATOMIC_RELAXED) && tp_joining_tid() ?
		       __atomic_load_n(&joining.waited_ns, __ATOMIC_RELAXED) : 0;
}

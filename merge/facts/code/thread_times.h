/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_times.h - processor time of a process's threads, and how long they were ready to run and had
 * no core
 *
 * As the process reported it when its last window ended, since its session opened: the whole run, not
 * only windows. Needs no event. The profiler's own threads are left out.
 */
#ifndef TP_MERGE_THREAD_TIMES_H
#define TP_MERGE_THREAD_TIMES_H

#include "merge/kit/sum.h"
#include "merge/model/model.h"

enum { TP_THREAD_TIMES_MAX = 16 };

struct tp_thread_time {
	uint32_t tid;
	int64_t cpu_ns, wait_ns;
	char name[32];
};

/* It ran or waited for a core. */
static inline int64_t tp_thread_time_ready(const struct tp_thread_time *thread)
{
	return tp_add(thread->cpu_ns, thread->wait_ns);
}

struct tp_thread_times {
	uint32_t cores;			/* that the process may use */
	int64_t wall_ns;		/* more than 0 */
	int64_t cpu_ns, wait_ns;	/* of all threads */
	/* Those that ran or waited for a core longest. */
	struct tp_thread_time thread[TP_THREAD_TIMES_MAX];
	uint32_t n_threads;
};

/* False: it did not report any (RECORD without host, another kernel, an older trace). */
bool tp_thread_times_of(const struct tp_run *run, const struct tp_proc *proc,
			struct tp_thread_times *times);

/* The training thread: steps end on the first one of a process. NULL: it is not among them. */
const struct tp_thread_time *tp_thread_times_trainer(const struct tp_thread_times *times,
						     const struct tp_proc *proc);

/* What the processes of a run on one machine want of its cores, and what they have. */
struct tp_cores_use {
	uint32_t n_ranks;
	double wanted;	/* cores: by threads of ranks that are ready to run */
	double taken;	/* cores: by these and by workers */
};

/* Of those on the machine of `proc`; without earlier starts. */
struct tp_cores_use tp_thread_times_beside(const struct tp_run *run, const struct tp_proc *proc);

/* How long the threads that train waited for a core, in percent of the time: of the process where it is most,
 * workers left out. 0: not known. *who, unless `who` is NULL: that process; NULL: none waited. */
double tp_thread_times_waiting(const struct tp_run *run, const struct tp_proc **who);

#endif

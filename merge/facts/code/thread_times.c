/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_times.c - processor time of threads, out of the END blocks: see thread_times.h
 */
#include "merge/facts/code/thread_times.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/label.h"

/* A file may say anything. */
static int64_t ns_of(uint64_t value)
{
	return value < INT64_MAX ? (int64_t)value : INT64_MAX;
}

static void add_thread(struct tp_thread_times *times, const char *tid, const char *value)
{
	struct tp_thread_time *thread = &times->thread[times->n_threads];
	char *end;

	thread->tid = (uint32_t)strtoul(tid, NULL, 10);
	thread->cpu_ns = ns_of(strtoull(value, &end, 10));
	thread->wait_ns = ns_of(strtoull(end, &end, 10));
	snprintf(thread->name, sizeof(thread->name), "%s", *end ? end + 1 : "");
	times->n_threads++;
}

bool tp_thread_times_of(const struct tp_run *run, const struct tp_proc *proc,
			struct tp_thread_times *times)
{
	const char *totals = NULL, *at;
	char tid[64], value[64];

	memset(times, 0, sizeof(*times));
	for (uint32_t i = 0; i < run->n_windows; i++)
		if (run->window[i].proc == proc && tp_fact_u64(run->window[i].totals, "threads.wall", 0))
			totals = run->window[i].totals;
	if (!totals)
		return false;
	times->wall_ns = ns_of(tp_fact_u64(totals, "threads.wall", 0));
	times->cores = (uint32_t)tp_fact_u64(totals, "threads.cores", 0);
	times->cpu_ns = ns_of(tp_fact_u64(totals, "threads.cpu", 0));
	times->wait_ns = ns_of(tp_fact_u64(totals, "threads.wait", 0));
	at = totals;
	while (times->n_threads < TP_THREAD_TIMES_MAX &&
	       tp_fact_next(&at, "thread.", tid, value, sizeof(value)))
		add_thread(times, tid, value);
	return times->cores > 0;
}

const struct tp_thread_time *tp_thread_times_trainer(const struct tp_thread_times *times,
						     const struct tp_proc *proc)
{
	for (uint32_t i = 0; i < times->n_threads; i++)
		if (times->thread[i].tid == proc->pid)
			return &times->thread[i];
	return NULL;
}

struct tp_cores_use tp_thread_times_beside(const struct tp_run *run, const struct tp_proc *proc)
{
	struct tp_cores_use use = {0, 0, 0};

	for (uint32_t i = 0; i < run->n_procs; i++) {
		const struct tp_proc *other = run->proc[i];
		struct tp_thread_times times;

		if (other->is_past || strcmp(other->host, proc->host) ||
		    memcmp(other->boot_id, proc->boot_id, sizeof(proc->boot_id)) ||
		    !tp_thread_times_of(run, other, &times))
			continue;
		use.taken += (double)times.cpu_ns / (double)times.wall_ns;
		if (other->worker)
			continue;
		use.wanted += (double)tp_add(times.cpu_ns, times.wait_ns) / (double)times.wall_ns;
		use.n_ranks++;
	}
	return use;
}

double tp_thread_times_waiting(const struct tp_run *run, const struct tp_proc **who)
{
	const struct tp_proc *of = NULL;
	double most = 0;

	for (uint32_t i = 0; i < run->n_procs; i++) {
		const struct tp_thread_time *trainer;
		struct tp_thread_times times;
		double percent;

		if (run->proc[i]->worker || !tp_thread_times_of(run, run->proc[i], &times))
			continue;
		trainer = tp_thread_times_trainer(&times, run->proc[i]);
		percent = trainer ? 100.0 * (double)trainer->wait_ns / (double)times.wall_ns : 0;
		if (percent > most) {
			most = percent;
			of = run->proc[i];
		}
	}
	if (who)
		*who = of;
	return most;
}

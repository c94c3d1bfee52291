/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_threads.h - processor time of the process's threads since the session opened, and how long they
 * were ready to run and had no core
 *
 * By /proc/self/task/TID/schedstat; where the kernel has none there are no figures. The threads of the
 * profiler itself are left out. Drain thread only. No allocation.
 */
#ifndef TP_PROBE_HOST_THREADS_H
#define TP_PROBE_HOST_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/text.h"

/* What is reported later counts from here. */
void tp_host_threads_begin(void);
/* Lines threads.* and thread.TID (trainprof-trace(5)). */
void tp_host_threads_report(struct tp_text *totals);

/* Of a thread of the process, since it began: processor time, and how long it was ready and had no core.
 * Within a call of own_table.h. False: this kernel does not tell. */
bool tp_host_threads_schedstat(uint32_t tid, uint64_t *cpu_ns, uint64_t *wait_ns);

/* In the child of fork: the base is the parent's. */
void tp_host_threads_forked(void);

/* ---- pure ---- */

/* The text of schedstat: ns of processor time and of waiting for a core. */
bool tp_host_parse_schedstat(const char *text, size_t n, uint64_t *cpu_ns, uint64_t *wait_ns);
/* The text of a cgroup's cpu.max, "150000 100000": cores, rounded up; 0: no limit. */
uint32_t tp_host_parse_cpu_max(const char *text, size_t n);

#endif

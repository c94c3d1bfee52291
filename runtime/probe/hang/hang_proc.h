/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang_proc.h - what the kernel says of this process's threads and of the processes it started
 *
 * Drain thread; each is one call of own_table.h. No allocation.
 */
#ifndef TP_PROBE_HANG_PROC_H
#define TP_PROBE_HANG_PROC_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/probe/hang/hang_calls.h"

enum { TP_HANG_THREADS = 256 };		/* more are not looked at */

struct tp_hang_thread {
	uint32_t tid;
	char name[16];
	struct tp_hang_call call;
};

/* All threads but ours: how many. */
uint32_t tp_hang_proc_threads(struct tp_hang_thread thread[TP_HANG_THREADS]);

/* What has grown. */
struct tp_hang_usage {
	uint64_t cpu_ns;	/* of the process without our threads, and of those that it started */
	uint64_t delay_ns;	/* that thread `tid`, and the first threads of those, waited for a core */
	uint64_t io_bytes;	/* that calls of it have read and written */
	uint64_t switches;	/* times that thread `tid` has waited */
	struct tp_hang_call call;	/* of thread `tid` */
	bool is_traced;		/* a debugger holds it */
};
void tp_hang_proc_usage(uint32_t tid, struct tp_hang_usage *usage);

#endif

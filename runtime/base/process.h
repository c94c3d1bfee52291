/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.h - who a process is, beyond its number: the boot and the moment it was started
 *
 * No allocation. Threads: any.
 */
#ifndef TP_BASE_PROCESS_H
#define TP_BASE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* Clock ticks since boot at which it was started (field 22 of /proc/PID/stat); 0: there is no
 * such process, or it is dead and only not yet waited for. */
uint64_t tp_process_start(uint32_t pid);
/* The same of the calling process. */
uint64_t tp_process_own_start(void);
/* CLOCK_REALTIME of such a moment, to a tick (10 ms). */
uint64_t tp_process_start_real_ns(uint64_t start);
/* False: there is none of that number, or it is dead and only not yet waited for. `start`: as above,
 * so that another process that was given the number is not taken for it; 0: not known. */
bool tp_process_is_there(uint32_t pid, uint64_t start);
/* Bytes that the calling process has in memory (RSS), and of addresses; 0: not known. */
struct tp_process_memory {
	uint64_t resident, virtual;
};
struct tp_process_memory tp_process_memory(void);
/* Numbers of processes mean the same where this number is the same; 0: not known. */
uint32_t tp_process_pid_ns(void);
/* The two halves of the boot's UUID, most significant digits first; 0, 0: not known. */
void tp_process_boot_id(uint64_t id[2]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.h - who a process is, beyond its number: the boot and the moment it was started
 *
 * No allocation. Threads: any.
 */
#ifndef TP_BASE_PROCESS_H
#define TP_BASE_PROCESS_H

#include <stdint.h>

/* Clock ticks since boot at which it was started (field 22 of /proc/PID/stat); 0: there is no
 * such process, or it is dead and only not yet waited for. */
uint64_t tp_process_start(uint32_t pid);
/* The same of the calling process. */
uint64_t tp_process_own_start(void);
/* CLOCK_REALTIME of such a moment, to a tick (10 ms). */
uint64_t tp_process_start_real_ns(uint64_t start);
/* The two halves of the boot's UUID, most significant digits first; 0, 0: not known. */
void tp_process_boot_id(uint64_t id[2]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alive.h - is the process that wrote a ring still there?
 */
#ifndef TP_MERGE_ALIVE_H
#define TP_MERGE_ALIVE_H

#include <stdbool.h>
#include <stdint.h>

/* boot_id: two halves of the machine's boot UUID. start: field 22 of /proc/PID/stat then;
 * a pid alone may be another process's by now. */
bool tp_alive(const uint64_t boot_id[2], uint32_t pid, uint64_t start);

#endif

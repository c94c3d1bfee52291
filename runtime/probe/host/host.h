/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.h - what the machine did meanwhile: CPU, memory, disk and network, as counters
 *
 * Sampled on the drain thread while a window is open, every TRAINPROF_HOST_PERIOD. A value
 * is recorded when it differs from the one before, and all of them once at the start of a
 * window, so that each trace is complete by itself.
 *
 *	group    counters (unit), link
 *	cpu      process CPU, process system CPU (%: 100 is one core); machine CPU (%: 100 is
 *	         all cores); core (%), link = number of the core, for each core that the process
 *	         may use while these are at most 64, else core min, core max (%)
 *	memory   RSS, shared, virtual (B) of the process; where host memory is recorded also PSS,
 *	         private, PSS anonymous, PSS file, PSS shmem (B), which the kernel has to count
 *	         page by page: at the start of a window and then so seldom that it costs
 *	         little. This group is recorded with host memory alone, too
 *	system   memory available, memory used, swap used (B)
 *	disk     NAME read, NAME write (B/s), whole disks that were used at all
 *	network  NAME received, NAME sent (B/s), interfaces that were used at all
 */
#ifndef TP_PROBE_HOST_H
#define TP_PROBE_HOST_H

#include "runtime/engine/probe.h"

extern const struct tp_probe tp_host_probe __attribute__((visibility("hidden")));

#endif

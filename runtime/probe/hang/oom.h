/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oom.h - an allocation failed: who asked for how much, and what was held
 *
 * The thread that asked notes it, with its own Python stack. Of a device's allocator it also says one
 * line at once, before the program's exception is made; a hook of malloc writes nothing (write() is a
 * cancellation point, and may block). The drain thread says the rest, and writes a report to the run
 * folder. Also outside windows. In windows the trace tells who held it (-v memory).
 *
 * A program may try how much there is, again and again: at most TP_OOM_MOST reports a process, and
 * one a second.
 */
#ifndef TP_PROBE_OOM_H
#define TP_PROBE_OOM_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/engine/probe.h"

enum { TP_OOM_MOST = 4 };

extern const struct tp_probe tp_oom_probe __attribute__((visibility("hidden")));

/*
 * Any thread, in an allocator: no lock, no allocation, errno kept. type, index: torch's c10::Device;
 * allocated, reserved: what its allocator has, 0: not known. `may_walk`: the thread's own Python stack
 * may be read (the guard is ours).
 */
void tp_oom_note_device(uint64_t asked, uint64_t allocated, uint64_t reserved, int8_t type, int8_t index,
			bool may_walk);
/* Of the host's memory, in a hook of malloc. More than an address space is a program's trial, not noted. */
void tp_oom_note_host(uint64_t asked, bool may_walk);

#endif

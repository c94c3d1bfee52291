/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang_native.h - in which libraries a thread stands that waits in the kernel, from outside
 *
 * The kernel says such a thread's stack pointer and next instruction (/proc/self/task/TID/syscall). Of the
 * words on its stack those are shown that lie behind a call instruction: its return addresses, and some that
 * are left from calls that are over. No registers, so no unwinding: libraries and offsets, for addr2line.
 *
 * Drain thread. The thread is neither stopped nor signalled; memory is read by the kernel's hand, so that
 * what is gone meanwhile is an error and no fault. x86-64; elsewhere nothing is known.
 */
#ifndef TP_PROBE_HANG_NATIVE_H
#define TP_PROBE_HANG_NATIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/text.h"
#include "runtime/probe/hang/hang_calls.h"

/* Reads which code is where; before a report. */
void tp_hang_native_look(void);
/* Where a thread with this call stands, innermost first: "libc.so.6+0x1f2e < libcuda.so.1+0x66". False: not
 * known, nothing is appended. */
bool tp_hang_native_put(const struct tp_hang_call *call, struct tp_text *out);

/* The n bytes before `code + n` end with a call instruction. Pure. */
bool tp_hang_native_is_call(const uint8_t *code, uint32_t n);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.h - system calls of ours that a filter may answer with the end of the process
 *
 * A filter of system calls (seccomp) that was set before the program was started may kill who makes one
 * that is not on its list, and nobody is told what a filter says. So where there is one a child makes the
 * call first, which shares no memory with the program, handles no signal, leaves no core and is waited for
 * here: no wait of the program's sees it. A filter that is set later ends the session before
 * (hook_prctl.c). Of the calls that the library makes and a training does not these are the ones that
 * lists in use lack: systemd's @system-service the second, others the first.
 */
#ifndef TP_BASE_SANDBOX_H
#define TP_BASE_SANDBOX_H

#include <stdbool.h>

enum tp_sandbox_call { TP_SANDBOX_READV, TP_SANDBOX_ADJTIME };	/* process_vm_readv, clock_adjtime */

/* False: it may be the end, or that cannot be found out. The first time some 30 us without a filter, else
 * what a fork costs: asked early, when the process is small. Then it is known. errno is kept. */
bool tp_sandbox_allows(enum tp_sandbox_call call);

#endif

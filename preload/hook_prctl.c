/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_prctl.c - prctl: a process forbids itself system calls
 *
 * Under seccomp's strict mode, and under a filter that kills, each call of ours that the program
 * does not make itself would be its end, on our threads (a filter may be for all of them) as in its
 * hooks. So the session ends before: when the mode is set, and when the process gives up new
 * privileges, as it must before it may set a filter by seccomp(2), which goes past the C library.
 * Returns of the system call and errno are the kernel's. Called from signal handlers and children of vfork,
 * too: nothing but flags is looked at there.
 */
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/export.h"
#include "preload/hook_proc.h"
#include "runtime/engine/life.h"

TP_EXPORT int prctl(int option, ...)
{
	unsigned long arg[4];
	va_list args;

	va_start(args, option);
	for (int i = 0; i < 4; i++)
		arg[i] = va_arg(args, unsigned long);
	va_end(args);
	if (option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS)
		tp_hook_proc_restrict("prctl");
	return (int)syscall(SYS_prctl, option, arg[0], arg[1], arg[2], arg[3]);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_ns.c - unshare and setns: what the kernel allows only a process with one thread
 *
 * A new user namespace, and entering one or a mount namespace, fails with EINVAL where there
 * is a second thread. A program that has no other thread than ours must not notice: the
 * session ends before the call, and with it our threads. (A program that makes the system
 * call itself, or by syscall(3), is not seen: to stand in the way of each of its raw calls would be
 * more harm than that.)
 */
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/export.h"
#include "preload/hook_proc.h"
#include "runtime/base/log.h"
#include "runtime/base/own_table.h"
#include "runtime/engine/life.h"

enum {
	NS_TYPE = 0xb703,	/* NS_GET_NSTYPE of linux/nsfs.h, an ioctl */
	FIXED_LINKS = 2,	/* of the folder of threads in /proc, which has one for each, too */
};

static bool has_own_threads_only(void)
{
	const uint32_t n_ours = 1 + (tp_own_table_id() != 0);
	struct stat st;

	return stat("/proc/self/task", &st) == 0 && st.st_nlink == FIXED_LINKS + 1 + n_ours;
}

static void leave_alone(const char *call)
{
	int kept_errno = errno;

	if (tp_hook_proc_is_owner() && has_own_threads_only()) {
		tp_warn("the program calls %s, which fails in a process with threads; recording "
			"stops", call);
		tp_session_close(call);
	}
	errno = kept_errno;
}

TP_EXPORT int unshare(int flags)
{
	if (flags & CLONE_NEWUSER)
		leave_alone("unshare");
	return (int)syscall(SYS_unshare, flags);
}

TP_EXPORT int setns(int fd, int type)
{
	int kept_errno = errno;
	int wanted = type ? type : ioctl(fd, NS_TYPE);

	errno = kept_errno;
	if (wanted > 0 && wanted & (CLONE_NEWUSER | CLONE_NEWNS))
		leave_alone("setns");
	return (int)syscall(SYS_setns, fd, type);
}

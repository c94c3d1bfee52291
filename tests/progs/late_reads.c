/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late_reads.c - a library to preload before ours: now and then what reads memory has no core for a while:
 * at each EACHth call, for LATE_US
 */
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef EACH
#define EACH 61
#define LATE_US 3000
#endif

ssize_t process_vm_readv(pid_t pid, const struct iovec *own, unsigned long n_own, const struct iovec *other,
			 unsigned long n_other, unsigned long flags)
{
	static atomic_uint n;

	if (++n % EACH == 0)
		usleep(LATE_US);
	return syscall(SYS_process_vm_readv, pid, own, n_own, other, n_other, flags);
}

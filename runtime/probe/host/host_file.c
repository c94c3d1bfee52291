/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_file.c - kept descriptors of /proc files
 */
#include "runtime/probe/host/host_file.h"

#include <errno.h>
#include <fcntl.h>

/* Where there is no table of our own, a program may close all descriptors while we read. */
enum { TRIES = 3 };

static ssize_t read_once(struct tp_host_file *file, char *buf, size_t cap)
{
	int err = 0;

	if (!tp_own_fd_is_ours(&file->own))
		err = tp_own_fd_open(&file->own, file->path, O_RDONLY, 0);
	return err ? err : tp_own_fd_read(&file->own, buf, cap, 0);
}

ssize_t tp_host_file_read(struct tp_host_file *file, char *buf, size_t cap)
{
	ssize_t got = -EBADF;

	for (int i = 0; i < TRIES && got == -EBADF; i++)
		got = read_once(file, buf, cap);
	return got;
}

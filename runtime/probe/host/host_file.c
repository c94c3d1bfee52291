/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_file.c - kept descriptors of /proc files
 */
#include "runtime/probe/host/host_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* A program that closes all descriptors may do so while we read. */
enum { TRIES = 3 };

static ssize_t read_once(struct tp_host_file *file, char *buf, size_t cap)
{
	size_t n = 0;
	ssize_t got;
	int err;

	if (!tp_own_fd_is_ours(&file->own)) {
		err = tp_own_fd_open(&file->own, file->path, O_RDONLY, 0);
		if (err)
			return err;
	}
	/* One call gives at most a page or so of a longer text. */
	while (n < cap) {
		got = pread(file->own.fd, buf + n, cap - n, (off_t)n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		n += (size_t)got;
	}
	return (ssize_t)n;
}

ssize_t tp_host_file_read(struct tp_host_file *file, char *buf, size_t cap)
{
	ssize_t got = -EBADF;

	for (int i = 0; i < TRIES && got == -EBADF; i++)
		got = read_once(file, buf, cap);
	return got;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_file.c - kept descriptors of /proc files
 */
#include "runtime/probe/host_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

/* Above what programs, and bash with its 255, count on; low enough for the usual limit of
 * 1,024 and for a small table in the kernel. */
enum { HIGH_FD = 300 };

static bool is_still_ours(const struct tp_host_file *file)
{
	struct stat now;

	return file->fd >= 0 && !fstat(file->fd, &now) && now.st_dev == file->device &&
	       now.st_ino == file->inode;
}

static int open_file(struct tp_host_file *file)
{
	int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat found;
	int high, err;

	if (fd < 0)
		return -errno;
	high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
	if (high >= 0) {
		close(fd);
		fd = high;
	}
	if (fstat(fd, &found) < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	file->fd = fd;
	file->device = found.st_dev;
	file->inode = found.st_ino;
	return 0;
}

ssize_t tp_host_file_read(struct tp_host_file *file, char *buf, size_t cap)
{
	size_t n = 0;
	ssize_t got;
	int err;

	if (!is_still_ours(file)) {
		file->fd = -1;
		err = open_file(file);
		if (err)
			return err;
	}
	/* One call gives at most a page or so of a longer text. */
	while (n < cap) {
		got = pread(file->fd, buf + n, cap - n, (off_t)n);
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

void tp_host_file_close(struct tp_host_file *file)
{
	if (is_still_ours(file))
		close(file->fd);
	file->fd = -1;
}

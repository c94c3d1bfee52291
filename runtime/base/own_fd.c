/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_fd.c - opening at a high number, and knowing one's own again
 */
#include "runtime/base/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Above what programs, and bash with its 255, count on; low enough for the usual limit of
 * 1,024 and for a small table in the kernel. */
enum { HIGH_FD = 300 };

int tp_own_fd_high(int fd)
{
	/* Refused under a very low limit: then it stays where it is. */
	int high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);

	if (high < 0)
		return fd;
	close(fd);
	return high;
}

void tp_own_fd_note(struct tp_own_fd *own, int fd)
{
	struct stat found;

	*own = TP_OWN_FD_NONE;
	if (fd >= 0 && fstat(fd, &found) == 0)
		*own = (struct tp_own_fd){ fd, found.st_dev, found.st_ino };
}

int tp_own_fd_open(struct tp_own_fd *own, const char *path, int flags, mode_t mode)
{
	struct stat found;
	int fd, err;

	*own = TP_OWN_FD_NONE;
	do
		fd = open(path, flags | O_CLOEXEC | O_NOCTTY, mode);
	while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return -errno;
	fd = tp_own_fd_high(fd);
	if (fstat(fd, &found) < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	*own = (struct tp_own_fd){ fd, found.st_dev, found.st_ino };
	return 0;
}

int tp_own_fd_reopen(struct tp_own_fd *own, const char *path, int flags)
{
	const struct tp_own_fd before = *own;
	int err = tp_own_fd_open(own, path, flags & ~(O_CREAT | O_TRUNC), 0);

	if (!err && (own->device != before.device || own->inode != before.inode)) {
		tp_own_fd_close(own);
		err = -ESTALE;
	}
	return err;
}

bool tp_own_fd_is_ours(const struct tp_own_fd *own)
{
	struct stat now;

	return own->fd >= 0 && !fstat(own->fd, &now) && now.st_dev == own->device &&
	       now.st_ino == own->inode;
}

int tp_own_fd_close(struct tp_own_fd *own)
{
	int err = tp_own_fd_is_ours(own) && close(own->fd) < 0 && errno != EINTR ? -errno : 0;

	own->fd = -1;
	return err;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.c - the one way to open a file or a folder
 *
 * It leaves errno alone, because guest threads may come through here.
 */
#include "runtime/base/open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *tp_file_error(int err)
{
	return err == -TP_FILE_IRREGULAR ? "not a regular file" : strerror(-err);
}

static bool is_wanted(const struct stat *st, int flags)
{
	return flags & O_DIRECTORY ? S_ISDIR(st->st_mode) : S_ISREG(st->st_mode);
}

static int open_wanted(int dir, const char *name, int flags, mode_t mode)
{
	struct stat st;
	int fd, err;

	if (!fstatat(dir, name, &st, flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0) &&
	    !is_wanted(&st, flags))
		return flags & O_EXCL		? -EEXIST
		       : S_ISLNK(st.st_mode)	? -ELOOP
		       : flags & O_DIRECTORY	? -ENOTDIR
		       : S_ISDIR(st.st_mode)	? -EISDIR
						: -TP_FILE_IRREGULAR;
	do
		fd = openat(dir, name, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, mode);
	while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return -errno;
	/* It may have become something else since. */
	err = fstat(fd, &st) < 0 ? -errno : is_wanted(&st, flags) ? 0 : -TP_FILE_IRREGULAR;
	if (err)
		close(fd);
	return err ? err : fd;
}

int tp_file_open_at(int dir, const char *name, int flags, mode_t mode)
{
	int saved = errno;
	int fd = open_wanted(dir, name, flags, mode);

	errno = saved;
	return fd;
}

int tp_file_open(const char *path, int flags, mode_t mode)
{
	return tp_file_open_at(AT_FDCWD, path, flags, mode);
}

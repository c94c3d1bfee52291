/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.c - small file helpers: no stdio, no allocation, results as 0 or -errno
 *
 * They leave errno alone, because guest threads may come through here.
 */
#include "runtime/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h> /* rename */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/own_fd.h"

int tp_file_write_all(int fd, const void *bytes, size_t n)
{
	const char *p = bytes;
	int saved = errno;
	int err = 0;

	while (n) {
		ssize_t done = write(fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			/* A regular file never takes 0 of n bytes; do not spin on what
			 * does. */
			err = done < 0 ? -errno : -EIO;
			break;
		}
		p += done;
		n -= (size_t)done;
	}
	errno = saved;
	return err;
}

ssize_t tp_file_read(const char *path, void *buf, size_t n)
{
	struct tp_own_fd own;
	ssize_t got = tp_own_fd_open(&own, path, O_RDONLY, 0);

	if (got)
		return got;
	got = tp_own_fd_read(&own, buf, n, 0);
	tp_own_fd_close(&own);
	if (got >= 0 && (size_t)got < n)
		((char *)buf)[got] = '\0';
	return got;
}

int tp_file_read_at(int fd, uint64_t at, void *buf, size_t n)
{
	char *p = buf;

	while (n) {
		ssize_t got = pread(fd, p, n, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -ENODATA;
		p += got;
		at += (uint64_t)got;
		n -= (size_t)got;
	}
	return 0;
}

/* One level. What is there already is good when it is a folder. */
static int make_dir(const char *path, mode_t mode)
{
	struct stat st;
	int err = mkdir(path, mode) ? -errno : 0;

	/* A folder that exists may answer EROFS or EACCES instead of EEXIST. */
	if (err && !stat(path, &st))
		return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
	return err;
}

static int make_dirs(const char *path, size_t n, mode_t mode)
{
	char part[PATH_MAX];
	int saved = errno;
	int err = 0;

	if (n >= sizeof(part))
		return -ENAMETOOLONG;
	memcpy(part, path, n);
	part[n] = '\0';
	for (size_t i = 1; i < n && !err; i++) {
		if (part[i] != '/')
			continue;
		part[i] = '\0';
		err = make_dir(part, mode);
		part[i] = '/';
	}
	if (!err && n)
		err = make_dir(part, mode);
	errno = saved;
	return err;
}

int tp_file_make_dirs(const char *path, mode_t mode)
{
	return *path ? make_dirs(path, strlen(path), mode) : -ENOENT;
}

int tp_file_make_parents(const char *path, mode_t mode)
{
	const char *slash = strrchr(path, '/');

	return slash ? make_dirs(path, (size_t)(slash - path), mode) : 0;
}

int tp_file_rename(const char *from, const char *to)
{
	int saved = errno;
	int err = rename(from, to) ? -errno : 0;

	errno = saved;
	return err;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_fd.c - descriptors of ours: each use is a call on the thread whose table they are in
 */
#include "runtime/base/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "runtime/base/open.h"
#include "runtime/base/own_table.h"

/* Above what programs, and bash with its 255, count on; low enough for the usual limit of
 * 1,024 and for a small table in the kernel. */
enum { HIGH_FD = 300 };

struct call {
	struct tp_own_fd *own;
	const struct tp_own_fd *used;
	const char *path;
	int flags, n_parts;
	mode_t mode;
	void *buf;
	size_t n;
	uint64_t at;
	struct iovec *part;
	struct stat *st;
	ssize_t got;
};

bool tp_own_fd_is_file(const struct tp_own_fd *own, const struct stat *st)
{
	return st->st_dev == own->device && st->st_ino == own->inode;
}

/* Within a call. */
static bool is_ours(const struct tp_own_fd *own)
{
	struct stat now;

	return own->fd >= 0 && own->table == tp_own_table_id() && !fstat(own->fd, &now) &&
	       tp_own_fd_is_file(own, &now);
}

/* The same open file at a high number, close-on-exec; where there is no high number, the same. */
static int move_high(int fd)
{
	/* Refused under a very low limit: then it stays where it is. */
	int high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);

	if (high < 0)
		return fd;
	close(fd);
	return high;
}

int tp_own_fd_take(struct tp_own_fd *own, int fd)
{
	struct stat found;
	int err;

	*own = TP_OWN_FD_NONE;
	fd = move_high(fd);
	if (fstat(fd, &found) < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	*own = (struct tp_own_fd){fd, tp_own_table_id(), found.st_dev, found.st_ino};
	return 0;
}

static int do_open(void *arg)
{
	struct call *call = arg;
	int fd = tp_file_open(call->path, call->flags, call->mode);

	return fd < 0 ? fd : tp_own_fd_take(call->own, fd);
}

int tp_own_fd_open(struct tp_own_fd *own, const char *path, int flags, mode_t mode)
{
	struct call call = {.own = own, .path = path, .flags = flags, .mode = mode};

	*own = TP_OWN_FD_NONE;
	return tp_own_table_call(do_open, &call);
}

static int do_ask(void *arg)
{
	return is_ours(arg);
}

bool tp_own_fd_is_ours(const struct tp_own_fd *own)
{
	return own->fd >= 0 && tp_own_table_call(do_ask, (void *)own);
}

static int do_read(void *arg)
{
	struct call *call = arg;
	size_t have = 0;
	ssize_t got = 0;

	if (!is_ours(call->used))
		return -EBADF;
	/* One call gives at most a page or so of a longer text of /proc. */
	while (have < call->n) {
		got = pread(call->used->fd, (char *)call->buf + have, call->n - have,
			    (off_t)(call->at + have));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		have += (size_t)got;
	}
	call->got = (ssize_t)have;
	return got < 0 ? -errno : 0;
}

ssize_t tp_own_fd_read(const struct tp_own_fd *own, void *buf, size_t n, uint64_t at)
{
	struct call call = {.used = own, .buf = buf, .n = n, .at = at};
	int err = tp_own_table_call(do_read, &call);

	return err ? err : call.got;
}

static int do_write(void *arg)
{
	struct call *call = arg;

	while (call->n_parts) {
		ssize_t done = -1;

		if (!is_ours(call->used))
			return -EBADF;
		if (call->part->iov_len)
			done = pwritev(call->used->fd, call->part, call->n_parts, (off_t)call->at);
		else
			done = 0;
		if (done < 0 && errno == EINTR)
			continue;
		/* A regular file never takes 0 of n bytes; do not spin on what does. */
		if (done < 0 || (!done && call->part->iov_len))
			return done < 0 ? -errno : -EIO;
		call->at += (uint64_t)done;
		for (; call->n_parts && (size_t)done >= call->part->iov_len; call->n_parts--)
			done -= (ssize_t)call->part++->iov_len;
		if (call->n_parts) {
			call->part->iov_base = (char *)call->part->iov_base + done;
			call->part->iov_len -= (size_t)done;
		}
	}
	return 0;
}

int tp_own_fd_write(const struct tp_own_fd *own, struct iovec *part, int n_parts, uint64_t at)
{
	struct call call = {.used = own, .part = part, .n_parts = n_parts, .at = at};

	return tp_own_table_call(do_write, &call);
}

static int do_truncate(void *arg)
{
	struct call *call = arg;
	int err;

	do {
		if (!is_ours(call->used))
			return -EBADF;
		err = ftruncate(call->used->fd, (off_t)call->at);
	} while (err < 0 && errno == EINTR);
	return err < 0 ? -errno : 0;
}

int tp_own_fd_truncate(const struct tp_own_fd *own, uint64_t n_bytes)
{
	struct call call = {.used = own, .at = n_bytes};

	return tp_own_table_call(do_truncate, &call);
}

static int do_stat(void *arg)
{
	struct call *call = arg;

	if (call->used->fd < 0 || call->used->table != tp_own_table_id() ||
	    fstat(call->used->fd, call->st) < 0 || !tp_own_fd_is_file(call->used, call->st))
		return -EBADF;
	return 0;
}

int tp_own_fd_stat(const struct tp_own_fd *own, struct stat *st)
{
	struct call call = {.used = own, .st = st};

	return tp_own_table_call(do_stat, &call);
}

static int do_close(void *arg)
{
	const struct tp_own_fd *own = arg;

	return is_ours(own) && close(own->fd) < 0 && errno != EINTR ? -errno : 0;
}

int tp_own_fd_close(struct tp_own_fd *own)
{
	int err = own->fd >= 0 ? tp_own_table_call(do_close, own) : 0;

	own->fd = -1;
	return err;
}

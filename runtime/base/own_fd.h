/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_fd.h - descriptors that live in a program which does not know of them
 *
 * They are opened in a table of our own (own_table.h), where there is one, and used through the
 * functions here only: the number means nothing elsewhere. Where there is none they lie in the
 * program's table. It may count on getting the lowest free number, so ours are high ones; and
 * it may close all descriptors, or have a file of its own at our number later: so just before
 * each use they are compared with what was opened.
 *
 * A descriptor that the program closed answers -EBADF; one of a table that is gone (its process
 * forked, its thread ended), too. Threads: one at a time for one descriptor. No allocation.
 */
#ifndef TP_BASE_OWN_FD_H
#define TP_BASE_OWN_FD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

struct tp_own_fd {
	int fd;			/* -1: not open */
	uint32_t table;		/* tp_own_table_id() when it was opened */
	dev_t device;		/* with inode: what was opened */
	ino_t inode;
};
#define TP_OWN_FD_NONE ((struct tp_own_fd){ .fd = -1 })

/* tp_file_open. 0 or -errno, own->fd is -1 then. */
int tp_own_fd_open(struct tp_own_fd *own, const char *path, int flags, mode_t mode);
/* Within a call of own_table.h: `fd`, just opened there, becomes `own`. 0 or -errno, closed then. */
int tp_own_fd_take(struct tp_own_fd *own, int fd);
/* False: closed, or taken by somebody else. */
bool tp_own_fd_is_ours(const struct tp_own_fd *own);
/* True: the same file. */
bool tp_own_fd_is_file(const struct tp_own_fd *own, const struct stat *st);

/* Up to n bytes at `at`; fewer only at the end of the file. Bytes or -errno. */
ssize_t tp_own_fd_read(const struct tp_own_fd *own, void *buf, size_t n, uint64_t at);
/* All parts, one behind the other, at `at`. 0 or -errno. Changes `part`. */
int tp_own_fd_write(const struct tp_own_fd *own, struct iovec *part, int n_parts, uint64_t at);
int tp_own_fd_truncate(const struct tp_own_fd *own, uint64_t n_bytes);
int tp_own_fd_stat(const struct tp_own_fd *own, struct stat *st);
/* What is not ours any more is left alone. 0 or -errno of close(2). */
int tp_own_fd_close(struct tp_own_fd *own);

#endif

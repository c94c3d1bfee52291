/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_fd.h - descriptors that live in a program which does not know of them
 *
 * A program may count on getting the lowest free number, so ours are kept at high ones. It
 * may close all descriptors, or have a file of its own at our number later: writing there
 * would destroy it. So whoever uses a kept descriptor asks first whether it still is what was
 * opened; the answer costs one fstat.
 *
 * Threads: one at a time for one descriptor. No allocation. Close is async-signal-safe.
 */
#ifndef TP_BASE_OWN_FD_H
#define TP_BASE_OWN_FD_H

#include <stdbool.h>
#include <sys/types.h>

struct tp_own_fd {
	int fd;			/* -1: not open */
	dev_t device;		/* with inode: what was opened */
	ino_t inode;
};
#define TP_OWN_FD_NONE ((struct tp_own_fd){ -1, 0, 0 })

/* The same open file at a high number, close-on-exec; `fd` is closed, or returned where there is
 * no high number. */
int tp_own_fd_high(int fd);
/* Remembers who the open `fd` is; nothing else is done to it. */
void tp_own_fd_note(struct tp_own_fd *own, int fd);
/* open(2), close-on-exec. 0 or -errno, own->fd is -1 then. */
int tp_own_fd_open(struct tp_own_fd *own, const char *path, int flags, mode_t mode);
/* The same file again, after it was closed under us: -ESTALE when `path` is another file now. */
int tp_own_fd_reopen(struct tp_own_fd *own, const char *path, int flags);
/* False: closed, or taken by somebody else. Forget it then, do not close it. */
bool tp_own_fd_is_ours(const struct tp_own_fd *own);
/* What is not ours any more is left alone. 0 or -errno of close(2). */
int tp_own_fd_close(struct tp_own_fd *own);

#endif

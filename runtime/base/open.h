/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.h - the one way to open a file or a folder
 *
 * Threads: any. errno is kept.
 */
#ifndef TP_BASE_OPEN_H
#define TP_BASE_OPEN_H

#include <sys/types.h>

/* What stands where a file should be is a FIFO, a socket, a device or a folder. */
enum { TP_FILE_IRREGULAR = 124 /* EMEDIUMTYPE */ };
/* strerror(3) of -errno, or "not a regular file". */
const char *tp_file_error(int err);

/*
 * The one way to open: close-on-exec, never a controlling terminal, and never waiting for the
 * other end of a FIFO. A regular file (with O_DIRECTORY a folder), or -TP_FILE_IRREGULAR; what
 * else stands there is not opened, as that may already do something (a tape, a watchdog).
 * Descriptor, or -errno.
 */
int tp_file_open_at(int dir, const char *name, int flags, mode_t mode);
int tp_file_open(const char *path, int flags, mode_t mode);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - small file helpers of the injected half and the merge: no stdio, no allocation
 *
 * All return 0 (or what is said) or -errno, restart on EINTR and keep descriptors
 * close-on-exec. Threads: any.
 */
#ifndef TP_BASE_FILE_H
#define TP_BASE_FILE_H

#include <stddef.h>
#include <stdint.h>
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

int tp_file_write_all(int fd, const void *bytes, size_t n);
/* Up to n bytes from the start of `path`, NUL-terminated when there is room. Bytes read or -errno. */
ssize_t tp_file_read(const char *path, void *buf, size_t n);
/* Exactly n bytes at `at`. 0, -ENODATA when the file is shorter, or -errno. */
int tp_file_read_at(int fd, uint64_t at, void *buf, size_t n);
/* mkdir -p. */
int tp_file_make_dirs(const char *path, mode_t mode);
/* The folders above `path` (all up to the last slash). */
int tp_file_make_parents(const char *path, mode_t mode);
int tp_file_rename(const char *from, const char *to);

#endif

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

#include "runtime/base/open.h"

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

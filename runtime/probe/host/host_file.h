/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_file.h - a file of /proc that stays open and is read again and again
 *
 * Opening it for each sample would take the lowest free descriptor for a moment, again and
 * again, perhaps just when the program counts on getting it. When the program has closed it,
 * it is opened anew. One thread at a time. No allocation, no stdio.
 */
#ifndef TP_PROBE_HOST_FILE_H
#define TP_PROBE_HOST_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "runtime/base/own_fd.h"

struct tp_host_file {
	const char *path;
	struct tp_own_fd own;
};

/* From the file's start, as much as there is or fits. Bytes, or -errno. */
ssize_t tp_host_file_read(struct tp_host_file *file, char *buf, size_t cap);

#endif

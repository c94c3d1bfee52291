/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_file.h - a file of /proc that stays open and is read again and again
 *
 * Opening for each sample would take the lowest free descriptor for a moment, just when the
 * program may count on getting it. So a file is opened once and kept at a high number. The
 * program may close all descriptors, or have something of its own at that number later: each
 * read asks first whether the descriptor still is what was opened, and opens again if not.
 *
 * One thread at a time. No allocation, no stdio.
 */
#ifndef TP_PROBE_HOST_FILE_H
#define TP_PROBE_HOST_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tp_host_file {
	const char *path;
	int fd;			/* -1: not open */
	dev_t device;		/* with inode: what was opened */
	ino_t inode;
};

/* From the file's start, as much as there is or fits. Bytes, or -errno. */
ssize_t tp_host_file_read(struct tp_host_file *file, char *buf, size_t cap);
/* Async-signal-safe. What is not ours any more is left alone. */
void tp_host_file_close(struct tp_host_file *file);

#endif

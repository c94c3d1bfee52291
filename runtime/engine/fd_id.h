/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fd_id.h - is this descriptor still the file that we opened?
 *
 * Programs close descriptors that they do not know (daemons close them all) and open files of
 * their own under the same numbers. Before a descriptor that was kept for long is written to
 * or closed, it must be asked who it is.
 */
#ifndef TP_ENGINE_FD_ID_H
#define TP_ENGINE_FD_ID_H

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

struct tp_fd_id {
	dev_t dev;
	ino_t ino;
};

static inline void tp_fd_note(int fd, struct tp_fd_id *id)
{
	struct stat st;

	memset(id, 0, sizeof(*id));
	if (fd >= 0 && fstat(fd, &st) == 0)
		*id = (struct tp_fd_id){st.st_dev, st.st_ino};
}

static inline bool tp_fd_is(int fd, const struct tp_fd_id *id)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == id->dev && st.st_ino == id->ino;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infile.h - the files that blocks of events are read from, also more than may be open at once
 *
 * A run of a thousand ranks has a thousand files due at any moment. The first few hundred stay
 * open from their first block on, others are opened for each block. Any thread, once the run
 * is opened.
 */
#ifndef TP_MERGE_INFILE_H
#define TP_MERGE_INFILE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct tp_infile {
	char *path;
	dev_t dev;	/* of the file that was indexed */
	ino_t ino;
	int fd;		/* -1: not open */
};

struct tp_infiles {
	struct tp_infile **file;
	uint32_t n, cap;
	uint32_t n_open;
	pthread_mutex_t lock;
};

void tp_infiles_init(struct tp_infiles *files);
void tp_infiles_free(struct tp_infiles *files);
/* The file behind fd; kept until tp_infiles_free. NULL: out of memory. One thread. */
struct tp_infile *tp_infiles_add(struct tp_infiles *files, const char *path, int fd);

/* A descriptor to read from, given back by tp_infile_done; -errno, -ESTALE: that path is another
 * file by now. */
int tp_infile_open(struct tp_infiles *files, struct tp_infile *file);
void tp_infile_done(struct tp_infiles *files, const struct tp_infile *file, int fd);

/*
 * Opens what a name in a folder (a descriptor, or AT_FDCWD and a path) leads to by symlinks.h: that very
 * file, and only a regular one; others may write in the folder, too.
 * Descriptor and its stat(2), or -errno; -EPERM: a link to a file of another user.
 */
int tp_infile_find(int folder, const char *path, struct stat *st);

/* Where what was ever written of a file goes on, at `at` or behind it; the file's end: nowhere. Of a terabyte
 * of holes nothing need be read. The descriptor's own position stays. */
uint64_t tp_infile_data(int fd, uint64_t at);

/*
 * Opens that very file, if `path` still leads to it, or to where a process that still runs has
 * renamed it when it was whole (without .part). Nothing else is opened. Descriptor, or -errno; -ESTALE:
 * another one is there.
 */
int tp_infile_again(const char *path, dev_t dev, ino_t ino);

#endif

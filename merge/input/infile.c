/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infile.c - input files, open while they are read
 */
#include "merge/input/infile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/kit/grow.h"
#include "merge/kit/symlinks.h"
#include "runtime/base/begins.h"
#include "runtime/base/file.h"

enum { MOST_OPEN = 256 };	/* a quarter of what a process is usually allowed */

void tp_infiles_init(struct tp_infiles *files)
{
	memset(files, 0, sizeof(*files));
	pthread_mutex_init(&files->lock, NULL);
}

void tp_infiles_free(struct tp_infiles *files)
{
	for (uint32_t i = 0; i < files->n; i++) {
		if (files->file[i]->fd >= 0)
			close(files->file[i]->fd);
		free(files->file[i]->path);
		free(files->file[i]);
	}
	free(files->file);
	pthread_mutex_destroy(&files->lock);
}

struct tp_infile *tp_infiles_add(struct tp_infiles *files, const char *path, int fd)
{
	struct tp_infile *file = calloc(1, sizeof(*file));
	struct stat st;

	if (file)
		file->path = strdup(path);
	if (!file || !file->path || fstat(fd, &st) ||
	    !tp_grow(&files->file, &files->cap, (uint64_t)files->n + 1, sizeof(file))) {
		if (file)
			free(file->path);
		free(file);
		return NULL;
	}
	file->dev = st.st_dev;
	file->ino = st.st_ino;
	file->fd = -1;
	files->file[files->n++] = file;
	return file;
}

int tp_infile_open(struct tp_infiles *files, struct tp_infile *file)
{
	int fd;

	pthread_mutex_lock(&files->lock);
	fd = file->fd;
	pthread_mutex_unlock(&files->lock);
	if (fd >= 0)
		return fd;
	fd = tp_infile_again(file->path, file->dev, file->ino);
	if (fd < 0)
		return fd;
	pthread_mutex_lock(&files->lock);
	if (file->fd < 0 && files->n_open < MOST_OPEN) {
		file->fd = fd;
		files->n_open++;
	}
	pthread_mutex_unlock(&files->lock);
	return fd;
}

void tp_infile_done(struct tp_infiles *files, const struct tp_infile *file, int fd)
{
	bool is_kept;

	pthread_mutex_lock(&files->lock);
	is_kept = fd == file->fd;
	pthread_mutex_unlock(&files->lock);
	if (!is_kept)
		close(fd);
}

/* What O_PATH found, opened: whatever has the name by now. */
static int open_place(int place)
{
	char again[64];

	snprintf(again, sizeof(again), "/proc/self/fd/%d", place);
	return tp_file_open(again, O_RDONLY, 0);
}

static int open_same(const char *path, dev_t dev, ino_t ino)
{
	int place = open(path, O_PATH | O_CLOEXEC), fd = -ESTALE;
	struct stat st;

	if (place < 0)
		return -errno;
	if (!fstat(place, &st) && st.st_dev == dev && st.st_ino == ino)
		fd = open_place(place);
	close(place);
	return fd;
}

int tp_infile_again(const char *path, dev_t dev, ino_t ino)
{
	static const char part[] = ".part";
	int fd = open_same(path, dev, ino), other;
	char *whole;

	if (fd >= 0 || !tp_ends(path, part))
		return fd;
	whole = strndup(path, strlen(path) - strlen(part));
	other = whole ? open_same(whole, dev, ino) : -ENOMEM;
	free(whole);
	return other >= 0 ? other : fd;
}

int tp_infile_find(int folder, const char *path, struct stat *st)
{
	int place = tp_symlinks_follow(folder, path, st), fd = -TP_FILE_IRREGULAR;

	if (place < 0)
		return place;
	if (S_ISREG(st->st_mode))
		fd = open_place(place);
	close(place);
	return fd;
}

uint64_t tp_infile_data(int fd, uint64_t at)
{
	const off_t was = lseek(fd, 0, SEEK_CUR), data = lseek(fd, (off_t)at, SEEK_DATA);
	const bool is_hole = data < 0 && errno == ENXIO;
	struct stat st;

	if (was >= 0)
		lseek(fd, was, SEEK_SET);
	if (is_hole && !fstat(fd, &st) && (uint64_t)st.st_size > at)
		return (uint64_t)st.st_size;
	return data >= 0 ? (uint64_t)data : at;
}

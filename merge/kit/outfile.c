/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outfile.c - buffers that a second thread compresses and writes
 *
 * Two threads and a few buffers: the one that formats fills a buffer while the other one
 * compresses the last. All shared state is guarded by `lock`; the buffers themselves belong
 * to one side at a time.
 */
#include "merge/kit/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/kit/say.h"
#include "merge/kit/scratch.h"
#include "runtime/base/begins.h"
#include "runtime/base/file.h"

enum {
	BUFFER_BYTES = 512 << 10,
	N_BUFFERS = 4,
	/* Level 1: half the time of level 6, a quarter larger; people wait for this file. */
	GZIP_LEVEL = 1,
};

struct buffer {
	char *bytes;
	size_t n;
};

struct tp_outfile_rest {
	struct tp_outfile out;
	char *path, *temp;	/* temp NULL: written to path itself (a pipe, a device) */
	int fd;
	struct libdeflate_compressor *gzip;	/* NULL: not compressed */
	void *packed;
	size_t packed_cap;

	struct buffer buffer[N_BUFFERS];
	uint64_t n_filled, n_written;	/* buffers so far; [n % N_BUFFERS] */
	bool is_over;
	int err;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
};

static int write_buffer(struct tp_outfile_rest *rest, const struct buffer *buffer)
{
	size_t n;

	if (!rest->gzip)
		return tp_file_write_all(rest->fd, buffer->bytes, buffer->n);
	n = libdeflate_gzip_compress(rest->gzip, buffer->bytes, buffer->n, rest->packed,
				     rest->packed_cap);
	return n ? tp_file_write_all(rest->fd, rest->packed, n) : -EOVERFLOW;
}

static void *write_buffers(void *arg)
{
	struct tp_outfile_rest *rest = arg;

	pthread_mutex_lock(&rest->lock);
	for (;;) {
		int err;

		while (rest->n_written == rest->n_filled && !rest->is_over)
			pthread_cond_wait(&rest->changed, &rest->lock);
		if (rest->n_written == rest->n_filled)
			break;
		err = rest->err;
		pthread_mutex_unlock(&rest->lock);
		if (!err)
			err = write_buffer(rest, &rest->buffer[rest->n_written % N_BUFFERS]);
		pthread_mutex_lock(&rest->lock);
		if (err && !rest->err)
			rest->err = err;
		rest->n_written++;
		pthread_cond_broadcast(&rest->changed);
	}
	pthread_mutex_unlock(&rest->lock);
	return NULL;
}

static void use_buffer(struct tp_outfile_rest *rest, struct buffer *buffer)
{
	rest->out.at = buffer->bytes;
	rest->out.end = buffer->bytes + BUFFER_BYTES;
}

void tp_outfile_flush(struct tp_outfile *out)
{
	struct tp_outfile_rest *rest = out->rest;
	struct buffer *buffer = &rest->buffer[rest->n_filled % N_BUFFERS];

	buffer->n = (size_t)(out->at - buffer->bytes);
	if (!buffer->n)
		return;
	pthread_mutex_lock(&rest->lock);
	rest->n_filled++;
	pthread_cond_broadcast(&rest->changed);
	while (rest->n_filled - rest->n_written >= N_BUFFERS)
		pthread_cond_wait(&rest->changed, &rest->lock);
	pthread_mutex_unlock(&rest->lock);
	use_buffer(rest, &rest->buffer[rest->n_filled % N_BUFFERS]);
}

void tp_outfile_bytes(struct tp_outfile *out, const void *bytes, size_t n)
{
	const char *from = bytes;

	while (n) {
		size_t room = (size_t)(out->end - out->at), part = n < room ? n : room;

		memcpy(out->at, from, part);
		out->at += part;
		from += part;
		n -= part;
		if (n)
			tp_outfile_flush(out);
	}
}

static int open_target(struct tp_outfile_rest *rest)
{
	struct stat st;
	mode_t mask;

	if (!strcmp(rest->path, "-")) {
		rest->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		return rest->fd < 0 ? -errno : 0;
	}
	/* A pipe or device is written to as it is: a rename would replace it by a file. */
	if (!stat(rest->path, &st) && !S_ISREG(st.st_mode)) {
		if (S_ISDIR(st.st_mode))
			return -EISDIR;
		rest->fd = open(rest->path, O_WRONLY | O_CLOEXEC);
		return rest->fd < 0 ? -errno : 0;
	}
	if (asprintf(&rest->temp, "%s.tmp-XXXXXX", rest->path) < 0) {
		rest->temp = NULL;
		return -ENOMEM;
	}
	rest->fd = tp_scratch_file(rest->temp);
	if (rest->fd < 0) {
		free(rest->temp);
		rest->temp = NULL;
		return rest->fd;
	}
	/* mkostemp is for secrets; a result is as readable as the user's other files. */
	mask = umask(0);
	umask(mask);
	fchmod(rest->fd, 0666 & ~mask);
	return 0;
}

static void free_rest(struct tp_outfile_rest *rest)
{
	for (int i = 0; i < N_BUFFERS; i++)
		free(rest->buffer[i].bytes);
	if (rest->gzip)
		libdeflate_free_compressor(rest->gzip);
	free(rest->packed);
	free(rest->path);
	free(rest->temp);
	free(rest);
}

static int take_memory(struct tp_outfile_rest *rest)
{
	for (int i = 0; i < N_BUFFERS; i++) {
		rest->buffer[i].bytes = malloc(BUFFER_BYTES);
		if (!rest->buffer[i].bytes)
			return -ENOMEM;
	}
	if (!tp_ends(rest->path, ".gz"))
		return 0;
	rest->gzip = libdeflate_alloc_compressor(GZIP_LEVEL);
	if (!rest->gzip)
		return -ENOMEM;
	rest->packed_cap = libdeflate_gzip_compress_bound(rest->gzip, BUFFER_BYTES);
	rest->packed = malloc(rest->packed_cap);
	return rest->packed ? 0 : -ENOMEM;
}

struct tp_outfile *tp_outfile_open(const char *path)
{
	struct tp_outfile_rest *rest = calloc(1, sizeof(*rest));
	int err = -ENOMEM;

	if (!rest)
		goto out;
	rest->fd = -1;
	rest->path = strdup(path);
	if (!rest->path)
		goto out;
	err = take_memory(rest);
	if (!err)
		err = open_target(rest);
	if (err)
		goto out;
	pthread_mutex_init(&rest->lock, NULL);
	pthread_cond_init(&rest->changed, NULL);
	rest->out.rest = rest;
	use_buffer(rest, &rest->buffer[0]);
	err = -pthread_create(&rest->thread, NULL, write_buffers, rest);
	if (!err)
		return &rest->out;
	close(rest->fd);
	if (rest->temp) {
		unlink(rest->temp);
		tp_scratch_forget(rest->temp);
	}
out:
	tp_say("cannot write '%s': %s", path, strerror(-err));
	if (rest)
		free_rest(rest);
	return NULL;
}

int tp_outfile_close(struct tp_outfile *out)
{
	struct tp_outfile_rest *rest = out->rest;
	int err;

	tp_outfile_flush(out);
	pthread_mutex_lock(&rest->lock);
	rest->is_over = true;
	pthread_cond_broadcast(&rest->changed);
	pthread_mutex_unlock(&rest->lock);
	pthread_join(rest->thread, NULL);
	err = rest->err;
	/* Standard output whose reader went away (| head): that one has what it wanted. */
	if (err == -EPIPE && !strcmp(rest->path, "-"))
		err = 0;
	/* Some file systems tell of a full disk only here. */
	if (close(rest->fd) && !err)
		err = -errno;
	if (!err && rest->temp)
		err = tp_file_rename(rest->temp, rest->path);
	if (err) {
		tp_say("cannot write '%s': %s%s", rest->path, strerror(-err),
		       rest->temp ? "; it is not made" : "");
		if (rest->temp)
			unlink(rest->temp);
	}
	if (rest->temp)
		tp_scratch_forget(rest->temp);
	pthread_cond_destroy(&rest->changed);
	pthread_mutex_destroy(&rest->lock);
	free_rest(rest);
	return err;
}

int tp_outfile_abandon(struct tp_outfile *out, int err)
{
	pthread_mutex_lock(&out->rest->lock);
	if (!out->rest->err)
		out->rest->err = err;
	pthread_mutex_unlock(&out->rest->lock);
	return tp_outfile_close(out);
}

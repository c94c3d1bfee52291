/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_in.c - a file of text, plain or gzip, as a window that moves over it
 *
 * gzip by zlib: it may stop and go on anywhere, which libdeflate cannot. Files of several
 * members (pigz, our own) are one text.
 */
#include "merge/kineto/stream_in.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum {
	COMPRESSED_ROOM = 256 << 10,
	/* Traces of torch.profiler unpack to some 15 times their size. */
	UNPACKED_PER_BYTE = 128,
	UNPACKED_LEAST = 64 << 20,
};

struct tp_stream_inflate {
	z_stream z;
	bool is_between;	/* two members */
	uint64_t n_in, n_out;
	uint8_t room[COMPRESSED_ROOM];
};

static ssize_t read_some(int fd, void *to, size_t n)
{
	ssize_t got;

	do
		got = read(fd, to, n);
	while (got < 0 && errno == EINTR);
	return got;
}

int tp_stream_open(struct tp_stream_in *in, const char *path)
{
	uint8_t magic[2];
	int err = -ENOMEM;

	memset(in, 0, sizeof(*in));
	in->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (in->fd < 0)
		return -errno;
	posix_fadvise(in->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	in->cap = TP_STREAM_WINDOW;
	in->window = malloc(in->cap + 1);
	if (!in->window)
		goto fail;
	in->window[0] = 0;
	in->at = in->end = in->window;
	if (pread(in->fd, magic, 2, 0) != 2 || magic[0] != 0x1f || magic[1] != 0x8b)
		return 0;
	in->inflate = calloc(1, sizeof(*in->inflate));
	if (!in->inflate)
		goto fail;
	/* 16: gzip only. */
	if (inflateInit2(&in->inflate->z, 16 + MAX_WBITS) == Z_OK)
		return 0;
	free(in->inflate);
	in->inflate = NULL;
fail:
	tp_stream_close(in);
	return err;
}

void tp_stream_close(struct tp_stream_in *in)
{
	if (in->inflate) {
		inflateEnd(&in->inflate->z);
		free(in->inflate);
	}
	free(in->window);
	if (in->fd >= 0)
		close(in->fd);
	memset(in, 0, sizeof(*in));
	in->fd = -1;
}

/* Decompresses into n bytes; returns how many. 0: over. */
static size_t inflate_some(struct tp_stream_in *in, char *to, size_t n)
{
	struct tp_stream_inflate *inf = in->inflate;
	z_stream *z = &inf->z;

	if (inf->n_out > UNPACKED_LEAST + UNPACKED_PER_BYTE * inf->n_in) {
		in->trouble = "the compressed data unpack to more than 128 times their size";
		return 0;
	}
	z->next_out = (Bytef *)to;
	z->avail_out = (uInt)n;
	while (z->avail_out == n) {
		int rc;

		if (!z->avail_in) {
			ssize_t got = read_some(in->fd, inf->room, sizeof(inf->room));

			if (got <= 0) {
				if (got < 0)
					in->trouble = strerror(errno);
				else if (!inf->is_between)
					in->trouble = "the compressed data end in the middle";
				return 0;
			}
			z->next_in = inf->room;
			z->avail_in = (uInt)got;
			inf->n_in += (uint64_t)got;
		}
		/* Blanks of a tape, zeros of a preallocated file: not another member. */
		if (inf->is_between && *z->next_in != 0x1f)
			return 0;
		inf->is_between = false;
		rc = inflate(z, Z_NO_FLUSH);
		if (rc == Z_STREAM_END) {
			inf->is_between = true;
			if (inflateReset(z) != Z_OK)
				return n - z->avail_out;
		} else if (rc != Z_OK && rc != Z_BUF_ERROR) {
			in->trouble = "the compressed data are damaged";
			return n - z->avail_out;
		}
	}
	inf->n_out += n - z->avail_out;
	return n - z->avail_out;
}

bool tp_stream_more(struct tp_stream_in *in)
{
	size_t n_left = (size_t)(in->end - in->at), n;
	ssize_t got;

	if (in->is_over)
		return false;
	if (n_left > in->cap / 2) {
		char *window;

		if (in->cap >= TP_STREAM_MOST) {
			if (n_left == in->cap)
				return false;
		} else {
			window = malloc(2 * in->cap + 1);
			if (!window)
				return false;
			memcpy(window, in->at, n_left);
			free(in->window);
			in->window = window;
			in->cap *= 2;
			in->at = window;
		}
	}
	if (in->at != in->window)
		memmove(in->window, in->at, n_left);
	in->at = in->window;
	n = in->cap - n_left;
	if (in->inflate) {
		got = (ssize_t)inflate_some(in, in->window + n_left, n);
	} else {
		got = read_some(in->fd, in->window + n_left, n);
		if (got < 0)
			in->trouble = strerror(errno);
	}
	in->is_over = got <= 0 || (in->inflate && in->trouble);
	in->end = in->window + n_left + (got > 0 ? got : 0);
	in->window[in->end - in->window] = 0;
	return got > 0;
}

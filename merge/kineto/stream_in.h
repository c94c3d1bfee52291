/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_in.h - a file of text, plain or gzip, as a window that moves over it
 *
 * Memory is that of the window, whatever the file's size: TP_STREAM_WINDOW at first, more only
 * where one piece of the text does not fit, at most TP_STREAM_MOST. One thread.
 */
#ifndef TP_MERGE_STREAM_IN_H
#define TP_MERGE_STREAM_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	TP_STREAM_WINDOW = 1 << 20,
	TP_STREAM_MOST = 64 << 20,
};

struct tp_stream_inflate;

struct tp_stream_in {
	const char *at, *end;	/* what is there and not yet used; *end is 0 */
	uint64_t offset;	/* of `at` in the text (of gzip: after decompression) */
	const char *trouble;	/* why it ended before its end; NULL: it did not */

	int fd;
	char *window;
	size_t cap;
	bool is_over;
	struct tp_stream_inflate *inflate;	/* NULL: plain */
};

/* 0 or -errno. */
int tp_stream_open(struct tp_stream_in *in, const char *path);
void tp_stream_close(struct tp_stream_in *in);

static inline void tp_stream_use(struct tp_stream_in *in, const char *to)
{
	in->offset += (uint64_t)(to - in->at);
	in->at = to;
}

/* More of the text behind what is there; `at` and `end` move. False: there is no more, or
 * the window is as large as it may be. */
bool tp_stream_more(struct tp_stream_in *in);

#endif

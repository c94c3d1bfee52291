/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outfile.h - a result being written: under a temporary name, renamed when it is whole
 *
 * A name that ends in ".gz" is compressed, in independent members of a few hundred KiB (every
 * consumer of gzip takes those), on a thread of its own. The first error stays and is told
 * by close; until then writing goes on into nothing, so callers need not care.
 */
#ifndef TP_MERGE_OUTFILE_H
#define TP_MERGE_OUTFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { TP_OUTFILE_ROOM = 256 << 10 };	/* most that may be asked of tp_outfile_room */

struct tp_outfile {
	char *at, *end;		/* free room of the present buffer */
	struct tp_outfile_rest *rest;
};

/* "-" is standard output. NULL after a message ("trainprof-merge: cannot write 'x': No space left on device"). */
struct tp_outfile *tp_outfile_open(const char *path);
/* 0, or -errno after a message: the temporary file is gone then. */
int tp_outfile_close(struct tp_outfile *out);
/* The same after what was to be written could not be read: the temporary file goes. */
int tp_outfile_abandon(struct tp_outfile *out, int err);
void tp_outfile_flush(struct tp_outfile *out);
void tp_outfile_bytes(struct tp_outfile *out, const void *bytes, size_t n);

/* At least n bytes (<= TP_OUTFILE_ROOM) may be written at the result; then out->at is moved. */
static inline char *tp_outfile_room(struct tp_outfile *out, size_t n)
{
	if (__builtin_expect((size_t)(out->end - out->at) < n, 0))
		tp_outfile_flush(out);
	return out->at;
}

#endif

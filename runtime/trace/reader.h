/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader.h - a trace file being read: heads first, blocks on demand
 *
 * Input is not trusted: every length is checked against the file, a damaged block is
 * reported through `complain` with its offset and skipped, the rest is still read. Memory:
 * one block. Plain malloc (this is never used in the guest). One thread per reader.
 */
#ifndef TP_TRACE_READER_H
#define TP_TRACE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/trace/columns.h"
#include "runtime/trace/frame.h"
#include "runtime/trace/trainprof_trace.h"

/* One message: file, offset of the trouble, what it is, what happens now. */
typedef void (*tp_reader_complain_fn)(void *ctx, const char *path, uint64_t offset,
				      const char *what);

struct tp_reader_block {
	uint64_t offset;	/* of its head in the file */
	uint64_t lies_at;	/* the same, but of a member of a node file: in that one */
	struct tp_block_head head;
};

/* What reading a block takes, for one block at a time. One thread. */
struct tp_reader_room {
	struct tp_frame_unpacker *unpacker;
	struct tp_columns_scratch *scratch;
	uint8_t *stored, *raw;		/* grow as needed, at most TP_BLOCK_RAW_MAX + slack */
	size_t stored_cap, raw_cap;
};

struct tp_reader {
	char *path;
	int fd;
	uint64_t file_bytes;
	struct tp_file_head head;
	struct tp_reader_block *block;	/* all whole blocks, in file order */
	uint32_t n_blocks;
	bool is_whole;			/* has its END block; a node file: its index */
	bool is_node;
	uint32_t n_bad_blocks;		/* seen damaged so far (heads at open, payloads when read) */
	uint64_t cut_bytes;		/* at the end of the file, not belonging to a whole block */
	tp_reader_complain_fn complain;
	void *complain_ctx;
	struct tp_reader_room room;
};

int tp_reader_room_init(struct tp_reader_room *room); /* 0 or -ENOMEM */
void tp_reader_room_free(struct tp_reader_room *room);

/*
 * Opens and indexes. 0; -errno of open/read; -EINVAL: not a trainprof trace (said what it
 * looks like: JSON, gzip, empty, a directory...); -EPROTONOSUPPORT: another major version;
 * -EBADMSG: head damaged. complain() has been called with the reason in every case.
 */
int tp_reader_open(struct tp_reader *reader, const char *path, tp_reader_complain_fn complain,
		   void *complain_ctx);
/*
 * The same of a node file: blocks of all its members as they lie there, without the INDEX. Where
 * the index is damaged all blocks are looked for (said). See reader_node.c.
 */
int tp_reader_open_node(struct tp_reader *reader, const char *path,
			tp_reader_complain_fn complain, void *complain_ctx);
/* The same of a file that is open: `path` is only what it is called, fd the reader's from now on. */
int tp_reader_take(struct tp_reader *reader, int fd, const char *path, tp_reader_complain_fn complain,
		   void *complain_ctx);
int tp_reader_take_node(struct tp_reader *reader, int fd, const char *path,
			tp_reader_complain_fn complain, void *complain_ctx);
void tp_reader_close(struct tp_reader *reader);

/* Payload of block i, decompressed; valid until the next call. 0 or -errno (complained). */
int tp_reader_payload(struct tp_reader *reader, uint32_t i, const uint8_t **raw, uint32_t *n_bytes);

/* A block of events, whatever their sort. */
static inline bool tp_reader_has_events(const struct tp_block_head *head)
{
	return head->type == TP_BLOCK_EVENTS || head->type == TP_BLOCK_LONG ||
	       head->type == TP_BLOCK_HEAP;
}

/* Events of such a block i into rec[head.n_items], thread[head.n_items]. */
int tp_reader_events(struct tp_reader *reader, uint32_t i, struct tp_rec *rec, uint16_t *thread);

/*
 * The same without a reader: the block whose head lies at `offset` of fd and was seen to have
 * n_items events and stored_bytes of payload. 0 or -errno; -ESTALE: another block lies there.
 * Nothing is complained about: see tp_reader_trouble.
 */
int tp_reader_events_at(struct tp_reader_room *room, int fd, uint64_t offset, uint32_t n_items,
			uint32_t stored_bytes, struct tp_rec *rec, uint16_t *thread);
/* What such an error means, for people. */
const char *tp_reader_trouble(int err);

/* Calls `each` for every string of block i (type STRINGS). Bytes are valid only in the call. */
typedef void (*tp_reader_string_fn)(void *ctx, uint32_t id, uint32_t kind, const char *bytes,
				    uint32_t n_bytes);
int tp_reader_strings(struct tp_reader *reader, uint32_t i, tp_reader_string_fn each, void *ctx);

/* Value of "key" in a META or END text. False: not there. */
bool tp_reader_text_value(const char *text, size_t n_bytes, const char *key, char *value,
			  size_t cap);

#endif

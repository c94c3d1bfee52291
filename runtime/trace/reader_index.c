/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader_index.c - finding the blocks of a trace, also of a damaged one
 *
 * Heads chain by stored_bytes. Where the chain breaks, the last block before the break is
 * read to learn whether its own head lied, then the next block is searched for by its
 * magic.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/text.h"
#include "runtime/trace/reader_in.h"

enum {
	SEARCH_BYTES = 64 << 10,
	/* After this many breaks a file is noise; going on could take for ever. */
	BREAKS_MAX = 1000,
};

bool tp_reader_is_plausible(const struct tp_reader *reader, uint64_t offset,
			    const struct tp_block_head *head)
{
	if (head->magic != TP_BLOCK_MAGIC || head->head_bytes != sizeof(*head))
		return false;
	if (head->raw_bytes > TP_BLOCK_RAW_MAX ||
	    head->stored_bytes > tp_frame_bound(TP_BLOCK_RAW_MAX))
		return false;
	if (tp_reader_has_events(head) && head->n_items > TP_BLOCK_EVENTS_MAX)
		return false;
	return head->stored_bytes <= reader->file_bytes - offset - sizeof(*head);
}

int tp_reader_add_block(struct tp_reader *reader, uint64_t offset,
			const struct tp_block_head *head)
{
	/* Doubles at each power of two. */
	if (!(reader->n_blocks & (reader->n_blocks - 1))) {
		size_t room = reader->n_blocks ? 2 * (size_t)reader->n_blocks : 1;
		void *bigger = realloc(reader->block, room * sizeof(*reader->block));

		if (!bigger)
			return -ENOMEM;
		reader->block = bigger;
	}
	reader->block[reader->n_blocks].offset = offset;
	reader->block[reader->n_blocks].lies_at = offset;
	reader->block[reader->n_blocks].head = *head;
	reader->n_blocks++;
	return 0;
}

/* Offset of the next plausible head at or after `from`, or file_bytes. */
static uint64_t search_block(struct tp_reader *reader, uint64_t from)
{
	static const uint32_t magic = TP_BLOCK_MAGIC;
	struct tp_block_head head;
	uint8_t window[SEARCH_BYTES];

	while (reader->file_bytes - from >= sizeof(head)) {
		uint64_t left = reader->file_bytes - from;
		size_t n = left < sizeof(window) ? (size_t)left : sizeof(window);
		const uint8_t *p = window, *hit;

		if (tp_reader_read_at(reader, from, window, n))
			break;
		while ((hit = memmem(p, (size_t)(window + n - p), &magic, sizeof(magic)))) {
			uint64_t offset = from + (uint64_t)(hit - window);

			if (reader->file_bytes - offset >= sizeof(head) &&
			    !tp_reader_read_at(reader, offset, &head, sizeof(head)) &&
			    tp_reader_is_plausible(reader, offset, &head))
				return offset;
			p = hit + 1;
		}
		/* A magic may lie across the border of two windows. */
		from += n - (sizeof(magic) - 1);
	}
	return reader->file_bytes;
}

/*
 * The chain broke at `offset`. Says what is wrong, drops the last block when its own head
 * was the liar, and returns where to go on (file_bytes: nowhere).
 */
static uint64_t mend_chain(struct tp_reader *reader, uint64_t offset)
{
	char what[160];
	struct tp_text text;
	uint64_t from = offset + 1, next;

	if (reader->n_blocks) {
		struct tp_reader_block *last = &reader->block[reader->n_blocks - 1];

		if (tp_reader_unpack(reader, last) == -EBADMSG) {
			offset = last->offset;
			from = offset + sizeof(uint32_t);
			reader->n_blocks--;
		}
	}
	next = search_block(reader, from);
	tp_text_init(&text, what, sizeof(what));
	if (next < reader->file_bytes) {
		reader->n_bad_blocks++;
		tp_text_fmt(&text,
			    "damaged: %lu bytes are skipped, reading goes on at offset %lu",
			    next - offset, next);
	} else {
		reader->cut_bytes = reader->file_bytes - offset;
		tp_text_fmt(&text,
			    "the file ends inside a block: its last %lu bytes are left out",
			    reader->cut_bytes);
	}
	tp_reader_complain(reader, offset, what);
	return next;
}

/* The last block says that it is the file's last: it is believed when it is sound. What is
 * at `offset`, after it, does not count then. */
static bool is_end(struct tp_reader *reader, uint64_t offset)
{
	const struct tp_reader_block *last = &reader->block[reader->n_blocks - 1];

	if (tp_reader_unpack(reader, last)) {
		reader->n_bad_blocks++;
		reader->n_blocks--;
		tp_reader_complain(reader, last->offset,
				   "a block is damaged; it is skipped");
		return false;
	}
	reader->is_whole = true;
	reader->cut_bytes = reader->file_bytes - offset;
	if (reader->cut_bytes)
		tp_reader_complain(reader, offset,
				   "bytes after the end; they are left out");
	return true;
}

int tp_reader_index(struct tp_reader *reader)
{
	uint64_t offset = reader->head.head_bytes;
	unsigned n_breaks = 0;

	while (offset < reader->file_bytes) {
		struct tp_block_head head;
		int err = -ENODATA;

		if (reader->file_bytes - offset >= sizeof(head))
			err = tp_reader_read_at(reader, offset, &head, sizeof(head));
		if (err && err != -ENODATA)
			return err;
		if (err || !tp_reader_is_plausible(reader, offset, &head)) {
			if (++n_breaks > BREAKS_MAX) {
				reader->cut_bytes = reader->file_bytes - offset;
				tp_reader_complain(
				    reader, offset,
				    "damaged in too many places: the rest is left out");
				break;
			}
			offset = mend_chain(reader, offset);
			continue;
		}
		err = tp_reader_add_block(reader, offset, &head);
		if (err)
			return err;
		offset += sizeof(head) + head.stored_bytes;
		if (head.type == TP_BLOCK_END && !reader->is_node && is_end(reader, offset))
			break;
	}
	return 0;
}

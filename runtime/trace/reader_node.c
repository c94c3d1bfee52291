/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader_node.c - the index of a node file
 *
 * It repeats the heads of all blocks, so that a file of a hundred thousand blocks is opened by
 * a few reads. A block is still only believed when its checksum is right: a false index
 * costs blocks, it does not make events.
 */
#include <errno.h>
#include <string.h>

#include "runtime/trace/reader_in.h"

/* The entries of the INDEX block that begins at *offset, which moves behind it. */
static int take_index(struct tp_reader *reader, uint64_t *offset)
{
	struct tp_reader_block block = {.offset = *offset, .lies_at = *offset};
	uint64_t end = reader->file_bytes - sizeof(struct tp_node_tail);
	int err;

	if (*offset > end || end - *offset < sizeof(block.head))
		return -EBADMSG;
	err = tp_reader_read_at(reader, *offset, &block.head, sizeof(block.head));
	if (err)
		return err;
	if (!tp_reader_is_plausible(reader, *offset, &block.head) ||
	    block.head.type != TP_BLOCK_INDEX)
		return -EBADMSG;
	err = tp_reader_unpack(reader, &block);
	if (err)
		return err == -ENOMEM ? err : -EBADMSG;
	if (block.head.raw_bytes != block.head.n_items * sizeof(struct tp_node_entry))
		return -EBADMSG;
	for (uint32_t i = 0; i < block.head.n_items && !err; i++) {
		struct tp_node_entry entry;

		memcpy(&entry, reader->room.raw + i * sizeof(entry), sizeof(entry));
		if (entry.at > end || end - entry.at < sizeof(entry.head) ||
		    !tp_reader_is_plausible(reader, entry.at, &entry.head))
			return -EBADMSG;
		err = tp_reader_add_block(reader, entry.at, &entry.head);
	}
	*offset += sizeof(block.head) + block.head.stored_bytes;
	return err;
}

int tp_reader_node_index(struct tp_reader *reader)
{
	struct tp_node_tail tail;
	uint64_t offset;
	int err = -EBADMSG;

	if (reader->file_bytes < reader->head.head_bytes + sizeof(tail))
		return -EBADMSG;
	err = tp_reader_read_at(reader, reader->file_bytes - sizeof(tail), &tail, sizeof(tail));
	if (err)
		return err;
	if (!tp_frame_is_node_tail(&tail))
		return -EBADMSG;
	offset = tail.index_at;
	for (uint32_t i = 0; i < tail.n_index && !err; i++)
		err = take_index(reader, &offset);
	return err ? err : reader->n_blocks == tail.n_blocks ? 0 : -EBADMSG;
}

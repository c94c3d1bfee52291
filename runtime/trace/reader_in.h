/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader_in.h - what the parts of the reader share, and nobody else needs
 */
#ifndef TP_TRACE_READER_IN_H
#define TP_TRACE_READER_IN_H

#include "runtime/trace/reader.h"

void tp_reader_complain(const struct tp_reader *reader, uint64_t offset, const char *what);

/* Exactly n bytes at `offset`. 0, -ENODATA when the file is shorter, or -errno. */
int tp_reader_read_at(const struct tp_reader *reader, uint64_t offset, void *buf, size_t n);

/* Payload of a block of the file into reader->room.raw. 0 or -errno, without a word. */
int tp_reader_unpack(struct tp_reader *reader, const struct tp_reader_block *block);

/* Room for one block more, and it there. 0 or -ENOMEM. */
int tp_reader_add_block(struct tp_reader *reader, uint64_t offset,
			const struct tp_block_head *head);

/* Whether these bytes at `offset` can be the head of a block of this file. */
bool tp_reader_is_plausible(const struct tp_reader *reader, uint64_t offset,
			    const struct tp_block_head *head);

/* The blocks that a node file's index lists. 0, or -EBADMSG: it is damaged; -errno. */
int tp_reader_node_index(struct tp_reader *reader);

/* Finds all blocks: fills block, n_blocks, is_whole, cut_bytes, counts what is damaged. 0
 * or -errno. */
int tp_reader_index(struct tp_reader *reader);

#endif

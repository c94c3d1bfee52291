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

/* Finds all blocks: fills block, n_blocks, is_whole, cut_bytes, counts what is damaged. 0
 * or -errno. */
int tp_reader_index(struct tp_reader *reader);

#endif

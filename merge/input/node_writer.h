/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_writer.h - the inside of the writer of node files, for its own files
 *
 * node_write.c writes blocks, events and the index, node_members.c what each member is.
 */
#ifndef TP_MERGE_NODE_WRITER_H
#define TP_MERGE_NODE_WRITER_H

#include "merge/input/node.h"

enum { TP_NODE_PART_BYTES = 1 << 20 };	/* of a ledger or a ring, in one block */

struct tp_node_writer {
	struct tp_run_in *run;
	struct tp_outfile *out;
	uint64_t at;			/* bytes written */
	uint32_t sequence;		/* of the node file's own blocks */
	struct tp_frame_packer *packer;
	uint8_t *raw, *packed;		/* of one block */
	struct tp_node_entry *entry;
	uint32_t n_entries, cap_entries;
	uint32_t *number;		/* of each member of the run; UINT32_MAX: left out */
	uint32_t n_members;
	struct tp_node_event_block {
		int64_t first_ns;
		uint64_t lies_at, offset;
		uint32_t member;	/* of the run */
		uint32_t stored_bytes;
	} *event;			/* blocks of events, written last */
	uint32_t n_events, cap_events;
	int err;
};

/* ---- node_write.c ---- */

/* One of ours: MEMBER, NOTES, LEDGER, RING, REPORT. */
void tp_node_write_own(struct tp_node_writer *w, uint32_t number, enum tp_block_type type,
		       uint64_t offset, const void *raw, size_t n);
/* The block whose head lies at `lies_at` of fd; it was at `offset` of its own file. */
void tp_node_copy_block(struct tp_node_writer *w, int fd, uint64_t lies_at, uint64_t offset,
			uint32_t stored_bytes, uint32_t number);

/* ---- node_members.c ---- */

/* All of them but the blocks of events, which are noted. */
void tp_node_write_members(struct tp_node_writer *w);

#endif

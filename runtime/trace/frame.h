/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame.h - a block's payload: compression and checksum; the only user of zstd and xxHash
 *
 * Contexts live on memory given by the caller (tp_frame_*_bytes of it): the guest's malloc
 * is never used. One thread per context.
 */
#ifndef TP_TRACE_FRAME_H
#define TP_TRACE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/trace/trainprof_trace.h"

struct tp_frame_packer;
struct tp_frame_unpacker;

size_t tp_frame_packer_bytes(void);
struct tp_frame_packer *tp_frame_packer_init(void *memory, size_t bytes);
size_t tp_frame_unpacker_bytes(void);
struct tp_frame_unpacker *tp_frame_unpacker_init(void *memory, size_t bytes);

/* Most bytes that pack() may need for raw_bytes of payload. */
size_t tp_frame_bound(size_t raw_bytes);

/*
 * Compresses `raw` into `out` (at least tp_frame_bound bytes), or copies it when that is no
 * smaller: one zstd frame, or where part_bytes says how `raw` is made up of parts of
 * different nature (n_parts lengths; NULL and 0: of one), a few. Fills head->codec,
 * raw_bytes, stored_bytes, magic, head_bytes and checksum; the other fields of the head
 * must be set. Returns stored_bytes.
 */
size_t tp_frame_pack(struct tp_frame_packer *packer, struct tp_block_head *head,
		     const void *raw, size_t raw_bytes, const uint32_t *part_bytes,
		     uint32_t n_parts, void *out);

/*
 * Checks the checksum of head and payload, then decompresses into `out` (head->raw_bytes).
 * 0; -EBADMSG: damaged; -ENOTSUP: unknown codec; -E2BIG: raw_bytes over TP_BLOCK_RAW_MAX.
 */
int tp_frame_unpack(struct tp_frame_unpacker *unpacker, const struct tp_block_head *head,
		    const void *stored, void *out);

/* Of a block whose payload stays as it is: its checksum. */
void tp_frame_seal(struct tp_block_head *head, const void *stored);
bool tp_frame_is_sound(const struct tp_block_head *head, const void *stored);

/* Of a file head: fill and check its checksum. */
void tp_frame_seal_file_head(struct tp_file_head *head);
int tp_frame_check_file_head(
    const struct tp_file_head
	*head); /* 0, -EBADMSG, -EPROTONOSUPPORT, -EINVAL (no magic) */
/* The same of the head of a node file. */
int tp_frame_check_node_head(const struct tp_file_head *head);
void tp_frame_seal_node_tail(struct tp_node_tail *tail);
bool tp_frame_is_node_tail(const struct tp_node_tail *tail);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame.c - a block's payload: zstd and XXH64
 *
 * The zstd contexts are built inside memory that the caller gives, and never grow: a static
 * context makes zstd fail where it would allocate. Level 1: the columns leave little for
 * higher levels to find, and they cost several times as much (tests/bench/columns.c).
 */
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <errno.h>
#include <string.h>

#include "runtime/trace/frame.h"

enum {
	LEVEL = 1,
	/* A frame costs some 15 bytes and a table of its own; shorter parts join the next.
	 */
	PART_BYTES_MIN = 512,
	PARTS_MAX = 32,
};

/* The contexts are their own memory; these names only give them a type of ours. */
struct tp_frame_packer {
	ZSTD_CCtx *zstd;
};

struct tp_frame_unpacker {
	ZSTD_DCtx *zstd;
};

/* zstd wants its workspace 8-byte aligned; ours begins on a cache line. */
enum { HANDLE_BYTES = 64 };

size_t tp_frame_packer_bytes(void)
{
	return HANDLE_BYTES + ZSTD_estimateCCtxSize(LEVEL);
}

struct tp_frame_packer *tp_frame_packer_init(void *memory, size_t bytes)
{
	struct tp_frame_packer *packer = memory;

	if (!memory || bytes < tp_frame_packer_bytes())
		return NULL;
	packer->zstd =
	    ZSTD_initStaticCCtx((char *)memory + HANDLE_BYTES, bytes - HANDLE_BYTES);
	return packer->zstd ? packer : NULL;
}

size_t tp_frame_unpacker_bytes(void)
{
	return HANDLE_BYTES + ZSTD_estimateDCtxSize();
}

struct tp_frame_unpacker *tp_frame_unpacker_init(void *memory, size_t bytes)
{
	struct tp_frame_unpacker *unpacker = memory;

	if (!memory || bytes < tp_frame_unpacker_bytes())
		return NULL;
	unpacker->zstd =
	    ZSTD_initStaticDCtx((char *)memory + HANDLE_BYTES, bytes - HANDLE_BYTES);
	return unpacker->zstd ? unpacker : NULL;
}

size_t tp_frame_bound(size_t raw_bytes)
{
	/* For each frame the same slack as for one. */
	return ZSTD_compressBound(raw_bytes) + PARTS_MAX * ZSTD_compressBound(0);
}

static uint64_t hash_block(const struct tp_block_head *head, const void *stored)
{
	XXH64_state_t state;

	XXH64_reset(&state, 0);
	XXH64_update(&state, head, offsetof(struct tp_block_head, checksum));
	XXH64_update(&state, stored, head->stored_bytes);
	return XXH64_digest(&state);
}

/* How many of `left` bytes go into the frame that begins with part *i; steps *i behind it.
 */
static size_t measure_frame(const uint32_t *part_bytes, uint32_t n_parts, uint32_t *i,
			    size_t left)
{
	size_t n = 0;

	if (n_parts > PARTS_MAX)
		return left;
	while (*i < n_parts && n < PART_BYTES_MIN)
		n += part_bytes[(*i)++];
	return *i == n_parts || n > left ? left : n;
}

/* Bytes written to `out`, or 0 when they would not be fewer than raw_bytes. */
static size_t compress_parts(struct tp_frame_packer *packer, const char *raw,
			     size_t raw_bytes, const uint32_t *part_bytes, uint32_t n_parts,
			     char *out)
{
	size_t done = 0, from = 0;
	uint32_t i = 0;

	while (from < raw_bytes) {
		size_t n = measure_frame(part_bytes, n_parts, &i, raw_bytes - from);
		size_t got = ZSTD_compressCCtx(packer->zstd, out + done, raw_bytes - done,
					       raw + from, n, LEVEL);

		if (ZSTD_isError(got) || done + got >= raw_bytes)
			return 0;
		done += got;
		from += n;
	}
	return done;
}

size_t tp_frame_pack(struct tp_frame_packer *packer, struct tp_block_head *head,
		     const void *raw, size_t raw_bytes, const uint32_t *part_bytes,
		     uint32_t n_parts, void *out)
{
	size_t n = compress_parts(packer, raw, raw_bytes, part_bytes, n_parts, out);

	head->codec = TP_CODEC_ZSTD;
	if (!n) {
		head->codec = TP_CODEC_RAW;
		n = raw_bytes;
		if (n)
			memcpy(out, raw, n);
	}
	head->magic = TP_BLOCK_MAGIC;
	head->head_bytes = sizeof(*head);
	head->raw_bytes = (uint32_t)raw_bytes;
	head->stored_bytes = (uint32_t)n;
	head->checksum = hash_block(head, out);
	return n;
}

int tp_frame_unpack(struct tp_frame_unpacker *unpacker, const struct tp_block_head *head,
		    const void *stored, void *out)
{
	size_t n;

	if (head->raw_bytes > TP_BLOCK_RAW_MAX)
		return -E2BIG;
	if (head->checksum != hash_block(head, stored))
		return -EBADMSG;
	switch (head->codec) {
	case TP_CODEC_RAW:
		if (head->stored_bytes != head->raw_bytes)
			return -EBADMSG;
		if (head->raw_bytes)
			memcpy(out, stored, head->raw_bytes);
		return 0;
	case TP_CODEC_ZSTD:
		n = ZSTD_decompressDCtx(unpacker->zstd, out, head->raw_bytes, stored,
					head->stored_bytes);
		return ZSTD_isError(n) || n != head->raw_bytes ? -EBADMSG : 0;
	default:
		return -ENOTSUP;
	}
}

void tp_frame_seal_file_head(struct tp_file_head *head)
{
	head->checksum = XXH64(head, offsetof(struct tp_file_head, checksum), 0);
}

static int check_head(const struct tp_file_head *head, uint64_t magic)
{
	if (head->magic != magic)
		return -EINVAL;
	/* Another major version may keep its checksum elsewhere: what it is comes first. */
	if (head->major != TP_TRACE_MAJOR)
		return -EPROTONOSUPPORT;
	if (head->checksum != XXH64(head, offsetof(struct tp_file_head, checksum), 0) ||
	    head->head_bytes < sizeof(*head))
		return -EBADMSG;
	return 0;
}

int tp_frame_check_file_head(const struct tp_file_head *head)
{
	return check_head(head, TP_FILE_MAGIC);
}

int tp_frame_check_node_head(const struct tp_file_head *head)
{
	return check_head(head, TP_NODE_MAGIC);
}

void tp_frame_seal_node_tail(struct tp_node_tail *tail)
{
	tail->checksum = XXH64(tail, offsetof(struct tp_node_tail, checksum), 0);
}

bool tp_frame_is_node_tail(const struct tp_node_tail *tail)
{
	return tail->magic == TP_NODE_TAIL_MAGIC &&
	       tail->checksum == XXH64(tail, offsetof(struct tp_node_tail, checksum), 0);
}

void tp_frame_seal(struct tp_block_head *head, const void *stored)
{
	head->checksum = hash_block(head, stored);
}

bool tp_frame_is_sound(const struct tp_block_head *head, const void *stored)
{
	return head->checksum == hash_block(head, stored);
}

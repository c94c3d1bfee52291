/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode.h - one block of events: read, in the run's time, in order
 *
 * Decoded blocks are pooled: a run opens and closes tens of thousands of them. One thread.
 */
#ifndef TP_MERGE_DECODE_H
#define TP_MERGE_DECODE_H

#include "merge/run.h"

enum { TP_DECODE_POOL = 64 };

/* Ticks are gone: time is the begin in ns of the run, len the duration in ns of a span. */
struct tp_decoded {
	struct tp_rec *rec;
	uint16_t *thread; /* index in proc->thread */
	uint64_t *key;	  /* begin - base, then the index: in order */
	uint32_t n, at;
	int64_t base;
	struct tp_source *source;
	uint32_t window;  /* its number in the process */
	uint32_t block;	  /* tp_block_ref.at */
	bool is_pooled;
};

struct tp_decoder {
	struct tp_run_in *run;
	struct tp_decoded *pool[TP_DECODE_POOL];
	uint32_t n_pool;
	uint64_t *scratch;
	int err; /* -ENOMEM: memory ran out */
};

extern const bool tp_decode_is_span[256];

/* Of events with equal times: STEP, RANGE, OP, CALL, others; those of host memory as they were
 * recorded: a clock that is read now and then gives many of them one time. */
static inline uint32_t tp_decode_kind_order(uint8_t kind)
{
	switch (kind) {
	case TP_REC_STEP:
		return 0;
	case TP_REC_RANGE:
		return 1;
	case TP_REC_OP:
		return 2;
	case TP_REC_CALL:
		return 3;
	case TP_REC_HEAPALLOC:
	case TP_REC_HEAPFREE:
	case TP_REC_MAP:
	case TP_REC_UNMAP:
	case TP_REC_FRAME:
		return TP_REC_HEAPALLOC + 3u;
	default:
		return kind + 3u;
	}
}

static inline int64_t tp_decode_end(const struct tp_rec *rec)
{
	return (int64_t)rec->time +
	       (tp_decode_is_span[rec->kind] ? (int64_t)tp_rec_len(rec) : 0);
}

int tp_decoder_init(struct tp_decoder *decoder, struct tp_run_in *run);
void tp_decoder_free(struct tp_decoder *decoder);

/* NULL: left out because it cannot be read or lies before `present` (an issue says why), or
 * out of memory (decoder->err). */
struct tp_decoded *tp_decode_block(struct tp_decoder *decoder,
				   const struct tp_block_ref *ref, int64_t present);
	case TP_REC_STACK:
void tp_decode_release(struct tp_decoder *decoder, struct tp_decoded *block);

#endif

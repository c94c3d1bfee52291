/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode.h - blocks of events: read, in the run's time, in order, a slice at a time
 *
 * With few ranks a slice is a whole block. Hundreds of ranks have more blocks around the
 * present than memory may hold: then each is decoded several times, and each time another
 * slice of it is kept.
 */
#ifndef TP_MERGE_DECODE_H
#define TP_MERGE_DECODE_H

#include "merge/input/run.h"
#include "runtime/trace/kinds.h"

enum tp_decode_trouble {
	TP_DECODE_FINE,
	TP_DECODE_NO_FILE,	/* cannot be opened any more, or is another one */
	TP_DECODE_BLOCK,	/* it is damaged */
	TP_DECODE_RING,		/* what a ring held cannot be read any more */
	TP_DECODE_TIMES,	/* times that cannot be */
	TP_DECODE_EARLY,	/* they lie before what was handed out already */
};

/* What all events of a block have in common. */
struct tp_making {
	struct tp_run_in *run;
	struct tp_proc_in *proc;
	const struct tp_window *window;
	const struct tp_string *none;
	const struct tp_thread *thread;
	struct tp_ids ids;
	uint32_t window_number;
};

/* Ticks are gone: time is the begin in ns of the run, len the duration in ns of a span. */
struct tp_decoded {
	struct tp_rec *rec;	/* in order */
	uint16_t *thread;	/* index in proc->thread */
	uint32_t n, at, room;
	uint32_t from;		/* of the block's events in order */
	int64_t next_ns;	/* begin of the first event behind the slice; if there is one */
	const struct tp_block_ref *ref;
	struct tp_source *source;
	uint32_t window;	/* its number in the process */
	enum tp_decode_trouble trouble;
	int err;		/* with it; -ENOMEM alone: memory ran out */
	struct tp_making making;	/* of events from its records */
	struct tp_decoded *next;	/* in a pool */
};

enum { TP_DECODED_BYTES = sizeof(struct tp_rec) + sizeof(uint16_t) };	/* of an event */

static inline bool tp_decode_has_more(const struct tp_decoded *d)
{
	return d->from + d->n < d->ref->n_events;
}

/* Working memory of one thread. */
struct tp_decoder {
	struct tp_run_in *run;
	struct tp_reader_room room;
	struct tp_rec *rec;
	uint16_t *thread;
	uint64_t *key, *scratch;
};

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
	default:
		return (tp_kind_is_heap(kind) ? TP_REC_HEAPALLOC : kind) + 3u;
	}
}

static inline int64_t tp_decode_end(const struct tp_rec *rec)
{
	return (int64_t)rec->time +
	       (tp_kind_is_span[rec->kind] ? (int64_t)tp_rec_len(rec) : 0);
}

/* 0 or -ENOMEM; in any case there is something to free. */
int tp_decoder_init(struct tp_decoder *decoder, struct tp_run_in *run);
void tp_decoder_free(struct tp_decoder *decoder);

/* The records of a block as they were recorded, in ticks and slots. 0 or -errno, with it what
 * sort of trouble. */
int tp_decode_read(struct tp_run_in *run, struct tp_reader_room *room,
		   const struct tp_block_ref *ref, struct tp_rec *rec, uint16_t *thread,
		   enum tp_decode_trouble *trouble);

/* Fills `d` (room for d->room events) with those of a block from the `from`th on. */
void tp_decode_slice(struct tp_decoder *decoder, const struct tp_block_ref *ref, uint32_t from,
		     struct tp_decoded *d);
/* All of a block as it was recorded, in no order of time; they are the decoder's, until its next block. */
void tp_decode_block(struct tp_decoder *decoder, const struct tp_block_ref *ref, struct tp_decoded *d);
/* Nothing of the block was kept: makes the issue that says why. */
void tp_decode_complain(struct tp_run_in *run, const struct tp_decoded *d);

/* ---- events: what facts, sinks and views see; one thread ---- */

/* Of the n records from `at` on. Returns how many events they are: of two profilers' steps of one
 * process, those of torch.profiler are left out. */
uint32_t tp_events_make(const struct tp_decoded *d, uint32_t at, uint32_t n, struct tp_event *event);
/* The same of one. False: it is left out. */
bool tp_events_make_one(const struct tp_decoded *d, uint32_t at, struct tp_event *event);
/* After the last one: an issue of names that no file holds. */
void tp_events_end(struct tp_run_in *run);

#endif

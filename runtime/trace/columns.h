/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns.h - events of one block <-> columns of bytes and bits (before compression)
 *
 * The encoding is specified in trainprof-trace(5), "Columns". Both directions are pure: no
 * allocation, no I/O. Threads: any, each on its own scratch memory. The decoder trusts
 * nothing.
 */
#ifndef TP_TRACE_COLUMNS_H
#define TP_TRACE_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/trace/trainprof_trace.h"

/* In the order in which they stand in the payload, after a table of their lengths. */
enum tp_event_column {
	TP_COLUMN_RUNS,	       /* which thread, how many events, from when */
	TP_COLUMN_DEFINITIONS, /* of forms: what events have in common */
	TP_COLUMN_FORM,	       /* of each event, low byte */
	TP_COLUMN_FORM_HIGH,   /* and high byte, when there are more than 256 */
	TP_COLUMN_GAP,	       /* classes of the first time of each event */
	TP_COLUMN_SIZE,	       /* classes of the second time of spans, and of lengths */
	TP_COLUMN_LINK,	       /* classes of links */
	TP_COLUMN_ARG,	       /* classes of args */
	TP_COLUMN_BITS,	       /* what the classes leave open, packed */
	TP_COLUMN_N
};

/* Working memory of either direction, for one call at a time; need not be zeroed. */
struct tp_columns_scratch;
size_t tp_columns_scratch_bytes(void);

/* Most bytes that n events can take, whatever they hold. */
size_t tp_columns_bound(uint32_t n_events);

/*
 * rec[i] happened on thread slot thread[i]. Events of one thread should be in the order
 * they were recorded (spans at their end), and in long runs: the order is kept, and both
 * make the columns small. At most TP_BLOCK_EVENTS_MAX events. Returns bytes written to
 * `out` (at most tp_columns_bound). part_bytes (may be NULL): lengths of the parts of the
 * payload, one a column; they compress best apart (tp_frame_pack).
 */
size_t tp_columns_encode(struct tp_columns_scratch *scratch, const struct tp_rec *rec,
			 const uint16_t *thread, uint32_t n_events, uint8_t *out,
			 uint32_t part_bytes[TP_COLUMN_N]);
/* The same for the payload of a HEAP block: small when they are records of host memory and stacks. */
size_t tp_columns_encode_heap(struct tp_columns_scratch *scratch, const struct tp_rec *rec,
			      const uint16_t *thread, uint32_t n_events, uint8_t *out,
			      uint32_t part_bytes[TP_COLUMN_N]);

/* 0, or -EBADMSG when the bytes are not n_events events (then *bad_at is the number of the
 * first event that could not be decoded; those before it are good). */
int tp_columns_decode(struct tp_columns_scratch *scratch, const uint8_t *in, size_t n_bytes,
		      uint32_t n_events, struct tp_rec *rec, uint16_t *thread,
		      uint32_t *bad_at);
int tp_columns_decode_heap(struct tp_columns_scratch *scratch, const uint8_t *in, size_t n_bytes,
			   uint32_t n_events, struct tp_rec *rec, uint16_t *thread,
			   uint32_t *bad_at);

#endif

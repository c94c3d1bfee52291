/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns.h - events of one block <-> columns of varints (before compression)
 *
 * The encoding is specified in trainprof-trace(5), "Columns". Both directions are pure: no
 * allocation, no I/O. Threads: any, on the caller's memory. The decoder trusts nothing.
 */
#ifndef TP_TRACE_COLUMNS_H
#define TP_TRACE_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/trace/trainprof_trace.h"

/* Most bytes that n events can take, whatever they hold. */
size_t tp_columns_bound(uint32_t n_events);

/*
 * rec[i] happened on thread slot thread[i]. Events of one thread should be in the order they
 * were recorded (spans at their end): it is kept, and it makes the columns small.
 * Returns bytes written to out (at most tp_columns_bound).
 */
size_t tp_columns_encode(const struct tp_rec *rec, const uint16_t *thread, uint32_t n_events,
			 uint8_t *out);

/* 0, or -EBADMSG when the bytes are not n_events events (then *bad_at is the offset). */
int tp_columns_decode(const uint8_t *in, size_t n_bytes, uint32_t n_events,
		      struct tp_rec *rec, uint16_t *thread, size_t *bad_at);

#endif

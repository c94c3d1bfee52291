/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_bytes.h - tensor memory of the spans in which it was allocated and freed
 *
 * Who wants it finds it in tp_nest_span.self_bytes and child_bytes: allocated less freed.
 */
#ifndef TP_MERGE_SPAN_BYTES_H
#define TP_MERGE_SPAN_BYTES_H

#include "merge/model/fact.h"

struct tp_span_bytes;

extern const struct tp_fact tp_fact_span_bytes;

bool tp_span_bytes_has_any(const struct tp_span_bytes *bytes);	/* so far: an allocation was seen */
bool tp_span_bytes_has_device(const struct tp_span_bytes *bytes);	/* likewise, on a device */
/* Blocks that were too many to keep: what frees them counts as 0 bytes. */
uint64_t tp_span_bytes_lost(const struct tp_span_bytes *bytes);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_decode.h - a buffer of activity records -> records in the ring
 *
 * Drain thread only. Names and launch configurations are interned through small caches,
 * so that a launch that repeats costs two loads. Nothing is read beyond the valid bytes of a
 * buffer. Every record is counted: emitted, or the reason why not.
 */
#ifndef TP_PROBE_CUPTI_DECODE_H
#define TP_PROBE_CUPTI_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/text.h"
#include "runtime/probe/gpu/cupti_place.h"
#include "runtime/trace/trainprof_trace.h"

struct tp_cupti_counts {	/* of one record kind (TP_REC_*) */
	uint64_t seen, emitted;
	uint64_t no_time;	/* start or end is 0: the device had no room, or did not finish */
	uint64_t outside;	/* of no window: warm-up, or a call after its end */
	uint64_t late;		/* of a window whose file was finished already */
	uint64_t no_room;	/* the ring was full, or so much waited for its window's turn */
	uint64_t no_name;	/* emitted, but its name or launch found no room among the names */
};
extern struct tp_cupti_counts tp_cupti_counts[TP_REC_N] __attribute__((visibility("hidden")));
extern uint64_t tp_cupti_unknown_kinds __attribute__((visibility("hidden")));
/* Of a record that is in the ring. */
static inline void tp_cupti_count_made(uint8_t kind, uint32_t name, uint64_t arg)
{
	struct tp_cupti_counts *counts = &tp_cupti_counts[kind];

	counts->emitted++;
	counts->no_name += !name || (kind == TP_REC_KERNEL && !arg);
}
/* Decoding waits for the drain then. */
bool tp_cupti_is_ring_half_full(void);

struct tp_cupti_batch {		/* a buffer being decoded, which may take several calls */
	const uint8_t *bytes;
	size_t n_bytes, at;	/* at: of the next record; 0 at first */
};
/*
 * Decodes until the buffer's end (true), until about `most` records are made or the ring is half
 * full (false: call again, after the ring was drained). Steps from record to record by
 * cuptiActivityGetNextRecord.
 */
bool tp_cupti_decode(struct tp_cupti_batch *batch, const struct tp_cupti_wanted *wanted,
		     uint32_t most);

/* Devices make a TP_STRING_DEVICE each; the engine writes these to every window's file. */
int tp_cupti_decode_init(uint32_t version);
void tp_cupti_decode_forked(void);
/*
 * "cupti.kernel=<emitted>\ncupti.kernel.no_time=..." of the whole process; zeros are left out. Of
 * MEMORY2, what was allocated and freed on each device while windows were open:
 * "cupti.memory2.<device>.alloc_bytes=...\ncupti.memory2.<device>.free_bytes=...".
 */
void tp_cupti_decode_report(struct tp_text *totals);

#endif

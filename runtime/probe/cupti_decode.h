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
#include "runtime/trace/trainprof_trace.h"

struct tp_cupti_counts {	/* of one record kind (TP_REC_*) */
	uint64_t seen, emitted;
	uint64_t no_time;	/* start or end is 0: the device had no room, or did not finish */
	uint64_t outside;	/* of no window: warm-up, or too late */
	uint64_t no_room;	/* the ring was full */
	uint64_t no_name;	/* emitted, but its name or launch found no room among the names */
};
extern struct tp_cupti_counts tp_cupti_counts[TP_REC_N] __attribute__((visibility("hidden")));
extern uint64_t tp_cupti_unknown_kinds __attribute__((visibility("hidden")));

/* What is wanted now; the probe keeps it up to date. */
struct tp_cupti_wanted {
	uint64_t begin, end;	/* ticks: of the window; device work that ends after `end` gets
				 * TP_F_AFTER; end 0: the window goes on */
	bool has_window;	/* else everything is outside */
};

struct tp_cupti_batch {		/* a buffer being decoded, which may take several calls */
	const uint8_t *bytes;
	size_t n_bytes, at;
};
/*
 * Decodes until the buffer's end (true) or until about `most` records are made (false: call
 * again). `next` steps from record to record: cuptiActivityGetNextRecord in the product.
 */
bool tp_cupti_decode(struct tp_cupti_batch *batch, const struct tp_cupti_wanted *wanted,
		     uint32_t most);

/* Devices: each makes a TP_STRING_DEVICE once, and a TP_REC_DEVICE record that names it in
 * every window (so that each file has the string): see trainprof_trace.h. */
int tp_cupti_decode_init(uint32_t version);
void tp_cupti_decode_forked(void);
/* "cupti.kernel=<emitted>\ncupti.kernel.no_time=..." : zeros are left out. */
void tp_cupti_decode_report(struct tp_text *totals);

#endif

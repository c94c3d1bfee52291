/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_layout.h - what lies where in an activity record, by kind and version of CUPTI
 *
 * CUPTI fills the newest structure that it knows. Structures of one kind grow at their end, so
 * an offset is good from the version on that brought the member; a member beyond the end of
 * this version's structure is not read. A version newer than all we know is read as the
 * newest. Pure; any thread. tests/unit/cupti_layout.c compares sizes and offsets with the headers
 * of every CUPTI from 11.8 to 13.5.
 */
#ifndef TP_PROBE_CUPTI_LAYOUT_H
#define TP_PROBE_CUPTI_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/trace/trainprof_trace.h"

/* One record, whatever its kind. What the version lacks is 0; members of other kinds are not set. */
struct tp_cupti_record {
	uint32_t kind;		/* CUpti_ActivityKind */
	uint64_t start, end;	/* CUPTI's clock, ns; memory records: start only */
	uint32_t correlation;
	struct tp_device_place place;	/* contexts, event records, memory; DEVICE: its id */
	const char *name;	/* CUPTI's memory: copy it before the buffer goes back */
	uint32_t cbid, tid, returned;	/* calls */
	struct tp_launch launch;	/* kernels, graph launches */
	struct tp_transfer transfer;	/* copies and sets */
	uint64_t bytes;
	struct tp_sync_what sync;	/* without what CUPTI does not say: device, recorded_stream */
	uint32_t event;			/* SYNCHRONIZATION, CUDA_EVENT; 0: none */
	uint64_t event_sync;		/* the same; since 12.8: equal in those that belong together */
	uint32_t overhead_kind;
	uint32_t graph;		/* graph launches */
	struct {		/* MEMORY2 */
		uint32_t operation, memory_kind;
		uint64_t address;
	} memory;
};

/* Bytes of a record of that kind in that version (CUPTI_API_VERSION); 0: not known here. 18 is
 * 11.8 and 12.0: what both have. */
uint32_t tp_cupti_record_bytes(uint32_t version, uint32_t kind);

/*
 * Reads the record at `bytes`, of which `n_bytes` are readable. False: of a kind not known
 * here, or too short for what its kind has in every version.
 */
bool tp_cupti_read(uint32_t version, const void *bytes, uint32_t n_bytes,
		   struct tp_cupti_record *record);

/* "key=value\n" lines of TP_STRING_DEVICE, of a CUPTI_ACTIVITY_KIND_DEVICE record, and its number.
 * Returns their length; 0: it is none, or is too short. */
uint32_t tp_cupti_read_device(uint32_t version, const void *bytes, uint32_t n_bytes, uint32_t *id,
			      char *out, uint32_t cap);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_facts.h - what activity records say about contexts, events and memory, for the others, and what
 * none says of a device
 *
 * A wait does not say where its event was recorded, nor which device its context is on: other
 * records do. Drain thread only; tables of fixed size, in which the newest wins.
 */
#ifndef TP_PROBE_CUPTI_FACTS_H
#define TP_PROBE_CUPTI_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/text.h"
#include "runtime/probe/gpu/cupti_layout.h"

struct tp_cupti_event {
	uint32_t context, event;	/* event 0: empty */
	uint32_t correlation, stream;	/* of the call that recorded it */
	uint64_t sync;
};

void tp_cupti_note_context(uint32_t context, uint32_t device);
/* 0 when nothing has said it. */
uint32_t tp_cupti_device_of(uint32_t context);

/* A CUDA_EVENT record. */
void tp_cupti_note_event(const struct tp_cupti_record *record);
/* The recording that a SYNCHRONIZATION record waits for; NULL: not known. */
const struct tp_cupti_event *tp_cupti_find_event(const struct tp_cupti_record *record);

/* A MEMORY2 record. */
void tp_cupti_note_memory(const struct tp_cupti_record *record);
void tp_cupti_report_memory(struct tp_text *totals);

/* How much shared memory a block may have at most: no record says it, the driver is asked once. 0: it
 * does not tell. */
uint32_t tp_cupti_block_shared_optin(uint32_t device);

void tp_cupti_facts_reset(void);

#endif

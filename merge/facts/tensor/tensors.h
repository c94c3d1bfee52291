/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensors.h - tensor memory in time order: sizes of frees, totals after each event
 *
 * A free carries no size where torch does not say it; it is that of the block at its address.
 * Totals are those that the trace states (TOTALS), carried on by what was allocated and freed
 * since.
 */
#ifndef TP_MERGE_TENSORS_H
#define TP_MERGE_TENSORS_H

#include "merge/model/model.h"

struct tp_tensor_change {
	uint64_t address;
	int64_t bytes;		/* negative: freed */
	/* False: the first of a device in a window, whose totals are said right after it. */
	bool is_total_known;
	bool is_known;		/* false: a block from before the window was freed, bytes are 0 */
	int32_t device_type;
	int32_t device_index;	/* -1: none (CPU) */
	int64_t allocated, reserved;	/* of the device, after it */
};

/* Bytes of tensors of the host alive when this STEP began, as the ledger says; 0: not known. */
uint64_t tp_tensors_ledger(const struct tp_run *run, const struct tp_event *event);

/* The most of them in this STEP; 0: not known. */
int64_t tp_tensors_ledger_most(const struct tp_run *run, const struct tp_event *event);

struct tp_tensors;
struct tp_tensors *tp_tensors_new(const struct tp_run *run);
void tp_tensors_free(struct tp_tensors *tensors);

/* Takes ALLOC, FREE, TOTALS and STEP (the ledger says what was alive when it began). True:
 * *change is what an ALLOC or FREE did. */
bool tp_tensors_note(struct tp_tensors *tensors, const struct tp_event *event,
		     struct tp_tensor_change *change);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns_scratch.h - working memory of the columns: of one call at a time, whichever it is
 *
 * Private to the columns_*.c files.
 */
#ifndef TP_TRACE_COLUMNS_SCRATCH_H
#define TP_TRACE_COLUMNS_SCRATCH_H

#include "runtime/trace/columns_form.h"
#include "runtime/trace/columns_heap.h"

/* The encoder's alone: where in the block something was; record, or place, plus one. */
struct heap_index {
	uint16_t address[SLOT_TABLE]; /* of HEAPALLOCs */
	uint16_t place[SLOT_TABLE];
	uint16_t alloc_number[TP_BLOCK_EVENTS_MAX]; /* of a HEAPALLOC's record */
};

struct tp_columns_scratch {
	union {
		struct {
			struct form form[TP_BLOCK_EVENTS_MAX];
			uint16_t form_table[FORM_TABLE_N]; /* hash of a form -> its number + 1 */
			struct recent live, freed;
			struct stack stack;
		};
		struct {
			struct heap_model model;
			struct heap_index index;
		} heap;
	};
};

#endif

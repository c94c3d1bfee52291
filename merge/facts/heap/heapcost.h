/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapcost.h - what stacks cost in host memory: the rows that formats are written from
 */
#ifndef TP_MERGE_HEAPCOST_H
#define TP_MERGE_HEAPCOST_H

#include "merge/facts/heap/hostmem.h"
#include "merge/facts/time/flame.h"

/* What is known of each stack in each process: all that a format needs of hostmem.h and
 * stacks.h, and a test can make by hand. */
struct tp_heap_rows {
	const struct tp_run *run;
	const struct tp_hostmem *mem;
	const struct tp_hostmem_row *row;
	uint32_t n_rows;
	uint64_t sample_bytes;	/* mean distance of samples: figures are estimates; 0: exact */
	bool is_incomplete;	/* memory was out */
	/* As tp_stacks_frames. */
	uint32_t (*frames)(const void *stacks, uint32_t stack, struct tp_frame *frame,
			   uint32_t max);
	const void *stacks;
};

/* The figures of a row. */
enum tp_heap_cost {
	TP_HEAP_PEAK,
	TP_HEAP_ALLOCS,
	TP_HEAP_LEAKED,
	TP_HEAP_TEMPORARY,
	TP_HEAP_COSTS,		/* those of a flame graph */
	TP_HEAP_ALLOC_BYTES = TP_HEAP_COSTS,
	TP_HEAP_PEAK_BLOCKS,
	TP_HEAP_END_BLOCKS,
	TP_HEAP_FIGURES
};

uint64_t tp_heap_value(const struct tp_hostmem_row *row, enum tp_heap_cost cost);

/* With all figures as costs. `rows` and what it points to live as long. */
struct tp_flame_rows tp_heap_flame(const struct tp_heap_rows *rows);

#endif

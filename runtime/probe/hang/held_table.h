/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held_table.h - what held.c keeps and held_rows.c sums up
 */
#ifndef TP_PROBE_HELD_TABLE_H
#define TP_PROBE_HELD_TABLE_H

#include <stdbool.h>
#include <stdint.h>

enum {	/* powers of two; a quarter stays free */
	TP_HELD_BLOCKS = 1 << 16,	/* at most */
	TP_HELD_FRAMES = 1 << 15,
	TP_HELD_MODULES = 1 << 12,
};

struct tp_held_block {
	uint64_t address;	/* 0: free */
	uint64_t time;		/* of the newest event */
	uint64_t born;		/* 0: before all records */
	uint64_t bytes;		/* 0: freed, and not seen allocated */
	uint32_t operator;	/* string OP; 0: none was open */
	uint32_t stack;
	uint32_t device;
	uint8_t category;	/* enum tp_tensor_category */
	bool is_dead;
};

struct tp_held_frame {
	uint32_t number;	/* 0: free */
	uint32_t outer;
	uint32_t string;	/* PYFRAME; 0: none */
	uint32_t line;		/* of a module's call: its number */
	bool is_module;
};

struct tp_held_module {
	uint32_t number, string;
};

extern struct tp_held_table {
	uint32_t window_plus_one;	/* 0: nothing was seen */
	struct tp_held_block *block;
	struct tp_held_frame *frame;
	struct tp_held_module *module;
	uint32_t n_places;		/* of blocks; a power of two */
	uint32_t n_blocks, n_frames;
	uint64_t n_lost;		/* blocks that found no place */
} tp_held __attribute__((visibility("hidden")));

/* NULL: not known. */
const struct tp_held_frame *tp_held_frame(uint32_t number);
/* String NNMODULE; 0: not known. */
uint32_t tp_held_module(uint32_t number);

#endif

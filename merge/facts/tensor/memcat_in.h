/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memcat_in.h - what memcat.c and memcat_lives.c share: blocks that are alive
 */
#ifndef TP_MERGE_MEMCAT_IN_H
#define TP_MERGE_MEMCAT_IN_H

#include "merge/facts/tensor/membase.h"
#include "merge/facts/tensor/memcat.h"
#include "merge/facts/tensor/memcurve.h"
#include "merge/facts/tensor/memjudge.h"
#include "merge/facts/tensor/memtake.h"

/* A block that is alive, or a place for one. */
struct tp_memblock {
	struct tp_life life;
	struct tp_place place;
	uint32_t next_free;		/* of a free one */
	struct tp_memcount count;	/* of its process, when it was born */
	bool is_used;
};

/* A process, in its window. */
struct tp_memproc {
	uint32_t window;
	bool is_open;
	uint64_t step;
	struct tp_memcount count;
};

struct tp_memcat {
	const struct tp_run *run;
	struct tp_memcat_reader {
		const struct tp_memcat_calls *calls;
		void *ctx;
	} *reader;
	uint32_t n_readers, cap_readers;
	struct tp_memplace *places;
	struct tp_origins *origins;
	struct tp_memcurve *curve;
	struct tp_memblock *block;		/* by tag; 0 is none */
	uint32_t n_blocks, cap_blocks, free_block;
	struct tp_memproc *proc;		/* by number */
	struct tp_membases bases;
	struct tp_memtake *take;
	struct tp_memops_each operators;
	struct tp_memcat_doubts doubts;
};

/* Tells the readers. */
void tp_memcat_live(struct tp_memcat *cat, const struct tp_event *event, uint32_t device, int64_t bytes);
void tp_memcat_life(struct tp_memcat *cat, const struct tp_life *life);

/* A block's place, by its tag; 0: out of memory. */
uint32_t tp_memcat_take(struct tp_memcat *cat);
/* Its life and place are known now. */
void tp_memcat_born(struct tp_memcat *cat, const struct tp_event *alloc, uint32_t tag);
/* The block is gone. death: where; NULL: nobody heard of its free. */
void tp_memcat_die(struct tp_memcat *cat, uint32_t tag, const struct tp_place *death, int64_t now);

/* A block that was there before, or one that the scan names. */
void tp_memcat_scanned(struct tp_memcat *cat, const struct tp_event *event);
/* A block from before that nobody named, of which its free tells the size. */
void tp_memcat_older(struct tp_memcat *cat, const struct tp_event *event, int64_t bytes);
/* So many bytes of such blocks, whose frees did not, are gone since the last step. */
void tp_memcat_freed_unsized(struct tp_memcat *cat, const struct tp_event *event, struct tp_membase *base,
			     int64_t bytes);
/* The window is over: what is alive, and what nobody named. */
void tp_memcat_end_window(struct tp_memcat *cat, uint32_t proc_at);

#endif

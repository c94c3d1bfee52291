/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns_heap.h - what both directions of the columns of host memory and stacks know of the
 * records before
 *
 * Private to columns_heap_encode.c and columns_heap_decode.c; specified in trainprof-trace(5),
 * "Columns of HEAP blocks". An allocator gives out again what was freed last of the same size;
 * a program goes the same ways again: after one stack comes the one that came after it last
 * time, with the same size; after one frame one of few. So most fields are a small number or
 * none.
 */
#ifndef TP_TRACE_COLUMNS_HEAP_H
#define TP_TRACE_COLUMNS_HEAP_H

#include "runtime/trace/columns_bits.h"

/* Which columns of tp_columns hold what here. */
enum {
	HEAP_RUNS = TP_COLUMN_RUNS,
	HEAP_OTHERS = TP_COLUMN_DEFINITIONS,
	HEAP_KIND = TP_COLUMN_FORM,
	HEAP_FRAMES = TP_COLUMN_FORM_HIGH,
	HEAP_GAP = TP_COLUMN_GAP,
	HEAP_SIZE = TP_COLUMN_SIZE,
	HEAP_LINK = TP_COLUMN_LINK,
	HEAP_ADDRESS = TP_COLUMN_ARG,
};

/* A byte of HEAP_KIND: one of these, and flags << 3. */
enum { HEAP_ALLOC = 0, HEAP_FREE = 1, HEAP_FRAME = 2, HEAP_OTHER = 3 };

enum {
	FLAGS_SHIFT = 3,
	FLAGS_MOST = 31,
	GAP_MOST = 251,		/* the largest class of a gap */
	GAP_ANY = 255,		/* instead of a class: any difference follows */
	FREED_WALK = 8,		/* freed addresses of one size that are looked at */
	WAYS = 4,		/* places that a place is known to lead to */

	LINK_TABLE = 4096,
	SIZE_TABLE = 1024,
	STACK_TABLE = TP_BLOCK_EVENTS_MAX,
	WAY_TABLE = 4096,
	SLOT_TABLE = 2 * TP_BLOCK_EVENTS_MAX,
};

/*
 * How an address is told that is given out. One that is given back: ADDRESS_ANY and _SIXTEENTH
 * likewise, against the last of these; else how many HEAPALLOCs ago it was given out, plus one.
 */
enum {
	ADDRESS_ANY = 0,	/* a difference follows */
	ADDRESS_SIXTEENTH = 1,	/* the difference is a multiple of 16 */
	ADDRESS_LAST = 2,	/* that of the HEAPFREE before */
	ADDRESS_FREED = 3,	/* and above: rank among the freed ones of its size */
};

/* Numbers of records are one more than they are in the block: 0 is none. */
struct heap_model {
	/* Empty at the start of a block: see heap_begin. */
	uint64_t len_of[LINK_TABLE];	     /* last len with a stack */
	uint32_t stack_after[LINK_TABLE];    /* which came after a stack */
	uint16_t way[WAY_TABLE][WAYS];	     /* places + 1 that came inside a place, newest first */
	uint16_t frame_at[STACK_TABLE];	     /* record of a stack's FRAME */
	uint16_t freed[SIZE_TABLE];	     /* newest record of a freed block of a size */
	uint64_t present;
	uint64_t fresh, freed_address;	     /* where the last block that was told as a difference
					      * ended; the last such that was freed */
	uint64_t last_arg[2];		     /* of new places: of native code, of Python */
	uint32_t last_name;
	uint32_t stack, last_frame, python;  /* last ones: of a HEAPALLOC, FRAME, with Python's */
	uint32_t n_allocs, n_places;
	uint16_t last_free, last_free_size;  /* the record, and where its size is in `freed` */
	bool is_after_frame;		     /* the record before is a FRAME */

	/* Written before they are read. */
	uint16_t older[TP_BLOCK_EVENTS_MAX];	/* of a freed record: the one before it */
	uint16_t alloc_at[TP_BLOCK_EVENTS_MAX];	/* records of HEAPALLOCs */
	uint16_t place_at[TP_BLOCK_EVENTS_MAX];	/* first records of places */
	uint16_t place_of[TP_BLOCK_EVENTS_MAX];	/* of FRAME records */
};

static inline void heap_begin(struct heap_model *m)
{
	memset(m, 0, offsetof(struct heap_model, older));
}

static inline uint32_t heap_link_slot(uint32_t link)
{
	return link * 0x9e3779b1u >> 20;
}

/* What glibc takes for a block, in units of 16 bytes: other allocators' sizes are coarser. */
static inline uint64_t heap_units(uint64_t len)
{
	uint64_t units = (len + 8 + 15) >> 4;

	return units < 2 ? 2 : units;
}

static inline uint16_t *heap_freed(struct heap_model *m, uint64_t len)
{
	return &m->freed[heap_units(len) % SIZE_TABLE];
}

static inline uint32_t heap_expected_stack(const struct heap_model *m)
{
	return m->is_after_frame ? m->last_frame : m->stack_after[heap_link_slot(m->stack)];
}

static inline void heap_note_stack(struct heap_model *m, uint32_t link)
{
	m->stack_after[heap_link_slot(m->stack)] = link;
	m->stack = link;
	m->is_after_frame = false;
}

/* What the record in `*at` freed is in use again. */
static inline void heap_take_freed(struct heap_model *m, uint16_t *at)
{
	*at = m->older[*at - 1];
}

/* The address of the HEAPFREE just before is given out again: a block that was resized. */
static inline void heap_take_last(struct heap_model *m)
{
	uint16_t *newest = &m->freed[m->last_free_size];

	if (m->last_free_size < SIZE_TABLE && *newest == m->last_free)
		heap_take_freed(m, newest);
}

static inline void heap_note_alloc(struct heap_model *m, uint32_t i)
{
	m->alloc_at[m->n_allocs++] = (uint16_t)i;
	m->last_free = 0;
}

/* Record i freed a block that the record at `alloc` gave out, or (NULL) one from before. */
static inline void heap_note_free(struct heap_model *m, uint32_t i, const struct tp_rec *alloc)
{
	m->is_after_frame = false;
	m->last_free = (uint16_t)(i + 1);
	m->last_free_size = SIZE_TABLE;
	if (alloc) {
		uint16_t *newest = heap_freed(m, tp_rec_len(alloc));

		m->older[i] = *newest;
		*newest = (uint16_t)(i + 1);
		m->last_free_size = (uint16_t)(newest - m->freed);
	}
}

/* The ways inside stack `outer`, by the place of its innermost frame. */
static inline uint16_t *heap_ways(struct heap_model *m, const struct tp_rec *rec, uint32_t outer)
{
	uint16_t at = m->frame_at[outer % STACK_TABLE];

	if (!outer || !at || rec[at - 1].link != outer)
		return m->way[0];
	return m->way[(1 + m->place_of[at - 1]) % WAY_TABLE];
}

/* Place `place` came by way `at` (WAYS: by none of them): it is the newest now. */
static inline void heap_note_way(uint16_t way[WAYS], unsigned at, uint32_t place)
{
	for (unsigned i = at < WAYS ? at : WAYS - 1; i > 0; i--)
		way[i] = way[i - 1];
	way[0] = (uint16_t)(place + 1);
}

static inline void heap_note_frame(struct heap_model *m, uint32_t i, const struct tp_rec *rec,
				   uint32_t place)
{
	m->place_of[i] = (uint16_t)place;
	m->frame_at[rec->link % STACK_TABLE] = (uint16_t)(i + 1);
	m->last_frame = rec->link;
	m->is_after_frame = true;
	if (rec->flags & TP_FRAME_JOINED)
		m->python = (uint32_t)rec->arg;
	else if (rec->flags & TP_FRAME_PYTHON)
		m->python = rec->link;
}

/* a - b, as a signed number of 32 bits that is sign-extended. */
static inline uint64_t heap_difference(uint32_t a, uint32_t b)
{
	return (uint64_t)(int64_t)(int32_t)(a - b);
}

#endif

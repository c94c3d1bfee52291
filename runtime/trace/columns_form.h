/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns_form.h - what the two directions of the column encoding share
 *
 * Private to columns_encode.c, columns_decode.c and columns_scratch.h. The encoding is specified in
 * trainprof-trace(5), "Columns"; the constants here are part of it.
 */
#ifndef TP_TRACE_COLUMNS_FORM_H
#define TP_TRACE_COLUMNS_FORM_H

#include "runtime/trace/columns_bits.h"

/* How a form's events give their fields. Two bits each, in one byte: time | len << 2 |
 * link << 4 | arg << 6. */
enum {
	TIME_POINT = 0, /* at or after the thread's present */
	TIME_SPAN = 1,	/* ends at or after it; has `inner` events inside */
	TIME_LOOSE = 2, /* anywhere; leaves the thread's present alone */
	TIME_LOOSE_SPAN = 3,

	LEN_CONST = 0 << 2,    /* as in the form; spans: as their time says */
	LEN_DELTA = 1 << 2,    /* against the form's last event */
	LEN_OF_ALLOC = 2 << 2, /* the one of the ALLOC whose address it is */

	LINK_CONST = 0 << 4,
	LINK_DELTA = 1 << 4, /* against the form's last event */
	LINK_LAST = 2 << 4,  /* against the last link of this sort in the block */

	ARG_CONST = 0 << 6,
	ARG_DELTA = 1 << 6, /* against the form's last event */
	ARG_ALLOC = 2 << 6, /* an address that becomes live */
	ARG_FREE = 3 << 6,  /* an address that was live */

	TIME_MASK = 3,
	LEN_MASK = 3 << 2,
	LINK_MASK = 3 << 4,
	ARG_MASK = 3 << 6,
};

static inline bool is_span_model(unsigned model)
{
	return model & 1;
}

/* What no writer of this version makes, and no reader may guess. */
static inline bool is_valid_model(unsigned model)
{
	if ((model & LEN_MASK) == LEN_MASK || (model & LINK_MASK) == LINK_MASK)
		return false;
	if ((model & LEN_MASK) == LEN_OF_ALLOC && (model & ARG_MASK) != ARG_FREE)
		return false;
	return !is_span_model(model) || (model & LEN_MASK) == LEN_CONST;
}

/* The constants of a form are those of its last event, so they need not be kept here. */
struct form {
	uint16_t last;		       /* number of its last event */
	uint16_t inner;		       /* of a span: entries of the stack that lie inside */
	uint8_t model;		       /* TIME_* | LEN_* | LINK_* | ARG_* */
	uint8_t gap_class, size_class; /* what the next event's are compared with */
	uint8_t reserved;
};

/* Begin times of what is complete on a thread but not yet inside a span that ended. Only
 * the newest are kept: a loop without an outer span would pile them up. */
enum { STACK_N = 256 };
struct stack {
	uint64_t begin[STACK_N]; /* a ring; `top` runs freely */
	unsigned top, n;
};

static inline void push_begin(struct stack *stack, uint64_t begin)
{
	stack->begin[stack->top++ % STACK_N] = begin;
	if (stack->n < STACK_N)
		stack->n++;
}

/*
 * Addresses by recency, newest at the end. Memory is mostly freed in the opposite order of
 * its allocation and allocated again where it was freed: a small rank says which.
 */
enum { RECENT_N = 128 };
struct recent {
	uint64_t address[2 * RECENT_N];
	uint64_t len[2 * RECENT_N];
	unsigned n;
};

static inline void add_recent(struct recent *recent, uint64_t address, uint64_t len)
{
	if (recent->n == 2 * RECENT_N) {
		memmove(recent->address, recent->address + RECENT_N, RECENT_N * 8);
		memmove(recent->len, recent->len + RECENT_N, RECENT_N * 8);
		recent->n = RECENT_N;
	}
	recent->address[recent->n] = address;
	recent->len[recent->n++] = len;
}

static inline void remove_recent(struct recent *recent, unsigned at)
{
	unsigned behind = recent->n - at - 1;

	/* Mostly there is none or one. */
	for (unsigned i = 0; i < behind; i++) {
		recent->address[at + i] = recent->address[at + i + 1];
		recent->len[at + i] = recent->len[at + i + 1];
	}
	recent->n--;
}

enum {
	FORM_TABLE_N = 2 * TP_BLOCK_EVENTS_MAX,
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pystack_names.h - function, file and line of a frame, from its code object
 *
 * Reads memory of the interpreter; the code object is alive because a frame runs it. Nothing is
 * allocated. Each thread has a memory of its own of what it asked for before, which holds until a
 * code object that was named dies (pystack_deaths.h): then its address may come to be another's.
 */
#ifndef TP_PROBE_PYSTACK_NAMES_H
#define TP_PROBE_PYSTACK_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/sync.h"
#include "runtime/probe/python/pyframe_layout.h"
#include "runtime/probe/python/pystack_pages.h"

enum { TP_PYSTACK_PLACES = 2048 };

/* What is told of a frame. */
struct tp_pystack_name {
	uint32_t string;	/* interned, PYFRAME; 0: the table of names is full */
	uint32_t line;		/* 0: not known */
};

/* An instruction that was met: a cache line. */
struct tp_pystack_place {
	const char *code, *at;		/* code NULL: empty */
	/* While the thread's stamp is this one (0: it is none), the stack with it has this number in
	 * that outer stack, with these flags. */
	uint64_t stamp;
	uint32_t outer, flags, number;
	uint32_t n_deaths;		/* of codes, when it was read; others: it may be another's */
	struct tp_pystack_name name;
} __attribute__((aligned(TP_CACHE_LINE)));

/* All zero at first, and when strings begin anew. */
struct tp_pystack_names {
	struct tp_pystack_place place[TP_PYSTACK_PLACES];
	struct tp_pystack_pages pages;
};

/* Where an instruction is remembered, or another of the same hash. */
static inline struct tp_pystack_place *tp_pystack_place(struct tp_pystack_names *names,
							const char *code, const char *at)
{
	uint64_t hash = ((uintptr_t)code ^ (uintptr_t)at << 20) * 0xff51afd7ed558ccdull;

	return &names->place[hash >> 40 & (TP_PYSTACK_PLACES - 1)];
}

enum tp_pystack_named {
	TP_PYSTACK_NAMED,
	TP_PYSTACK_HIDDEN,	/* a helper of the interpreter, without a name */
	TP_PYSTACK_BROKEN,	/* that is no code object */
};

/* Where a code object has it. */
static inline uint32_t tp_pystack_name_at(const struct tp_pyframe_layout *layout)
{
	bool has_qualified = layout->qualified_name != TP_PYFRAME_NONE;

	return has_qualified ? layout->qualified_name : layout->name;
}

static inline uint32_t tp_pystack_first_line(const struct tp_pyframe_layout *layout,
					     const char *code)
{
	uint32_t line;

	memcpy(&line, code + layout->first_line, sizeof(line));
	return line;
}

/* Cold side of the next: first met there, or a code has died since. */
TP_COLD struct tp_pystack_place *tp_pystack_meet(const struct tp_pyframe_layout *layout,
						 struct tp_pystack_names *names, uint32_t n_deaths,
						 const char *code, const char *at,
						 enum tp_pystack_named *named);

/* Where the name of a frame that runs this is, until the next call; NULL: BROKEN, or HIDDEN.
 * *named: which. So many codes have died. */
static inline struct tp_pystack_place *
tp_pystack_name(const struct tp_pyframe_layout *layout, struct tp_pystack_names *names,
		uint32_t n_deaths, const char *code, const char *at, enum tp_pystack_named *named)
{
	struct tp_pystack_place *place = tp_pystack_place(names, code, at);

	if (tp_unlikely(place->code != code || place->at != at || place->n_deaths != n_deaths))
		return tp_pystack_meet(layout, names, n_deaths, code, at, named);
	*named = TP_PYSTACK_NAMED;
	return place;
}

/* The line of any byte of the code, for checks, too. */
uint32_t tp_pystack_line_of(const struct tp_pyframe_layout *layout, struct tp_pystack_pages *pages,
			    const char *code, int64_t byte);
/* Which byte of its code a frame's instruction is. */
int64_t tp_pystack_byte_of(const struct tp_pyframe_layout *layout, const char *code,
			   const char *at);
/*
 * A Python string as UTF-8, cut after a whole character where `cap` ends; what is no character
 * becomes U+FFFD. Bytes; no terminator. -1: that is no string of a kind that is known.
 */
int32_t tp_pystack_utf8(const struct tp_pyframe_layout *layout, struct tp_pystack_pages *pages,
			const char *string, char *out, uint32_t cap);

#endif

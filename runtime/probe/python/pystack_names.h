/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pystack_names.h - function, file and line of a frame, from its code object
 *
 * Reads memory of the interpreter; the code object is alive because a frame runs it. Nothing is
 * allocated. Each thread has a memory of its own of what it asked for before.
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
	uint64_t mark;		/* of its code */
	uint32_t first_line;	/* of its code */
	uint32_t digest;	/* of what name and file say */
	uint32_t string;	/* interned, PYFRAME; 0: the table of names is full */
	uint32_t line;		/* 0: not known */
};

/* An instruction that was met: a cache line. */
struct tp_pystack_place {
	const char *code, *at;		/* code NULL: empty */
	struct tp_pystack_name name;
	uint32_t turn;			/* of the pages, in which code and strings were readable; 0: none */
	/* In that turn the stack with it had this number (0: not yet) in that outer stack, with these
	 * flags. */
	uint32_t number, outer;
	uint8_t flags;
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

/*
 * What a code object holds, in a word: another one may come to stand at the same address. Large
 * factors: pools give addresses that differ by small multiples of a block, and so do small sums of
 * them (3.14, blocks of 48 and 80 bytes).
 */
static inline uint64_t tp_pystack_mark_by(const char *code, uint32_t name, uint32_t file,
					  uint32_t lines)
{
	return (uintptr_t)tp_pyframe_ptr(code, name) +
	       0x9e3779b97f4a7c15u * (uintptr_t)tp_pyframe_ptr(code, file) +
	       0xff51afd7ed558ccdu * (uintptr_t)tp_pyframe_ptr(code, lines);
}

static inline uint32_t tp_pystack_first_line(const struct tp_pyframe_layout *layout,
					     const char *code)
{
	uint32_t line;

	memcpy(&line, code + layout->first_line, sizeof(line));
	return line;
}

/* Where the name of a frame that runs this is, until the next call; NULL: BROKEN, or HIDDEN.
 * *named: which. */
struct tp_pystack_place *tp_pystack_name(const struct tp_pyframe_layout *layout,
					 struct tp_pystack_names *names, const char *code,
					 const char *at, enum tp_pystack_named *named);

/* Is this place, and what was named there, still of a code that begins on the same line? */
static inline bool tp_pystack_is_at_home(const struct tp_pyframe_layout *layout,
					 struct tp_pystack_names *names, const char *code,
					 const char *at)
{
	const struct tp_pystack_place *place = tp_pystack_place(names, code, at);

	return place->code == code && place->at == at &&
	       place->name.first_line == tp_pystack_first_line(layout, code);
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

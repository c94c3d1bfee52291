/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pystack_lines.c - the line of an instruction, from a code object's table
 *
 * Three formats, each as the interpreter of its time reads it (Objects/lnotab_notes.txt,
 * InternalDocs/code_objects.md). A table says how far to go in code and in lines, so it is read
 * from its start; one of a long function has a few thousand bytes.
 */
#include "runtime/probe/python/pystack_lines.h"

#include <stdbool.h>

enum {
	MOST_LINE = (1 << 27) - 1,	/* what a number of stack_tree.h can hold */
	NO_LINE = -128,			/* 3.10: this range has none */
	ENTRY_BEGIN = 0x80,		/* 3.11: the only bytes of an entry with this bit */
	MORE = 0x40,
	/* Kinds of an entry; the ones between are SHORT, of the same line. */
	ONE_LINE_0 = 10, ONE_LINE_2 = 12, NO_COLUMNS = 13, LONG = 14, NOTHING = 15,
};

static uint32_t as_line(int64_t line)
{
	return line > 0 && line <= MOST_LINE ? (uint32_t)line : 0;
}

/* 3.9: (bytes of code, lines) each; a line begins where its bytes have passed. */
static uint32_t find_in_pairs(const uint8_t *table, size_t n, int64_t line, int64_t at)
{
	int64_t begin = 0;

	for (size_t i = 0; i + 1 < n; i += 2) {
		begin += table[i];
		if (begin > at)
			break;
		line += (int8_t)table[i + 1];
	}
	return as_line(line);
}

/* 3.10: (bytes of code, lines before them) each. */
static uint32_t find_in_ranges(const uint8_t *table, size_t n, int64_t line, int64_t at)
{
	int64_t end = 0;

	for (size_t i = 0; i + 1 < n; i += 2) {
		int8_t lines = (int8_t)table[i + 1];

		if (lines != NO_LINE)
			line += lines;
		end += table[i];
		if (end > at)
			return lines == NO_LINE ? 0 : as_line(line);
	}
	return 0;
}

/* Six bits a byte, least first, the sign in the lowest bit. */
static int64_t get_signed(const uint8_t *p, const uint8_t *end)
{
	uint64_t value = 0;
	unsigned shift = 0;

	for (; p < end && shift < 36; p++, shift += 6) {
		value |= (uint64_t)(*p & (MORE - 1)) << shift;
		if (!(*p & MORE))
			break;
	}
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* 3.11: a byte (kind, instructions - 1), then what the kind wants. */
static uint32_t find_in_locations(const uint8_t *table, size_t n, int64_t line, int64_t at)
{
	const uint8_t *p = table, *end = table + n;
	int64_t code_end = 0;

	while (p < end) {
		unsigned kind = *p >> 3 & 15;

		code_end += 2 * ((*p & 7) + 1);
		p++;
		if (kind == NO_COLUMNS || kind == LONG)
			line += get_signed(p, end);
		else if (kind >= ONE_LINE_0 && kind <= ONE_LINE_2)
			line += (int64_t)kind - ONE_LINE_0;
		if (code_end > at)
			return kind == NOTHING ? 0 : as_line(line);
		while (p < end && !(*p & ENTRY_BEGIN))
			p++;
	}
	return 0;
}

uint32_t tp_pystack_line(enum tp_pylines kind, const uint8_t *table, size_t n, int32_t first,
			 int64_t at)
{
	if (at < 0)
		return as_line(first);
	switch (kind) {
	case TP_PYLINES_PAIRS:
		return find_in_pairs(table, n, first, at);
	case TP_PYLINES_RANGES:
		return find_in_ranges(table, n, first, at);
	case TP_PYLINES_LOCATIONS:
		return find_in_locations(table, n, first, at);
	}
	return 0;
}

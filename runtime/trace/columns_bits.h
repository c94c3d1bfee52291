/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns_bits.h - a payload's columns, and numbers in them: both directions
 *
 * Private to the columns_*.c files. What is written here is specified in trainprof-trace(5),
 * "Columns"; the constants are part of it.
 */
#ifndef TP_TRACE_COLUMNS_BITS_H
#define TP_TRACE_COLUMNS_BITS_H

#include <stdbool.h>
#include <string.h>

#include "runtime/base/varint.h"
#include "runtime/trace/columns.h"

enum {
	/* Behind the bits, so that 8 bytes can always be read at once. */
	BITS_SLACK = 8,
	HEAD_BYTES = 4 * TP_COLUMN_N,
	RUN_BYTES_MAX = 3 + 3 + 10,
	/* A form, or a record of a HEAP block in full. */
	DEFINITION_BYTES_MAX = 3 + 3 + 5 + 7 + 5 + 10,
	/* Five numbers at most: gap, size, link, length or rank, address. */
	EVENT_BITS_MAX = 5 * 62,
	/* Their classes, a byte each, and what stands in their place: of a FRAME in a HEAP block ten. */
	EVENT_BYTES_MAX = RUN_BYTES_MAX + DEFINITION_BYTES_MAX + 10 + (EVENT_BITS_MAX + 7) / 8,
};

/*
 * A number is a class and a few plain bits. Below 16 the class is the number. Above, there
 * are four classes to each power of two: with floor(log2) and the two bits after the first
 * one in the class, the bits that remain are as good as random.
 */
enum { CLASS_PLAIN = 16 };

static inline unsigned class_bits(unsigned class)
{
	return class < CLASS_PLAIN ? 0 : 2 + ((class - CLASS_PLAIN) >> 2);
}

static inline unsigned class_of(uint64_t v)
{
	unsigned e;

	if (v < CLASS_PLAIN)
		return (unsigned)v;
	e = 63 - (unsigned)__builtin_clzll(v);
	return CLASS_PLAIN + (e - 4) * 4 + ((unsigned)(v >> (e - 2)) & 3);
}

/* The number of this class whose plain bits are all zero. */
static inline uint64_t class_base(unsigned class)
{
	return class < CLASS_PLAIN
		   ? class
		   : (uint64_t)(4 + ((class - CLASS_PLAIN) & 3)) << class_bits(class);
}

static inline uint64_t zigzag(uint64_t v)
{
	return v << 1 ^ -(v >> 63);
}

static inline uint64_t unzigzag(uint64_t v)
{
	return v >> 1 ^ -(v & 1);
}

/* ---- writing ---- */

struct output {
	uint8_t *start[TP_COLUMN_N], *at[TP_COLUMN_N];
	uint64_t bits; /* not yet written, fewer than 8 */
	unsigned n_bits;
};

/* n <= 56 */
static inline void put_some_bits(struct output *out, uint64_t v, unsigned n)
{
	out->bits |= v << out->n_bits;
	out->n_bits += n;
	memcpy(out->at[TP_COLUMN_BITS], &out->bits, 8);
	out->at[TP_COLUMN_BITS] += out->n_bits >> 3;
	out->bits >>= out->n_bits & ~7u;
	out->n_bits &= 7;
}

static inline void put_bits(struct output *out, uint64_t v, unsigned n)
{
	if (__builtin_expect(n > 56, 0)) {
		put_some_bits(out, v & 0xffffffff, 32);
		v >>= 32;
		n -= 32;
	}
	put_some_bits(out, v, n);
}

static inline void put_number(struct output *out, unsigned column, uint64_t v)
{
	unsigned class = class_of(v);

	*out->at[column]++ = (uint8_t) class;
	put_bits(out, v - class_base(class), class_bits(class));
}

/* The same, with the class told as its difference from `*near`, which follows it. */
static inline void put_near(struct output *out, unsigned column, uint64_t v,
			    uint8_t *near)
{
	unsigned class = class_of(v);

	*out->at[column]++ = (uint8_t)(class - *near);
	*near = (uint8_t) class;
	put_bits(out, v - class_base(class), class_bits(class));
}

/* Room for each column at its most, one behind the other; they are pushed together at the
 * end. */
static inline void place_columns(struct output *out, uint8_t *p, uint32_t n_events,
				 const uint8_t bytes_max[TP_COLUMN_N])
{
	p += HEAD_BYTES;
	for (int i = 0; i < TP_COLUMN_N; i++) {
		out->start[i] = out->at[i] = p;
		p += (size_t)n_events * bytes_max[i];
	}
	out->bits = 0;
	out->n_bits = 0;
}

static inline size_t join_columns(struct output *out, uint8_t *payload,
			   uint32_t part_bytes[TP_COLUMN_N])
{
	uint8_t *p = payload + HEAD_BYTES;

	for (int i = 0; i < TP_COLUMN_N; i++) {
		uint32_t n = (uint32_t)(out->at[i] - out->start[i]);

		memmove(p, out->start[i], n);
		memcpy(payload + 4 * i, &n, 4);
		p += n;
		if (part_bytes)
			part_bytes[i] = n + (i ? 0 : HEAD_BYTES);
	}
	return (size_t)(p - payload);
}

/* What ends the bits; after it columns may be joined. */
static inline void end_bits(struct output *out)
{
	put_some_bits(out, 0, 7);
	memset(out->at[TP_COLUMN_BITS], 0, BITS_SLACK);
	out->at[TP_COLUMN_BITS] += BITS_SLACK;
}

/*
 * ---- reading ----
 *
 * The bytes come from a file and may be anything. Each read is checked against the end of
 * its column; a read past it gives 0 and marks the input bad.
 */

struct input {
	const uint8_t *at[TP_COLUMN_N], *end[TP_COLUMN_N];
	uint64_t bit; /* position in the bits */
	uint64_t bits_end;
	bool is_bad;
};

static inline uint8_t get_byte(struct input *in, unsigned column)
{
	if (__builtin_expect(in->at[column] == in->end[column], 0)) {
		in->is_bad = true;
		return 0;
	}
	return *in->at[column]++;
}

static inline uint64_t get_varint(struct input *in, unsigned column)
{
	uint64_t v = 0;

	for (int shift = 0; shift < 64; shift += 7) {
		uint8_t byte = get_byte(in, column);

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
	}
	in->is_bad = true;
	return 0;
}

/* n <= 56 */
static inline uint64_t get_some_bits(struct input *in, unsigned n)
{
	uint64_t word;

	/* The slack behind the bits makes 8 bytes readable at every position up to the end.
	 */
	if (__builtin_expect(in->bit + n > in->bits_end, 0)) {
		in->is_bad = true;
		return 0;
	}
	memcpy(&word, in->at[TP_COLUMN_BITS] + (in->bit >> 3), 8);
	word >>= in->bit & 7;
	in->bit += n;
	return word & (((uint64_t)1 << n) - 1);
}

static inline uint64_t get_of_class(struct input *in, unsigned class)
{
	unsigned n = class_bits(class);
	uint64_t v = class_base(class), low;

	if (__builtin_expect(n > 56, 0)) {
		low = get_some_bits(in, 32);
		return v + (low | get_some_bits(in, n - 32) << 32);
	}
	return v + get_some_bits(in, n);
}

static inline uint64_t get_number(struct input *in, unsigned column)
{
	return get_of_class(in, get_byte(in, column));
}

static inline uint64_t get_near(struct input *in, unsigned column, uint8_t *near)
{
	*near = (uint8_t)(*near + get_byte(in, column));
	return get_of_class(in, *near);
}

/* The table of lengths, and from it where each column is. False: they do not fill the
 * input. */
static inline bool find_columns(struct input *in, const uint8_t *payload, size_t n_bytes)
{
	const uint8_t *p = payload + HEAD_BYTES;
	size_t left;

	if (n_bytes < HEAD_BYTES + BITS_SLACK)
		return false;
	left = n_bytes - HEAD_BYTES;
	for (int i = 0; i < TP_COLUMN_N; i++) {
		uint32_t n;

		memcpy(&n, payload + 4 * i, 4);
		if (n > left)
			return false;
		in->at[i] = p;
		in->end[i] = p += n;
		left -= n;
	}
	if (left || in->end[TP_COLUMN_BITS] - in->at[TP_COLUMN_BITS] < BITS_SLACK)
		return false;
	in->bit = 0;
	in->bits_end =
	    8 * (uint64_t)(in->end[TP_COLUMN_BITS] - in->at[TP_COLUMN_BITS] - BITS_SLACK);
	in->is_bad = false;
	return true;
}

/* Whether nothing is left over in any column: then the events are all there is. */
static inline bool is_used_up(const struct input *in)
{
	for (int i = 0; i < TP_COLUMN_BITS; i++) {
		if (in->at[i] != in->end[i])
			return false;
	}
	return in->bits_end - in->bit < 8;
}

#endif

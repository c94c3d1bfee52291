/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_text.h - strings of Python, copied from outside
 *
 * One thread at a time uses it: the drain thread.
 */
#ifndef TP_PROBE_PYSAMPLE_TEXT_H
#define TP_PROBE_PYSAMPLE_TEXT_H

#include <stdbool.h>
#include <stdint.h>

struct tp_pyframe_layout;

/* Where a string was, and what it said. */
struct tp_pysample_text {
	const char *string;
	uint64_t digest;
	uint32_t bytes;		/* of the object; 0: none was read */
};

/* With the interpreter's lock held, once. NULL, or why not. */
const char *tp_pysample_text_init(const struct tp_pyframe_layout *layout);

/* The string's bytes as UTF-8, cap at most; -1: that is no string. */
int32_t tp_pysample_text_read(const char *string, char *out, uint32_t cap, struct tp_pysample_text *text);

enum { TP_PYSAMPLE_TEXTS = 2 };

/* Do both still say the same? In one call of the kernel, with n bytes at `from` into `to`. */
bool tp_pysample_text_is(const struct tp_pysample_text text[TP_PYSAMPLE_TEXTS], const char *from, char *to,
			 uint32_t n);

#endif

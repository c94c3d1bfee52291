/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8.h - characters and their width on a terminal, without asking the C library's locale
 *
 * A container's locale is often "C" while the terminal in front of the user shows UTF-8, so
 * the width comes from a small table of our own.
 */
#ifndef TP_MERGE_UTF8_H
#define TP_MERGE_UTF8_H

#include <stdint.h>

/* The character at `at` (of n > 0 bytes); its length in bytes goes to *len. Bytes that are no
 * valid UTF-8 give 0xfffd and *len = 1. */
uint32_t tp_utf8_next(const char *at, uint32_t n, uint32_t *len);

/* Columns of one character: 0 (combining), 1 or 2. */
uint32_t tp_utf8_columns(uint32_t c);

/* Columns of n bytes of printable text. */
uint32_t tp_utf8_width(const char *text, uint32_t n);

/* Bytes of the longest beginning (or end) of n bytes that fits `columns`. */
uint32_t tp_utf8_head(const char *text, uint32_t n, uint32_t columns);
uint32_t tp_utf8_tail(const char *text, uint32_t n, uint32_t columns);

/* True for characters that could break a line, move the cursor or hide: controls, marks of
 * writing direction, invisible spaces. */
int tp_utf8_is_unsafe(uint32_t c);

#endif

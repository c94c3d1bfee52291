/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - text that a process writes about itself when something is wrong: lines "key: value"
 *
 * A first line that says what it is, the lines, an empty line, then what is for people only.
 * Pure functions, no allocation; threads: any. What is read is not trusted.
 */
#ifndef TP_TRACE_REPORT_H
#define TP_TRACE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/text.h"

enum { TP_REPORT_HEAD_MAX = 8192 };	/* bytes of the lines above the empty one */

enum tp_report_kind { TP_REPORT_U64, TP_REPORT_U32, TP_REPORT_I32, TP_REPORT_HEX, TP_REPORT_TEXT };

/* Where a key's value goes: `at` bytes into a struct; TEXT: `cap` bytes there. */
struct tp_report_key {
	const char *key;
	enum tp_report_kind kind;
	size_t at, cap;
};

/* Appends a line; a value ends with its line, whatever a name of the program has in it. "": none. */
void tp_report_put(struct tp_text *out, const char *key, const char *value);
/* A line for each key, in their order. */
void tp_report_put_all(struct tp_text *out, const struct tp_report_key *keys, uint32_t n_keys,
		       const void *from);

/* "17.3 GiB" */
void tp_report_put_bytes(struct tp_text *out, uint64_t bytes);

/* Digits at *at, which moves behind them. */
uint64_t tp_report_number(const char **at, const char *end, uint32_t base);
void tp_report_text(const char *at, const char *end, char *out, size_t cap);

/* A line whose key the table does not have. False: the value makes no sense. */
typedef bool (*tp_report_other_fn)(void *into, const char *key, size_t n_key, const char *at,
				   const char *end);
/* Of n bytes. False: that is no such report, or it is cut. `other` may be NULL: such keys are of a
 * newer build. */
bool tp_report_parse(const char *text, size_t n, const char *first_line, const struct tp_report_key *keys,
		     uint32_t n_keys, tp_report_other_fn other, void *into);

#endif

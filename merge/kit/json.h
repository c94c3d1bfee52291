/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - numbers and strings as JSON, fast: a trace has hundreds of millions of them
 *
 * Each function writes at p and returns what follows; the caller has made room (the largest
 * length is said). Nothing depends on the locale.
 */
#ifndef TP_MERGE_JSON_H
#define TP_MERGE_JSON_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* "literal" only. */
#define tp_json_lit(p, literal)                                                            \
	((char *)memcpy(p, literal, sizeof(literal) - 1) + (sizeof(literal) - 1))

char *tp_json_u64(char *p, uint64_t v);		/* 20 bytes */
char *tp_json_i64(char *p, int64_t v);		/* 20 bytes */
/* ns as microseconds with three decimals: 24 bytes. */
char *tp_json_us(char *p, int64_t ns);
/* The shortest that reads back the same of up to 17 digits; what is no number: 0. 32 bytes. */
char *tp_json_double(char *p, double v);

/* Not negative, with six decimals; far quicker than the one above. 28 bytes. */
char *tp_json_fixed(char *p, double v);

/*
 * Contents of a JSON string, without the quotes: valid UTF-8 whatever comes in (bad bytes
 * become U+FFFD), control characters, quotes and backslashes escaped. At most 6 * n bytes.
 */
char *tp_json_text(char *p, const char *bytes, size_t n);

#endif

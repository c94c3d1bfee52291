/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html.h - JSON inside an HTML page: whatever a trace says, it stays a string
 *
 * Written into <script type="application/json">, whose end a browser looks for in the raw text: so
 * '<', '>', '&' and the two line separators that JavaScript has beyond JSON are written as
 * escapes. Strings become valid UTF-8 that is printable, and are cut to a length that people may
 * still want to read. Commas are put where they belong.
 */
#ifndef TP_MERGE_HTML_H
#define TP_MERGE_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/kit/outfile.h"

enum { TP_HTML_TEXT_MAX = 1000 };	/* bytes of a string */

struct tp_html {
	struct tp_outfile *out;
	bool has_value;		/* the list or object that is open has one */
};

void tp_html_raw(struct tp_html *html, const char *text);
/* <script type="application/json" id="ID"> and its end. */
void tp_html_begin(struct tp_html *html, const char *id);
void tp_html_end(struct tp_html *html);

/* key: NULL in lists; ours, never a trace's. */
void tp_html_open(struct tp_html *html, const char *key, char bracket);	/* '[' or '{' */
void tp_html_close(struct tp_html *html, char bracket);			/* ']' or '}' */
void tp_html_integer(struct tp_html *html, const char *key, int64_t value);
void tp_html_real(struct tp_html *html, const char *key, double value);	/* nine digits */
void tp_html_null(struct tp_html *html, const char *key);
void tp_html_text(struct tp_html *html, const char *key, const char *text);
void tp_html_bytes(struct tp_html *html, const char *key, const char *bytes, size_t n);
/* Binary data, whole, as a string. */
void tp_html_base64(struct tp_html *html, const char *key, const uint8_t *bytes, size_t n);

#endif

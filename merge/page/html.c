/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html.c - JSON inside an HTML page
 */
#include "merge/page/html.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "merge/kit/json.h"
#include "merge/model/table.h"

void tp_html_raw(struct tp_html *html, const char *text)
{
	tp_outfile_bytes(html->out, text, strlen(text));
}

void tp_html_begin(struct tp_html *html, const char *id)
{
	tp_html_raw(html, "<script type=\"application/json\" id=\"");
	tp_html_raw(html, id);
	tp_html_raw(html, "\">");
	html->has_value = false;
}

void tp_html_end(struct tp_html *html)
{
	tp_html_raw(html, "</script>\n");
}

/* What stands before a value: a comma, its key. */
static void begin_value(struct tp_html *html, const char *key)
{
	if (html->has_value)
		tp_html_raw(html, ",");
	html->has_value = true;
	if (!key)
		return;
	tp_html_raw(html, "\"");
	tp_html_raw(html, key);
	tp_html_raw(html, "\":");
}

void tp_html_open(struct tp_html *html, const char *key, char bracket)
{
	begin_value(html, key);
	tp_outfile_bytes(html->out, &bracket, 1);
	html->has_value = false;
}

void tp_html_close(struct tp_html *html, char bracket)
{
	tp_outfile_bytes(html->out, &bracket, 1);
	html->has_value = true;
}

void tp_html_integer(struct tp_html *html, const char *key, int64_t value)
{
	begin_value(html, key);
	html->out->at = tp_json_i64(tp_outfile_room(html->out, 24), value);
}

void tp_html_real(struct tp_html *html, const char *key, double value)
{
	char text[32];

	if (!isfinite(value)) {
		tp_html_null(html, key);
		return;
	}
	begin_value(html, key);
	snprintf(text, sizeof(text), "%.9g", value);
	tp_html_raw(html, text);
}

void tp_html_null(struct tp_html *html, const char *key)
{
	begin_value(html, key);
	tp_html_raw(html, "null");
}

/* What could end the script, or a line of it. */
static char *put_safe(char *p, const char *json, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (json[i] == '<')
			p = tp_json_lit(p, "\\u003c");
		else if (json[i] == '>')
			p = tp_json_lit(p, "\\u003e");
		else if (json[i] == '&')
			p = tp_json_lit(p, "\\u0026");
		else if (i + 2 < n && !memcmp(json + i, "\xe2\x80\xa8", 3))
			p = tp_json_lit(p, "\\u2028"), i += 2;
		else if (i + 2 < n && !memcmp(json + i, "\xe2\x80\xa9", 3))
			p = tp_json_lit(p, "\\u2029"), i += 2;
		else
			*p++ = json[i];
	}
	return p;
}

void tp_html_bytes(struct tp_html *html, const char *key, const char *bytes, size_t n)
{
	static const char more[] = "\xe2\x80\xa6";
	/* A byte becomes at most four printable ones; one of those at most six. */
	char shown[4 * TP_HTML_TEXT_MAX + sizeof(more)], json[2 * sizeof(shown)], *end;
	bool is_cut = n > TP_HTML_TEXT_MAX;
	char *p;

	if (is_cut)
		n = TP_HTML_TEXT_MAX;
	/* Not in the middle of a character. */
	while (is_cut && n && ((unsigned char)bytes[n] & 0xc0) == 0x80)
		n--;
	tp_show_text(shown, 4 * TP_HTML_TEXT_MAX + 1, bytes, (uint32_t)n);
	if (is_cut)
		strcat(shown, more);
	/* Printable: quotes and backslashes are all that JSON doubles. */
	end = tp_json_text(json, shown, strlen(shown));
	begin_value(html, key);
	p = tp_outfile_room(html->out, TP_OUTFILE_ROOM);
	*p++ = '"';
	for (const char *at = json; at < end;) {
		size_t some = (size_t)(end - at) < TP_OUTFILE_ROOM / 8 ? (size_t)(end - at)
								     : TP_OUTFILE_ROOM / 8;

		/* A part must not end inside a character that is to be escaped. */
		while (at + some < end && ((unsigned char)at[some] & 0xc0) == 0x80)
			some--;
		p = put_safe(p, at, some);
		at += some;
		html->out->at = p;
		p = tp_outfile_room(html->out, TP_OUTFILE_ROOM);
	}
	*p++ = '"';
	html->out->at = p;
}

void tp_html_text(struct tp_html *html, const char *key, const char *text)
{
	tp_html_bytes(html, key, text ? text : "", text ? strlen(text) : 0);
}

void tp_html_base64(struct tp_html *html, const char *key, const uint8_t *bytes, size_t n)
{
	static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	begin_value(html, key);
	tp_html_raw(html, "\"");
	for (size_t i = 0; i < n; i += 3) {
		char *p = tp_outfile_room(html->out, 4);
		uint32_t bits = (uint32_t)bytes[i] << 16 |
				(i + 1 < n ? (uint32_t)bytes[i + 1] << 8 : 0) |
				(i + 2 < n ? bytes[i + 2] : 0);

		p[0] = digit[bits >> 18];
		p[1] = digit[bits >> 12 & 63];
		p[2] = i + 1 < n ? digit[bits >> 6 & 63] : '=';
		p[3] = i + 2 < n ? digit[bits & 63] : '=';
		html->out->at = p + 4;
	}
	tp_html_raw(html, "\"");
}

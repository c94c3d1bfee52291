/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html_plain.h - the views as plain tables, for where the page's script does not run
 *
 * The first rows of each table, behind the script, which takes them away: a <noscript> element would not
 * be shown where a site's policy forbids the script. Everything is text: whatever a trace says is
 * escaped. Kept in memory until the page is written, some 100 bytes a cell.
 */
#ifndef TP_MERGE_HTML_PLAIN_H
#define TP_MERGE_HTML_PLAIN_H

#include "merge/model/table.h"
#include "merge/page/html.h"

struct tp_html_plain;

/* NULL: out of memory; the others do nothing then. */
struct tp_html_plain *tp_html_plain_new(void);
void tp_html_plain_view(struct tp_html_plain *plain, const char *title);
/* As the functions of struct tp_out_to. */
void tp_html_plain_text(struct tp_html_plain *plain, char kind, const char *label,
			const char *text);
void tp_html_plain_table(struct tp_html_plain *plain, const struct tp_table *table);
/* Writes all of it, and frees it. */
void tp_html_plain_put(struct tp_html_plain *plain, struct tp_html *html);

#endif

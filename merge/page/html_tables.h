/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html_tables.h - what views print, as JSON of the page
 *
 * A view is a list of blocks in the order it printed them: titles, lines, items, tables. Figures
 * stay figures, with the unit of their column, so that the page sorts and draws them and shows
 * them as the text does.
 */
#ifndef TP_MERGE_HTML_TABLES_H
#define TP_MERGE_HTML_TABLES_H

#include "merge/model/table.h"
#include "merge/page/html.h"
#include "merge/page/html_plain.h"

/* Where a view prints; plain: the page without its script gets the same (NULL: not). */
struct tp_html_tables {
	struct tp_html *html;
	struct tp_html_plain *plain;
	struct tp_out out;
	struct tp_out_to to;
};

/* Returns tables->out, which prints into `html`, where a list is open. sort: --sort, or NULL. */
struct tp_out *tp_html_tables(struct tp_html_tables *tables, struct tp_html *html,
			      struct tp_html_plain *plain, const char *sort);

#endif

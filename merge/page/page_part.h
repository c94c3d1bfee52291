/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_part.h - what the page draws beyond the views' tables: one table of functions per chart
 *
 * What a part keeps is a fact, aggregates that do not grow with the events: a page must open in a
 * moment, and be sent by mail.
 */
#ifndef TP_MERGE_PAGE_PART_H
#define TP_MERGE_PAGE_PART_H

#include "merge/model/fact.h"
#include "merge/page/html.h"

struct tp_page_part {
	const char *id;		/* of its script; page_data in page.js knows it */
	const struct tp_fact *fact;	/* without parameters */
	/*
	 * Its values, in an object that is open, from the state of that fact, which is final.
	 * Returns whether there is anything to see: the page then has a tab for it, without reading it.
	 */
	bool (*write)(void *state, const struct tp_run *run, struct tp_html *html);
};

extern const struct tp_page_part tp_page_steps, tp_page_curves, tp_page_flame, tp_page_stacks,
	tp_page_timeline;

#endif

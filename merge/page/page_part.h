/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_part.h - what the page draws beyond the views' tables: one table of functions per chart
 *
 * Parts see the same events in the same pass as views and keep aggregates that do not grow with
 * the events: a page must open in a moment, and be sent by mail.
 */
#ifndef TP_MERGE_PAGE_PART_H
#define TP_MERGE_PAGE_PART_H

#include "merge/model/fact.h"
#include "merge/page/html.h"

struct tp_page_part {
	const char *id;		/* of its script; page_data in page.js knows it */
	/* NULL: out of memory: the part is left out. */
	void *(*begin)(struct tp_facts *facts);
	uint64_t kinds;		/* events it gets, as of facts; 0: none */
	void (*event)(void *state, const struct tp_event *event);
	/* Its values, in an object that is open. Frees state. */
	void (*write)(void *state, const struct tp_run *run, struct tp_html *html);
};

extern const struct tp_page_part tp_page_steps, tp_page_curves, tp_page_flame, tp_page_stacks,
	tp_page_timeline;

#endif

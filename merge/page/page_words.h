/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_words.h - what the spans of the page's timeline are called: names, lanes, and where in the program
 * they come from (stack, module, shapes)
 *
 * Each distinct one has a number, whatever the steps that have it. Memory: distinct ones.
 */
#ifndef TP_MERGE_PAGE_WORDS_H
#define TP_MERGE_PAGE_WORDS_H

#include "merge/facts/program/step_timeline.h"
#include "merge/model/fact.h"
#include "merge/page/page_spans.h"

struct tp_page_words;

/* NULL: out of memory. */
struct tp_page_words *tp_page_words_new(struct tp_facts *facts);
void tp_page_words_free(struct tp_page_words *words);	/* NULL: nothing */

/* The number of a lane; `of` of its sort: a process's collectives, a thread's, a stream's. */
uint32_t tp_page_words_lane(struct tp_page_words *words, const struct tp_proc *proc, enum tp_step_lane sort,
			    const void *of);
/* kind: a letter, page_timeline.c's. */
uint32_t tp_page_words_name(struct tp_page_words *words, const struct tp_string *name, char kind);
/* Stack, module and shapes of what happened on the host; 0: nothing is known. While the event is given. */
uint32_t tp_page_words_detail(struct tp_page_words *words, const struct tp_event *event);

/* The words and details of ended spans get the numbers by which they will be written; others never are. */
void tp_page_words_use(struct tp_page_words *words, struct tp_page_spans *spans);
/* Those used, into an open object: lanes, names, kinds, details and what these name. */
void tp_page_words_put(struct tp_page_words *words, struct tp_html *html);
bool tp_page_words_is_incomplete(const struct tp_page_words *words);	/* out of memory */

#endif

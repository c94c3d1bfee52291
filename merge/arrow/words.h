/* SPDX-License-Identifier: Apache-2.0 */
/*
 * words.h - the distinct texts of one column, as the dictionary of Arrow's arrays
 */
#ifndef TP_MERGE_ARROW_WORDS_H
#define TP_MERGE_ARROW_WORDS_H

#include "merge/kit/keyed.h"

/* Zeroed is empty. */
struct tp_words {
	int32_t *end;		/* one more than words, the first 0; NULL: none yet */
	char *text;
	uint32_t n, n_text, cap_end, cap_text;
	struct tp_keyed by_text;
};

/* Its number, a new one where it is new. Memory that is out, or 2 GiB of text: kit/need.h. */
int32_t tp_words_number(struct tp_words *words, const char *text);
void tp_words_free(struct tp_words *words);

#endif

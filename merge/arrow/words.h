/* SPDX-License-Identifier: Apache-2.0 */
/*
 * words.h - the distinct texts of one column, as the dictionary of Arrow's arrays
 */
#ifndef TP_MERGE_ARROW_WORDS_H
#define TP_MERGE_ARROW_WORDS_H

#include <stdatomic.h>

#include "merge/kit/keyed.h"

/* The words of one moment, which stay as they are: who holds them counts, the last one frees. */
struct tp_words_kept {
	atomic_uint n_holders;
	uint32_t n;
	int32_t *end;		/* one more than words, the first 0 */
	char *text;
};

enum { TP_WORDS_NEAR = 256 };

/* Zeroed is empty. */
struct tp_words {
	int32_t *end;		/* as above; NULL: none yet */
	char *text;
	uint32_t n, n_text, cap_end, cap_text;
	struct tp_keyed by_text;
	struct tp_words_kept *kept;	/* those that were handed out last; NULL */
	struct { const char *text; int32_t number; } near[TP_WORDS_NEAR];
};

/* Its number, a new one where it is new. Memory that is out, or 2 GiB of text: kit/need.h. */
int32_t tp_words_number(struct tp_words *words, const char *text);
/* The same of a text from a trace, which is made printable. */
int32_t tp_words_shown(struct tp_words *words, const char *text);
/* The same of one that never moves or changes: found by its address when it was met just before. */
int32_t tp_words_number_of(struct tp_words *words, const char *text);
/* Those that there are by now, with one holder more; words only come, so later ones begin with these. */
struct tp_words_kept *tp_words_keep(struct tp_words *words);
void tp_words_let_go(struct tp_words_kept *kept);	/* NULL: nothing */
void tp_words_free(struct tp_words *words);

#endif

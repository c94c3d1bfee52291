/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_words.h - values that are words: what each means, one or several of them
 */
#ifndef TP_CONFIG_WORDS_H
#define TP_CONFIG_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/text.h"

/* Tables end with a row without a name. */
struct tp_word {
	const char *name;
	uint32_t value;
};

extern const struct tp_word tp_words_record[],
	tp_words_stacks[],
	tp_words_heap[],
	tp_words_log[],
	tp_words_clock[],
	tp_words_graphs[],
	tp_words_signal[],
	tp_words_step[],
	tp_words_overwrite[];

bool tp_words_find(const struct tp_word *word, const char *text, size_t n, uint32_t *value);
/* "" when it has no name. */
const char *tp_words_name(const struct tp_word *word, uint32_t value);

/* -EINVAL; what is wrong goes to `bad`. */
int tp_words_refuse(const char *word, size_t n, char *bad, uint32_t cap);
/* Words with commas between them, or "none", into bits. 0 or -EINVAL. */
int tp_words_parse(const struct tp_word *known, const char *text, uint32_t *value, char *bad, uint32_t cap);
/* The words of the bits, of a table in which each word is one bit. */
void tp_words_describe(const struct tp_word *word, uint32_t bits, struct tp_text *out);

#endif

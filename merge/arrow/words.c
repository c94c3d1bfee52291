/* SPDX-License-Identifier: Apache-2.0 */
/*
 * words.c - the distinct texts of one column, as the dictionary of Arrow's arrays
 */
#include "merge/arrow/words.h"

#include <string.h>

#include "merge/kit/need.h"
#include "merge/kit/show.h"
#include "runtime/base/hash.h"

static bool is_it(const struct tp_words *words, uint32_t at, const char *text, size_t n)
{
	int32_t begin = words->end[at];

	return (size_t)(words->end[at + 1] - begin) == n && (!n || !memcmp(words->text + begin, text, n));
}

static void add_word(struct tp_words *words, const char *text, size_t n)
{
	/* Ends are of 32 bits with a sign. */
	if (n > INT32_MAX - words->n_text)
		tp_need_failed();
	tp_need_room(&words->end, &words->cap_end, (uint64_t)words->n + 2, sizeof(*words->end));
	if (n) {
		tp_need_room(&words->text, &words->cap_text, (uint64_t)words->n_text + n, 1);
		memcpy(words->text + words->n_text, text, n);
	}
	words->n_text += (uint32_t)n;
	words->end[++words->n] = (int32_t)words->n_text;
}

int32_t tp_words_number(struct tp_words *words, const char *text)
{
	size_t n = strlen(text);
	uint32_t hash = (uint32_t)(tp_hash_mix(tp_hash_bytes(text, n, 0)) >> 32), place, at;

	for (at = tp_keyed_first(&words->by_text, hash, &place); at != TP_NO_KEYED;
	     at = tp_keyed_next(&words->by_text, hash, &place))
		if (is_it(words, at, text, n))
			return (int32_t)at;
	add_word(words, text, n);
	tp_need_keyed(&words->by_text, hash, words->n - 1);
	return (int32_t)words->n - 1;
}

int32_t tp_words_shown(struct tp_words *words, const char *text)
{
	size_t n = strlen(text);
	char few[512], *shown = few;
	int32_t number;

	/* A byte becomes at most four. */
	if (n > sizeof(few) / 4 - 1)
		shown = tp_need(n * 4 + 1, 1);
	tp_show_text(shown, n > sizeof(few) / 4 - 1 ? (uint32_t)n * 4 + 1 : sizeof(few), text, (uint32_t)n);
	number = tp_words_number(words, shown);
	if (shown != few)
		free(shown);
	return number;
}

int32_t tp_words_number_of(struct tp_words *words, const char *text)
{
	uint32_t at = (uint32_t)(tp_hash_mix((uintptr_t)text) >> 32) % TP_WORDS_NEAR;

	if (words->near[at].text != text) {
		words->near[at].number = tp_words_shown(words, text);
		words->near[at].text = text;
	}
	return words->near[at].number;
}

struct tp_words_kept *tp_words_keep(struct tp_words *words)
{
	struct tp_words_kept *kept = words->kept;

	if (!kept || kept->n != words->n) {
		kept = tp_need(1, sizeof(*kept));
		kept->n_holders = 1;
		kept->n = words->n;
		kept->end = tp_need((size_t)words->n + 1, sizeof(*kept->end));
		kept->text = tp_need((size_t)words->n_text + 1, 1);
		if (words->n)
			memcpy(kept->end, words->end, ((size_t)words->n + 1) * sizeof(*kept->end));
		if (words->n_text)
			memcpy(kept->text, words->text, words->n_text);
		tp_words_let_go(words->kept);
		words->kept = kept;
	}
	kept->n_holders++;
	return kept;
}

void tp_words_let_go(struct tp_words_kept *kept)
{
	if (!kept || --kept->n_holders)
		return;
	free(kept->end);
	free(kept->text);
	free(kept);
}

void tp_words_free(struct tp_words *words)
{
	tp_words_let_go(words->kept);
	tp_keyed_free(&words->by_text);
	free(words->end);
	free(words->text);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_words.c - values that are words: what each means, one or several of them
 */
#include "runtime/engine/config/config_words.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "runtime/base/option_words.h"
#include "runtime/engine/config/config.h"

/* The lists of option_words.h with what their words mean. */
#define WORD_RECORD(name, VALUE) {name, TP_RECORD_##VALUE},
#define WORD_STACKS(name, VALUE) {name, TP_STACKS_##VALUE},
#define WORD_HEAP(name, VALUE) {name, TP_HEAP_##VALUE},
#define WORD_OVERWRITE(name, VALUE) {name, TP_OVERWRITE_##VALUE},
#define WORD_LOG(name, VALUE) {name, TP_LOG_##VALUE},
#define WORD_CLOCK(name, VALUE) {name, TP_CLOCK_##VALUE},
#define WORD_GRAPHS(name, VALUE) {name, TP_CUDA_GRAPHS_##VALUE},
#define WORD_SIGNAL(name, VALUE) {name, SIG##VALUE},
#define WORD_STEP(name, VALUE) {name, TP_STEP_##VALUE},
const struct tp_word tp_words_record[] = {TP_WORDS_RECORD(WORD_RECORD){NULL, 0}};
const struct tp_word tp_words_stacks[] = {TP_WORDS_STACKS(WORD_STACKS){NULL, 0}};
const struct tp_word tp_words_heap[] = {TP_WORDS_HEAP(WORD_HEAP){NULL, 0}};
const struct tp_word tp_words_log[] = {TP_WORDS_LOG(WORD_LOG){NULL, 0}};
const struct tp_word tp_words_clock[] = {TP_WORDS_CLOCK(WORD_CLOCK){NULL, 0}};
const struct tp_word tp_words_graphs[] = {TP_WORDS_GRAPHS(WORD_GRAPHS){NULL, 0}};
const struct tp_word tp_words_signal[] = {TP_WORDS_SIGNAL(WORD_SIGNAL){NULL, 0}};
const struct tp_word tp_words_step[] = {TP_WORDS_STEP(WORD_STEP){NULL, 0}};
/* "new", "0" and "1", and what else says yes or no. */
const struct tp_word tp_words_overwrite[] = {
	TP_WORDS_OVERWRITE(WORD_OVERWRITE)
	{"no", TP_OVERWRITE_REFUSE}, {"off", TP_OVERWRITE_REFUSE}, {"false", TP_OVERWRITE_REFUSE},
	{"yes", TP_OVERWRITE_REPLACE}, {"on", TP_OVERWRITE_REPLACE}, {"true", TP_OVERWRITE_REPLACE},
	{NULL, 0},
};

bool tp_words_find(const struct tp_word *word, const char *text, size_t n, uint32_t *value)
{
	for (; word->name; word++) {
		if (strlen(word->name) == n && !memcmp(word->name, text, n)) {
			*value = word->value;
			return true;
		}
	}
	return false;
}

int tp_words_refuse(const char *word, size_t n, char *bad, uint32_t cap)
{
	struct tp_text out;

	tp_text_init(&out, bad, cap);
	tp_text_bytes(&out, word, n);
	return -EINVAL;
}

/* "1.5x" or "2" of the median, into thousandths: above 1, at most RATIO_MOST. */
int tp_words_parse(const struct tp_word *known, const char *text, uint32_t *value, char *bad,
		       uint32_t cap)
{
	uint32_t bits = 0, bit;

	for (bool is_last = !strcmp(text, "none"); !is_last;) {
		size_t n = strcspn(text, ",");

		is_last = text[n] == '\0';
		if (!tp_words_find(known, text, n, &bit))
			return tp_words_refuse(text, n, bad, cap);
		bits |= bit;
		text += n + 1;
	}
	*value = bits;
	return 0;
}

const char *tp_words_name(const struct tp_word *word, uint32_t value)
{
	while (word->name && word->value != value)
		word++;
	return word->name ? word->name : "";
}

void tp_words_describe(const struct tp_word *word, uint32_t bits, struct tp_text *out)
{
	const char *comma = "";

	for (; word->name; word++) {
		if (!(bits & word->value))
			continue;
		tp_text_fmt(out, "%s%s", comma, word->name);
		comma = ",";
	}
	if (!bits)
		tp_text_str(out, "none");
}

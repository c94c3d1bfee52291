/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.c - the table of the TRAINPROF_ variables and the words about it
 *
 * Used in the guest (complaints of bad values) and by the merge (--help-env): no allocation,
 * no stdio.
 */
#include <stdbool.h>
#include <string.h>

#include "runtime/base/option_words.h"
#include "runtime/base/options.h"

const struct tp_option tp_options[TP_OPTION_N] = {
#define _(NAME, KIND, field, preset_, least_, most_, meaning_)                               \
	[TP_OPTION_ID_##NAME] = {                                                          \
		.name = #NAME,                                                             \
		.kind = TP_OPTION_##KIND,                                                  \
		.preset = preset_,                                                         \
		.least = least_,                                                           \
		.most = most_,                                                             \
		.meaning = meaning_,                                                       \
	},
#include "runtime/base/options.def"
#undef _
};

/* Longer names are compared by their first letters only. */
enum { NAME_MAX_LEN = 31 };

int tp_option_find(const char *name, size_t n)
{
	for (int i = 0; i < TP_OPTION_N; i++) {
		if (strlen(tp_options[i].name) == n && !memcmp(tp_options[i].name, name, n))
			return i;
	}
	return -1;
}

static char upper(char c)
{
	return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned least = a < b ? a : b;

	return least < c ? least : c;
}

/* Letters to change, add or remove (Levenshtein) between two names, whatever their case. */
static unsigned count_edits(const char *a, size_t n_a, const char *b, size_t n_b)
{
	unsigned row[NAME_MAX_LEN + 1];

	if (n_a > NAME_MAX_LEN)
		n_a = NAME_MAX_LEN;
	if (n_b > NAME_MAX_LEN)
		n_b = NAME_MAX_LEN;
	for (size_t j = 0; j <= n_b; j++)
		row[j] = (unsigned)j;
	for (size_t i = 1; i <= n_a; i++) {
		unsigned diagonal = row[0];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= n_b; j++) {
			unsigned above = row[j];
			bool differs = upper(a[i - 1]) != upper(b[j - 1]);

			row[j] = min3(above + 1, row[j - 1] + 1, diagonal + differs);
			diagonal = above;
		}
	}
	return row[n_b];
}

int tp_option_nearest(const char *name, size_t n)
{
	/* A third of the letters wrong is no longer a slip of the finger. */
	unsigned best = (unsigned)n / 3 + 1;
	int found = -1;

	for (int i = 0; i < TP_OPTION_N; i++) {
		unsigned edits = count_edits(name, n, tp_options[i].name,
					     strlen(tp_options[i].name));

		if (edits < best) {
			best = edits;
			found = i;
		}
	}
	return found;
}

void tp_option_bytes(uint64_t bytes, struct tp_text *out)
{
	static const char unit[] = "KMGT";
	size_t at = 0;

	if (!bytes || bytes % 1024) {
		tp_text_u64(out, bytes);
		return;
	}
	for (bytes /= 1024; bytes % 1024 == 0 && at + 1 < sizeof(unit) - 1; at++)
		bytes /= 1024;
	tp_text_u64(out, bytes);
	tp_text_char(out, unit[at]);
}

#define NAME_OF(name, VALUE) name,
static const char *const record_words[] = {TP_WORDS_RECORD(NAME_OF) NULL};
static const char *const heap_words[] = {TP_WORDS_HEAP(NAME_OF) NULL};
static const char *const overwrite_words[] = {TP_WORDS_OVERWRITE(NAME_OF) NULL};
static const char *const log_words[] = {TP_WORDS_LOG(NAME_OF) NULL};
static const char *const clock_words[] = {TP_WORDS_CLOCK(NAME_OF) NULL};
static const char *const graphs_words[] = {TP_WORDS_GRAPHS(NAME_OF) NULL};
static const char *const signal_words[] = {TP_WORDS_SIGNAL(NAME_OF) NULL};
static const char *const step_words[] = {TP_WORDS_STEP(NAME_OF) NULL};

/* "node or launch": `last` stands before the last one. */
static void put_words(struct tp_text *out, const char *const *word, const char *last)
{
	for (int i = 0; word[i]; i++) {
		tp_text_str(out, !i ? "" : word[i + 1] ? ", " : last);
		tp_text_str(out, word[i]);
	}
}

/* Of which the value is one; NULL: it is more than a word. */
static const char *const *words_of(enum tp_option_kind kind)
{
	return kind == TP_OPTION_OVERWRITE ? overwrite_words
	       : kind == TP_OPTION_LOG	   ? log_words
	       : kind == TP_OPTION_CLOCK   ? clock_words
	       : kind == TP_OPTION_GRAPHS  ? graphs_words
	       : kind == TP_OPTION_HEAP	   ? heap_words
					   : NULL;
}

void tp_option_range(const struct tp_option *option, struct tp_text *out)
{
	switch (option->kind) {
	case TP_OPTION_TEXT:
		tp_text_fmt(out, "at most %lu bytes", (unsigned long)option->most);
		break;
	case TP_OPTION_U64:
		tp_text_fmt(out, "a number from %lu to %lu", option->least, option->most);
		break;
	case TP_OPTION_MS:
		tp_text_fmt(out, "milliseconds from %lu to %lu", option->least, option->most);
		break;
	case TP_OPTION_SECONDS:
		tp_text_fmt(out, "a time from %lus to %luh, like 90s or 5m, or off",
			    (unsigned long)option->least, (unsigned long)option->most / 3600);
		break;
	case TP_OPTION_BYTES:
		tp_text_str(out, "a size from ");
		tp_option_bytes(option->least, out);
		tp_text_str(out, " to ");
		tp_option_bytes(option->most, out);
		tp_text_str(out, ", like 64M");
		break;
	case TP_OPTION_KEEP:
		tp_text_fmt(out, "a number from -1 to %lu", option->most);
		break;
	case TP_OPTION_SCHEDULE:
		tp_text_str(out, "skip_first=N,wait=N,warmup=N,active=N,repeat=N,per=epoch|run (those "
				 "wanted; active at least 1), or at=N,N...,warmup=N,active=N, always, "
				 "trigger or off");
		break;
	case TP_OPTION_TRIGGER:
		tp_text_str(out, "none, or words of control, slow=RATIOx, drift=RATIOx, mem=SIZE, "
				 "devmem=SIZE, steps=N, ahead=N, limit=N and signal:NAME with commas; "
				 "RATIO above 1; NAME of ");
		put_words(out, signal_words, ", ");
		break;
	case TP_OPTION_RECORDER:
		tp_text_fmt(out, "steps=N (N from %lu to %lu) or off", option->least, option->most);
		break;
	case TP_OPTION_RECORD:
		tp_text_str(out, "words of ");
		put_words(out, record_words, ", ");
		tp_text_str(out, " with commas, or none");
		break;
	case TP_OPTION_STEP:
		put_words(out, step_words, ", ");
		tp_text_str(out, ", range:NAME or clock:MS (MS from 1 to 3600000)");
		break;
	case TP_OPTION_STACKS:
		tp_text_str(out, "none, or heap, to which native or python may be added with commas");
		break;
	case TP_OPTION_OVERWRITE:
	case TP_OPTION_LOG:
	case TP_OPTION_CLOCK:
	case TP_OPTION_GRAPHS:
	case TP_OPTION_HEAP:
		put_words(out, words_of(option->kind), " or ");
		break;
	}
}

/* Words of `text` in lines of at most 79 columns, each begun by eight blanks. */
static void wrap(const char *text, struct tp_text *out)
{
	enum { INDENT = 8, WIDTH = 79 };
	size_t column = 0;

	while (*text) {
		size_t n = strcspn(text, " ");

		if (column && column + 1 + n > WIDTH) {
			tp_text_char(out, '\n');
			column = 0;
		}
		tp_text_str(out, column ? " " : "        ");
		column += column ? 1 + n : INDENT + n;
		tp_text_bytes(out, text, n);
		text += n;
		text += strspn(text, " ");
	}
	tp_text_char(out, '\n');
}

void tp_options_help(struct tp_text *out)
{
	int order[TP_OPTION_N] = {0};

	for (int i = 0; i < TP_OPTION_N; i++) {
		int at = i;

		while (at > 0 && strcmp(tp_options[order[at - 1]].name, tp_options[i].name) > 0) {
			order[at] = order[at - 1];
			at--;
		}
		order[at] = i;
	}
	tp_text_str(out, "Variables that libtrainprof.so reads in the training process:\n");
	for (int i = 0; i < TP_OPTION_N; i++) {
		const struct tp_option *option = &tp_options[order[i]];
		char buf[512];
		struct tp_text line;

		tp_text_fmt(out, "\n%s%s", TP_OPTION_PREFIX, option->name);
		if (option->preset[0])
			tp_text_fmt(out, "=%s", option->preset);
		tp_text_char(out, '\n');
		tp_text_init(&line, buf, sizeof(buf));
		tp_text_str(&line, option->meaning);
		wrap(buf, out);
		tp_text_init(&line, buf, sizeof(buf));
		tp_text_str(&line, "Accepted: ");
		tp_option_range(option, &line);
		tp_text_str(&line, option->preset[0] ? "; default: " : "; default: empty");
		tp_text_str(&line, option->preset);
		wrap(buf, out);
	}
	tp_text_str(out, "\nAn empty value counts as not set. A bad value is reported and the "
			 "default\nused; the training starts anyway. Details: trainprof(7).\n");
}

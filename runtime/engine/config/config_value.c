/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_value.c - the values of the TRAINPROF_ variables: text into the struct
 *
 * A value is taken whole or not at all. Tables of words and one parser a kind; the rows of
 * options.def say which field has which kind. No allocation, no output.
 */
#include <errno.h>
#include <string.h>

#include "runtime/engine/config/config_value.h"
#include "runtime/engine/config/config_words.h"

enum {
	MS_MOST = 3600000,	/* of clock:MS: an hour */
	CLOCK_PRESET_MS = 1000,
};

enum {	/* what words include others */
	NEEDS_OPS = TP_RECORD_SHAPES | TP_RECORD_CATEGORIES | TP_RECORD_PYSTACKS | TP_RECORD_MODULES,
	NEEDS_TENSORS = TP_RECORD_CATEGORIES,
};

/* ---- values: each parser stores only what is wholly right ---- */

static int parse_schedule(struct tp_config *config, const char *text, char *bad, uint32_t cap)
{
	struct tp_sched_spec spec = {.wait = 5, .warmup = 1, .active = 4, .repeat = 1};
	bool is_off = !strcmp(text, "off");
	int err = is_off ? 0 : tp_sched_parse(&spec, text, bad, cap);

	if (err)
		return err;
	config->is_off = is_off;
	config->schedule = spec;
	return 0;
}

static int parse_record(const char *text, uint32_t *value, char *bad, uint32_t cap)
{
	uint32_t bits;
	int err = tp_words_parse(tp_words_record, text, &bits, bad, cap);

	if (err)
		return err;
	*value = bits | (bits & NEEDS_OPS ? TP_RECORD_OPS : 0) |
		 (bits & NEEDS_TENSORS ? TP_RECORD_TENSORS : 0);
	return 0;
}

/* Which frames, where no word says of what, is nothing to ask for. */
static int parse_stacks(const char *text, uint32_t *value, char *bad, uint32_t cap)
{
	const uint32_t frames = TP_STACKS_NATIVE | TP_STACKS_PYTHON;
	uint32_t bits;
	int err = tp_words_parse(tp_words_stacks, text, &bits, bad, cap);

	if (err)
		return err;
	if (bits && !(bits & ~frames))
		return -EINVAL;
	if (bits && !(bits & frames))
		bits |= frames;
	*value = bits;
	return 0;
}

static int parse_step(struct tp_config *config, const char *text)
{
	struct tp_step_spec step = {.clock_ms = CLOCK_PRESET_MS};
	uint64_t ms;
	uint32_t word;

	if (tp_words_find(tp_words_step, text, strlen(text), &word)) {
		step.source = word;
	} else if (!strncmp(text, "range:", 6)) {
		size_t n = strlen(text + 6);

		if (!n || n >= sizeof(step.range))
			return -EINVAL;
		memcpy(step.range, text + 6, n);
		step.source = TP_STEP_RANGE;
	} else if (!strncmp(text, "clock:", 6) && !tp_text_parse_u64(text + 6, &ms) && ms >= 1 &&
		   ms <= MS_MOST) {
		step.clock_ms = (uint32_t)ms;
		step.source = TP_STEP_CLOCK;
	} else {
		return -EINVAL;
	}
	config->step = step;
	return 0;
}

static int parse_number(const struct tp_option *option, const char *text, uint64_t *field)
{
	uint64_t value = 0;
	int err = option->kind == TP_OPTION_BYTES ? tp_text_parse_bytes(text, &value)
						  : tp_text_parse_u64(text, &value);

	if (err)
		return err;
	if (value < option->least || value > option->most)
		return -ERANGE;
	*field = value;
	return 0;
}

static int parse_keep(const char *text, uint64_t *keep)
{
	uint64_t value = TP_KEEP_ALL;

	if (strcmp(text, "-1") != 0 && (tp_text_parse_u64(text, &value) || value > TP_KEEP_MOST))
		return -EINVAL;
	*keep = value;
	return 0;
}

/* "90", "90s", "5m", "2h"; "off". */
static int parse_seconds(const struct tp_option *option, const char *text, uint64_t *field)
{
	static const struct {
		char letter;
		uint32_t seconds;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
	size_t n = strlen(text);
	uint64_t value, unit = 1;
	char digits[16];

	if (!strcmp(text, "off")) {
		*field = 0;
		return 0;
	}
	for (size_t i = 0; n && i < sizeof(units) / sizeof(units[0]); i++) {
		if (text[n - 1] == units[i].letter) {
			unit = units[i].seconds;
			n--;
			break;
		}
	}
	if (n >= sizeof(digits))
		return -EINVAL;
	memcpy(digits, text, n);
	digits[n] = '\0';
	if (tp_text_parse_u64(digits, &value))
		return -EINVAL;
	if (value > option->most || value * unit < option->least || value * unit > option->most)
		return -ERANGE;
	*field = value * unit;
	return 0;
}

static int parse_text(const struct tp_option *option, const char *text, char *field)
{
	size_t n = strlen(text);

	/* A newline in a path or a name would break every line-based list of them. */
	if (n < option->least || n > option->most || strpbrk(text, "\n\r"))
		return -EINVAL;
	memcpy(field, text, n + 1);
	return 0;
}

static int parse_word(const struct tp_word *word, const char *text, uint32_t *value)
{
	return tp_words_find(word, text, strlen(text), value) ? 0 : -EINVAL;
}

static int parse_recorder(const struct tp_option *option, const char *text, uint64_t *field)
{
	uint64_t value = 0;

	if (strcmp(text, "off")) {
		if (strncmp(text, "steps=", 6) || tp_text_parse_u64(text + 6, &value) ||
		    value < option->least || value > option->most)
			return -EINVAL;
	}
	*field = value;
	return 0;
}

/* Parsers by kind, called with the row's field. */
#define PARSE_TEXT(field) parse_text(option, text, config->field)
#define PARSE_U64(field) parse_number(option, text, &config->field)
#define PARSE_BYTES(field) parse_number(option, text, &config->field)
#define PARSE_MS(field) parse_number(option, text, &config->field)
#define PARSE_KEEP(field) parse_keep(text, &config->field)
#define PARSE_OVERWRITE(field) parse_word(tp_words_overwrite, text, &config->field)
#define PARSE_SECONDS(field) parse_seconds(option, text, &config->field)
#define PARSE_SCHEDULE(field) parse_schedule(config, text, bad, cap)
#define PARSE_RECORDER(field) parse_recorder(option, text, &config->field)
#define PARSE_TRIGGER(field) tp_config_parse_trigger(config, text, bad, cap)
#define PARSE_RECORD(field) parse_record(text, &config->field, bad, cap)
#define PARSE_STACKS(field) parse_stacks(text, &config->field, bad, cap)
#define PARSE_HEAP(field) parse_word(tp_words_heap, text, &config->field)
#define PARSE_STEP(field) parse_step(config, text)
#define PARSE_LOG(field) parse_word(tp_words_log, text, &config->field)
#define PARSE_CLOCK(field) parse_word(tp_words_clock, text, &config->field)
#define PARSE_GRAPHS(field) parse_word(tp_words_graphs, text, &config->field)

int tp_config_parse(struct tp_config *config, enum tp_option_id id, const char *text, char *bad,
		    uint32_t cap)
{
	const struct tp_option *option = &tp_options[id];

	bad[0] = '\0';
	switch (id) {
#define _(NAME, KIND, field, preset, least, most, meaning)                                   \
	case TP_OPTION_ID_##NAME:                                                          \
		return PARSE_##KIND(field);
#include "runtime/base/options.def"
#undef _
	case TP_OPTION_N:
		break;
	}
	return -EINVAL;
}

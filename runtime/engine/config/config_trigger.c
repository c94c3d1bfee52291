/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_trigger.c - the value of TRAINPROF_TRIGGER: text into the struct, and back
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "runtime/engine/config/config_value.h"
#include "runtime/engine/config/config_words.h"

enum {
	TRIGGER_STEPS = 4,
	TRIGGER_LIMIT = 4,
	TRIGGER_MOST = 1000000,	/* steps of a window, and ahead */
	RATIO_MOST = 1000,
};

static int parse_ratio(const char *text, uint64_t *thousandths)
{
	uint64_t value = 0, unit = 1000;
	bool has_digit = false;

	for (; *text >= '0' && *text <= '9' && value <= RATIO_MOST * 1000ull; text++) {
		value = value * 10 + (uint64_t)(*text - '0') * 1000;
		has_digit = true;
	}
	if (*text == '.')
		for (text++; *text >= '0' && *text <= '9' && unit > 1; text++)
			value += (uint64_t)(*text - '0') * (unit /= 10);
	if (!has_digit || (*text && strcmp(text, "x")) || value <= 1000 ||
	    value > RATIO_MOST * 1000ull)
		return -EINVAL;
	*thousandths = value;
	return 0;
}

/* The numbers of a trigger, NAME=VALUE; which field of the struct has which. */
static const struct trigger_word {
	const char *name;
	int (*parse)(const char *text, uint64_t *value);
	uint64_t least, most;
	uint16_t at, bytes;
	uint64_t usual;	/* not shown */
} trigger_word[] = {
#define NUMBER(name, field, parse, least, most, usual)                                             \
	{name, parse, least, most, offsetof(struct tp_trigger_spec, field),                        \
	 sizeof(((struct tp_trigger_spec *)0)->field), usual}
	NUMBER("steps=", steps, tp_text_parse_u64, 1, TRIGGER_MOST, UINT64_MAX),
	NUMBER("ahead=", ahead, tp_text_parse_u64, 0, TRIGGER_MOST, UINT64_MAX),
	NUMBER("limit=", limit, tp_text_parse_u64, 0, TRIGGER_MOST, TRIGGER_LIMIT),
	NUMBER("slow=", slow, parse_ratio, 0, UINT32_MAX, 0),
	NUMBER("drift=", drift, parse_ratio, 0, UINT32_MAX, 0),
	NUMBER("mem=", mem, tp_text_parse_bytes, 1, UINT64_MAX, 0),
	NUMBER("devmem=", devmem, tp_text_parse_bytes, 1, UINT64_MAX, 0),
#undef NUMBER
};
enum { N_TRIGGER_WORDS = sizeof(trigger_word) / sizeof(trigger_word[0]) };

static bool parse_trigger_number(struct tp_trigger_spec *trigger, const char *word)
{
	for (size_t i = 0; i < N_TRIGGER_WORDS; i++) {
		const struct trigger_word *row = &trigger_word[i];
		size_t n_name = strlen(row->name);
		uint64_t value;

		if (strncmp(word, row->name, n_name))
			continue;
		if (row->parse(word + n_name, &value) || value < row->least || value > row->most)
			return false;
		/* Little-endian hosts only, as the trace itself. */
		memcpy((char *)trigger + row->at, &value, row->bytes);
		return true;
	}
	return false;
}

/* "signal:USR2", "control", or a number. */
static bool parse_trigger_word(struct tp_trigger_spec *trigger, const char *word)
{
	if (!strcmp(word, "control"))
		return true;
	if (strncmp(word, "signal:", 7))
		return parse_trigger_number(trigger, word);
	word += 7;
	if (!strncmp(word, "SIG", 3))
		word += 3;
	return tp_words_find(tp_words_signal, word, strlen(word), &trigger->signal);
}

/* Requests are heard with any value but "none". */
int tp_config_parse_trigger(struct tp_config *config, const char *text, char *bad, uint32_t cap)
{
	struct tp_trigger_spec trigger = {.steps = TRIGGER_STEPS, .limit = TRIGGER_LIMIT,
					  .has_control = true};
	bool is_last = !strcmp(text, "none");
	char word[64];

	if (is_last)
		trigger = (struct tp_trigger_spec){0};
	while (!is_last) {
		size_t n = strcspn(text, ",");

		is_last = text[n] == '\0';
		if (n >= sizeof(word))
			return tp_words_refuse(text, n, bad, cap);
		memcpy(word, text, n);
		word[n] = '\0';
		if (!parse_trigger_word(&trigger, word))
			return tp_words_refuse(text, n, bad, cap);
		text += n + 1;
	}
	config->trigger = trigger;
	return 0;
}

void tp_config_describe_trigger(const struct tp_trigger_spec *trigger, struct tp_text *out)
{
	if (!trigger->has_control) {
		tp_text_str(out, "none");
		return;
	}
	if (trigger->signal)
		tp_text_fmt(out, "signal:%s", tp_words_name(tp_words_signal, trigger->signal));
	else
		tp_text_str(out, "control");
	for (size_t i = 0; i < N_TRIGGER_WORDS; i++) {
		const struct trigger_word *row = &trigger_word[i];
		uint64_t value = 0;

		memcpy(&value, (const char *)trigger + row->at, row->bytes);
		if (value == row->usual)
			continue;
		tp_text_fmt(out, ",%s", row->name);
		if (row->parse == parse_ratio)
			tp_text_fmt(out, "%lu.%03lux", value / 1000, value % 1000);
		else if (row->parse == tp_text_parse_bytes)
			tp_option_bytes(value, out);
		else
			tp_text_u64(out, value);
	}
}

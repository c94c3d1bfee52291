/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_value.c - the values of the TRAINPROF_ variables: text into the struct, and back
 *
 * A value is taken whole or not at all. Tables of words and one parser a kind; the rows of
 * options.def say which field has which kind. No allocation, no output.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "runtime/base/option_words.h"
#include "runtime/engine/config/config_value.h"

enum {
	MS_MOST = 3600000,	/* of clock:MS: an hour */
	CLOCK_PRESET_MS = 1000,
	TRIGGER_STEPS = 4,
	TRIGGER_LIMIT = 4,
	TRIGGER_MOST = 1000000,	/* steps of a window, and ahead */
	RATIO_MOST = 1000,
};

struct word {
	const char *name;
	uint32_t value;
};

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
static const struct word record_word[] = {TP_WORDS_RECORD(WORD_RECORD){NULL, 0}};
static const struct word stacks_word[] = {TP_WORDS_STACKS(WORD_STACKS){NULL, 0}};
static const struct word heap_word[] = {TP_WORDS_HEAP(WORD_HEAP){NULL, 0}};
static const struct word log_word[] = {TP_WORDS_LOG(WORD_LOG){NULL, 0}};
static const struct word clock_word[] = {TP_WORDS_CLOCK(WORD_CLOCK){NULL, 0}};
static const struct word graphs_word[] = {TP_WORDS_GRAPHS(WORD_GRAPHS){NULL, 0}};
static const struct word signal_word[] = {TP_WORDS_SIGNAL(WORD_SIGNAL){NULL, 0}};
static const struct word step_word[] = {TP_WORDS_STEP(WORD_STEP){NULL, 0}};
/* "new", "0" and "1", and what else says yes or no. */
static const struct word overwrite_word[] = {
	TP_WORDS_OVERWRITE(WORD_OVERWRITE)
	{"no", TP_OVERWRITE_REFUSE}, {"off", TP_OVERWRITE_REFUSE}, {"false", TP_OVERWRITE_REFUSE},
	{"yes", TP_OVERWRITE_REPLACE}, {"on", TP_OVERWRITE_REPLACE}, {"true", TP_OVERWRITE_REPLACE},
	{NULL, 0},
};
enum {	/* what words include others */
	NEEDS_OPS = TP_RECORD_SHAPES | TP_RECORD_CATEGORIES | TP_RECORD_PYSTACKS | TP_RECORD_MODULES,
	NEEDS_TENSORS = TP_RECORD_CATEGORIES,
};

static bool find_word(const struct word *word, const char *text, size_t n, uint32_t *value)
{
	for (; word->name; word++) {
		if (strlen(word->name) == n && !memcmp(word->name, text, n)) {
			*value = word->value;
			return true;
		}
	}
	return false;
}

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

static int refuse_word(const char *word, size_t n, char *bad, uint32_t cap)
{
	struct tp_text out;

	tp_text_init(&out, bad, cap);
	tp_text_bytes(&out, word, n);
	return -EINVAL;
}

/* "1.5x" or "2" of the median, into thousandths: above 1, at most RATIO_MOST. */
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
	return find_word(signal_word, word, strlen(word), &trigger->signal);
}

/* Requests are heard with any value but "none". */
static int parse_trigger(struct tp_config *config, const char *text, char *bad, uint32_t cap)
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
			return refuse_word(text, n, bad, cap);
		memcpy(word, text, n);
		word[n] = '\0';
		if (!parse_trigger_word(&trigger, word))
			return refuse_word(text, n, bad, cap);
		text += n + 1;
	}
	config->trigger = trigger;
	return 0;
}

/* Words with commas between them, or "none", into bits. */
static int parse_words(const struct word *known, const char *text, uint32_t *value, char *bad,
		       uint32_t cap)
{
	uint32_t bits = 0, bit;

	for (bool is_last = !strcmp(text, "none"); !is_last;) {
		size_t n = strcspn(text, ",");

		is_last = text[n] == '\0';
		if (!find_word(known, text, n, &bit))
			return refuse_word(text, n, bad, cap);
		bits |= bit;
		text += n + 1;
	}
	*value = bits;
	return 0;
}

static int parse_record(const char *text, uint32_t *value, char *bad, uint32_t cap)
{
	uint32_t bits;
	int err = parse_words(record_word, text, &bits, bad, cap);

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
	int err = parse_words(stacks_word, text, &bits, bad, cap);

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

	if (find_word(step_word, text, strlen(text), &word)) {
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

static int parse_word(const struct word *word, const char *text, uint32_t *value)
{
	return find_word(word, text, strlen(text), value) ? 0 : -EINVAL;
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
#define PARSE_OVERWRITE(field) parse_word(overwrite_word, text, &config->field)
#define PARSE_SECONDS(field) parse_seconds(option, text, &config->field)
#define PARSE_SCHEDULE(field) parse_schedule(config, text, bad, cap)
#define PARSE_RECORDER(field) parse_recorder(option, text, &config->field)
#define PARSE_TRIGGER(field) parse_trigger(config, text, bad, cap)
#define PARSE_RECORD(field) parse_record(text, &config->field, bad, cap)
#define PARSE_STACKS(field) parse_stacks(text, &config->field, bad, cap)
#define PARSE_HEAP(field) parse_word(heap_word, text, &config->field)
#define PARSE_STEP(field) parse_step(config, text)
#define PARSE_LOG(field) parse_word(log_word, text, &config->field)
#define PARSE_CLOCK(field) parse_word(clock_word, text, &config->field)
#define PARSE_GRAPHS(field) parse_word(graphs_word, text, &config->field)

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

/* ---- what is in use, as text ---- */

static const char *name_word(const struct word *word, uint32_t value)
{
	while (word->name && word->value != value)
		word++;
	return word->name ? word->name : "";
}

static void describe_schedule(const struct tp_config *config, struct tp_text *out)
{
	const struct tp_sched_spec *spec = &config->schedule;

	if (config->is_off || spec->always || spec->only_extra) {
		tp_text_str(out, config->is_off ? "off" : spec->always ? "always" : "trigger");
		return;
	}
	for (uint32_t i = 0; i < spec->n_at; i++)
		tp_text_fmt(out, "%s%lu", i ? "," : "at=", spec->at[i]);
	if (spec->n_at) {
		tp_text_fmt(out, ",warmup=%lu,active=%lu", spec->warmup, spec->active);
		return;
	}
	tp_text_str(out, "skip_first=");
	tp_text_u64(out, spec->skip_first);
	tp_text_str(out, ",wait=");
	tp_text_u64(out, spec->wait);
	tp_text_str(out, ",warmup=");
	tp_text_u64(out, spec->warmup);
	tp_text_str(out, ",active=");
	tp_text_u64(out, spec->active);
	tp_text_str(out, ",repeat=");
	tp_text_u64(out, spec->repeat);
	tp_text_str(out, spec->per_run ? ",per=run" : ",per=epoch");
}

static void describe_trigger(const struct tp_trigger_spec *trigger, struct tp_text *out)
{
	if (!trigger->has_control) {
		tp_text_str(out, "none");
		return;
	}
	if (trigger->signal)
		tp_text_fmt(out, "signal:%s", name_word(signal_word, trigger->signal));
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

/* The words of the bits, of a table in which each word is one bit. */
static void describe_words(const struct word *word, uint32_t bits, struct tp_text *out)
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

static void describe_seconds(uint64_t seconds, struct tp_text *out)
{
	if (!seconds)
		tp_text_str(out, "off");
	else if (seconds % 60)
		tp_text_fmt(out, "%lus", (unsigned long)seconds);
	else
		tp_text_fmt(out, "%lum", (unsigned long)(seconds / 60));
}

static void describe_recorder(uint64_t steps, struct tp_text *out)
{
	if (steps)
		tp_text_fmt(out, "steps=%lu", (unsigned long)steps);
	else
		tp_text_str(out, "off");
}

static void describe_step(const struct tp_step_spec *step, struct tp_text *out)
{
	if (step->source == TP_STEP_RANGE)
		tp_text_fmt(out, "range:%s", step->range);
	else if (step->source == TP_STEP_CLOCK)
		tp_text_fmt(out, "clock:%u", step->clock_ms);
	else
		tp_text_str(out, name_word(step_word, step->source));
}

#define DESCRIBE_TEXT(field) tp_text_str(out, config->field)
#define DESCRIBE_U64(field) tp_text_u64(out, config->field)
#define DESCRIBE_MS(field) tp_text_u64(out, config->field)
#define DESCRIBE_KEEP(field)                                                                       \
	tp_text_i64(out, config->field == TP_KEEP_ALL ? -1 : (int64_t)config->field)
#define DESCRIBE_OVERWRITE(field) tp_text_str(out, name_word(overwrite_word, config->field))
#define DESCRIBE_SECONDS(field) describe_seconds(config->field, out)
#define DESCRIBE_BYTES(field) tp_option_bytes(config->field, out)
#define DESCRIBE_SCHEDULE(field) describe_schedule(config, out)
#define DESCRIBE_RECORDER(field) describe_recorder(config->field, out)
#define DESCRIBE_TRIGGER(field) describe_trigger(&config->field, out)
#define DESCRIBE_RECORD(field) describe_words(record_word, config->field, out)
#define DESCRIBE_STACKS(field) describe_words(stacks_word, config->field, out)
#define DESCRIBE_HEAP(field) tp_text_str(out, name_word(heap_word, config->field))
#define DESCRIBE_STEP(field) describe_step(&config->field, out)
#define DESCRIBE_LOG(field) tp_text_str(out, name_word(log_word, config->field))
#define DESCRIBE_CLOCK(field) tp_text_str(out, name_word(clock_word, config->field))
#define DESCRIBE_GRAPHS(field) tp_text_str(out, name_word(graphs_word, config->field))

void tp_config_describe(const struct tp_config *config, struct tp_text *out)
{
#define _(NAME, KIND, field, preset, least, most, meaning)                                   \
	tp_text_str(out, #NAME "=");                                                       \
	DESCRIBE_##KIND(field);                                                            \
	tp_text_char(out, '\n');
#include "runtime/base/options.def"
#undef _
}

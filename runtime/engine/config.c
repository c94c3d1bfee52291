/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.c - the TRAINPROF_ variables and the CONFIG file, read into a struct
 *
 * Runs in the constructor of every process under the preload, compilers and shells too: no
 * allocation, no output, and no file is opened unless CONFIG names one. What is wrong is kept
 * as text and said only when the process proves to train.
 */
#include <errno.h>
#include <string.h>

#include "runtime/base/file.h"
#include "runtime/base/options.h"
#include "runtime/base/text.h"
#include "runtime/engine/config.h"

enum {
	CONFIG_FILE_MAX = 16384,
	SHOWN_MAX = 60,		/* bytes of a bad value that a message repeats */
	MS_MOST = 3600000,	/* of clock:MS: an hour */
	CLOCK_PRESET_MS = 1000,
};

/* Where a value was found: for the message, should it be bad. */
struct origin {
	const char *file;	/* NULL: the environment */
	uint32_t line;
};

struct value {
	const char *text;	/* NULL: not set */
	struct origin origin;
};

struct word {
	const char *name;
	uint32_t value;
};

static const struct word record_word[] = {
	{"ops", TP_RECORD_OPS},
	{"shapes", TP_RECORD_OPS | TP_RECORD_SHAPES},
	{"tensors", TP_RECORD_TENSORS},
	{"host", TP_RECORD_HOST},
	{NULL, 0},
};
static const struct word log_word[] = {
	{"quiet", TP_LOG_QUIET},
	{"warn", TP_LOG_WARN},
	{"info", TP_LOG_INFO},
	{"debug", TP_LOG_DEBUG},
	{NULL, 0},
};
static const struct word clock_word[] = {
	{"auto", TP_CLOCK_AUTO},
	{"tsc", TP_CLOCK_TSC},
	{"monotonic", TP_CLOCK_MONOTONIC},
	{NULL, 0},
};
static const struct word bool_word[] = {
	{"0", 0}, {"no", 0}, {"off", 0}, {"false", 0},
	{"1", 1}, {"yes", 1}, {"on", 1}, {"true", 1},
	{NULL, 0},
};
static const struct word step_word[] = {
	{"auto", TP_STEP_NONE},
	{"optimizer", TP_STEP_OPTIMIZER},
	{"zero_grad", TP_STEP_ZERO_GRAD},
	{"loader", TP_STEP_LOADER},
	{NULL, 0},
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

/* ---- complaints: whole lines, the last one says how many found no room ---- */

static const char too_many[] = "more was wrong in the variables than is said here\n";

static void add_complaint(struct tp_config *config, const struct tp_text *line)
{
	size_t len = strlen(config->complaints);
	size_t n_last = sizeof(too_many) - 1;
	struct tp_text rest;

	tp_text_init(&rest, config->complaints + len, sizeof(config->complaints) - len);
	if (len + line->len + 1 + n_last + 2 <= sizeof(config->complaints))
		tp_text_fmt(&rest, "%s\n", line->buf);
	else if (len < n_last || strcmp(config->complaints + len - n_last, too_many))
		tp_text_str(&rest, too_many);
}

/* The guest's text in a message: one line, no control characters, not too long. */
static void show(struct tp_text *out, const char *text, size_t n)
{
	size_t shown = n > SHOWN_MAX ? SHOWN_MAX : n;

	tp_text_char(out, '\'');
	for (size_t i = 0; i < shown; i++)
		tp_text_char(out, (unsigned char)text[i] < ' ' || text[i] == 127 ? '?' : text[i]);
	tp_text_str(out, shown < n ? "...'" : "'");
}

static void show_origin(struct tp_text *out, const struct origin *origin)
{
	if (!origin->file)
		return;
	tp_text_char(out, ' ');
	tp_text_char(out, '(');
	show(out, origin->file, strlen(origin->file));
	tp_text_fmt(out, " line %u)", origin->line);
}

static void complain_value(struct tp_config *config, const struct tp_option *option,
			   const struct value *value, const char *bad, const char *used)
{
	char buf[512];
	struct tp_text line;

	tp_text_init(&line, buf, sizeof(buf));
	tp_text_fmt(&line, "%s%s", TP_OPTION_PREFIX, option->name);
	show_origin(&line, &value->origin);
	tp_text_str(&line, ": bad value ");
	show(&line, value->text, strlen(value->text));
	if (bad[0] && strcmp(bad, value->text)) {
		tp_text_str(&line, " at ");
		show(&line, bad, strlen(bad));
	}
	tp_text_str(&line, "; accepted: ");
	tp_option_range(option, &line);
	tp_text_str(&line, "; using ");
	show(&line, used, strlen(used));
	add_complaint(config, &line);
}

static void complain_name(struct tp_config *config, const char *name, size_t n,
			  const struct origin *origin)
{
	char buf[256];
	struct tp_text line;
	int nearest = tp_option_nearest(name, n);

	tp_text_init(&line, buf, sizeof(buf));
	tp_text_str(&line, TP_OPTION_PREFIX);
	for (size_t i = 0; i < n && i < SHOWN_MAX; i++)
		tp_text_char(&line, (unsigned char)name[i] < ' ' ? '?' : name[i]);
	show_origin(&line, origin);
	tp_text_str(&line, ": no such variable; ignored");
	if (nearest >= 0)
		tp_text_fmt(&line, " (%s%s is meant?)", TP_OPTION_PREFIX,
			    tp_options[nearest].name);
	add_complaint(config, &line);
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

static int parse_record(struct tp_config *config, const char *text, char *bad, uint32_t cap)
{
	uint32_t bits = 0, bit;

	for (bool is_last = !strcmp(text, "none"); !is_last;) {
		size_t n = strcspn(text, ",");

		is_last = text[n] == '\0';
		if (!find_word(record_word, text, n, &bit)) {
			struct tp_text out;

			tp_text_init(&out, bad, cap);
			tp_text_bytes(&out, text, n);
			return -EINVAL;
		}
		bits |= bit;
		text += n + 1;
	}
	config->record = bits;
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
	uint32_t word = 0;
	int err;

	if (option->kind == TP_OPTION_BYTES)
		err = tp_text_parse_bytes(text, &value);
	else if (option->kind == TP_OPTION_BOOL)
		err = find_word(bool_word, text, strlen(text), &word) ? 0 : -EINVAL;
	else
		err = tp_text_parse_u64(text, &value);
	if (err)
		return err;
	if (option->kind == TP_OPTION_BOOL)
		value = word;
	if (value < option->least || value > option->most)
		return -ERANGE;
	*field = value;
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

/* Parsers by kind, called with the row's field. */
#define PARSE_TEXT(field) parse_text(option, text, config->field)
#define PARSE_U64(field) parse_number(option, text, &config->field)
#define PARSE_BYTES(field) parse_number(option, text, &config->field)
#define PARSE_MS(field) parse_number(option, text, &config->field)
#define PARSE_BOOL(field) parse_number(option, text, &config->field)
#define PARSE_SCHEDULE(field) parse_schedule(config, text, bad, cap)
#define PARSE_RECORD(field) parse_record(config, text, bad, cap)
#define PARSE_STEP(field) parse_step(config, text)
#define PARSE_LOG(field) parse_word(log_word, text, &config->field)
#define PARSE_CLOCK(field) parse_word(clock_word, text, &config->field)

static int parse(struct tp_config *config, enum tp_option_id id, const char *text, char *bad,
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

/* ---- the CONFIG file ---- */

struct config_file {
	char text[CONFIG_FILE_MAX + 1];
	struct value value[TP_OPTION_N];
};

static char *trim(char *text)
{
	size_t n;

	text += strspn(text, " \t\r");
	n = strlen(text);
	while (n && strchr(" \t\r", text[n - 1]))
		n--;
	/* As a shell would: "..." and '...' are not part of the value. */
	if (n >= 2 && text[0] == text[n - 1] && (text[0] == '"' || text[0] == '\'')) {
		text++;
		n -= 2;
	}
	text[n] = '\0';
	return text;
}

static void complain_line(struct tp_config *config, const struct origin *origin, const char *what)
{
	char buf[256];
	struct tp_text line;

	tp_text_init(&line, buf, sizeof(buf));
	tp_text_str(&line, TP_OPTION_PREFIX "CONFIG ");
	show(&line, origin->file, strlen(origin->file));
	if (origin->line)
		tp_text_fmt(&line, " line %u", origin->line);
	tp_text_fmt(&line, ": %s", what);
	add_complaint(config, &line);
}

static void read_line(struct tp_config *config, struct config_file *file, char *line,
		      const struct origin *origin)
{
	char *equals, *name;
	size_t n_prefix = strlen(TP_OPTION_PREFIX);
	int id;

	line += strspn(line, " \t\r");
	if (!*line || *line == '#')
		return;
	if (!strncmp(line, "export ", 7))
		line += 7;
	equals = strchr(line, '=');
	if (!equals) {
		complain_line(config, origin, "not NAME=value; line ignored");
		return;
	}
	*equals = '\0';
	name = trim(line);
	if (!strncmp(name, TP_OPTION_PREFIX, n_prefix))
		name += n_prefix;
	id = tp_option_find(name, strlen(name));
	if (id < 0) {
		complain_name(config, name, strlen(name), origin);
		return;
	}
	if (id == TP_OPTION_ID_CONFIG) {
		complain_line(config, origin, "CONFIG names no further file; line ignored");
		return;
	}
	file->value[id].text = trim(equals + 1);
	file->value[id].origin = *origin;
}

static void read_file(struct tp_config *config, struct config_file *file, const char *path)
{
	struct origin origin = {path, 0};
	ssize_t n = tp_file_read(path, file->text, sizeof(file->text));
	char *line = file->text;

	if (n < 0) {
		char buf[256];
		struct tp_text text;

		tp_text_init(&text, buf, sizeof(buf));
		tp_text_fmt(&text, "cannot read it: %s; it is not used", strerror((int)-n));
		complain_line(config, &origin, buf);
		return;
	}
	if (n > CONFIG_FILE_MAX || memchr(file->text, '\0', (size_t)n)) {
		complain_line(config, &origin,
			      n > CONFIG_FILE_MAX ? "larger than 16384 bytes; it is not used" :
						    "not a text file; it is not used");
		return;
	}
	file->text[n] = '\0';
	while (line) {
		char *end = strchr(line, '\n');

		if (end)
			*end++ = '\0';
		origin.line++;
		read_line(config, file, line, &origin);
		line = end;
	}
}

/* ---- the whole ---- */

static const char *look_up(tp_config_getenv_fn lookup, void *ctx, enum tp_option_id id)
{
	char name[64];
	struct tp_text text;
	const char *value;

	tp_text_init(&text, name, sizeof(name));
	tp_text_fmt(&text, "%s%s", TP_OPTION_PREFIX, tp_options[id].name);
	value = lookup(ctx, name);
	/* Launch scripts write X=${X:-}: an empty value means that nothing was said. */
	return value && *value ? value : NULL;
}

static void take_value(struct tp_config *config, enum tp_option_id id, const struct value *value)
{
	char bad[SHOWN_MAX + 1];

	if (value->text && parse(config, id, value->text, bad, sizeof(bad)))
		complain_value(config, &tp_options[id], value, bad, tp_options[id].preset);
}

void tp_config_read(struct tp_config *config, tp_config_getenv_fn lookup, void *ctx)
{
	struct config_file file;
	struct value value = {NULL, {NULL, 0}};
	char bad[SHOWN_MAX + 1];

	memset(config, 0, sizeof(*config));
	for (int id = 0; id < TP_OPTION_N; id++)
		parse(config, (enum tp_option_id)id, tp_options[id].preset, bad, sizeof(bad));

	memset(file.value, 0, sizeof(file.value));
	value.text = look_up(lookup, ctx, TP_OPTION_ID_CONFIG);
	take_value(config, TP_OPTION_ID_CONFIG, &value);
	if (config->config[0])
		read_file(config, &file, config->config);

	for (int id = 0; id < TP_OPTION_N; id++) {
		if (id == TP_OPTION_ID_CONFIG)
			continue;
		value.text = look_up(lookup, ctx, (enum tp_option_id)id);
		if (!value.text && file.value[id].text && file.value[id].text[0])
			take_value(config, (enum tp_option_id)id, &file.value[id]);
		else
			take_value(config, (enum tp_option_id)id, &value);
	}
}

void tp_config_check_names(struct tp_config *config, char *const *environment)
{
	static const struct origin from_environment;
	size_t n_prefix = strlen(TP_OPTION_PREFIX);

	for (; environment && *environment; environment++) {
		const char *name = *environment + n_prefix;
		size_t n;

		if (strncmp(*environment, TP_OPTION_PREFIX, n_prefix))
			continue;
		n = strcspn(name, "=");
		if (tp_option_find(name, n) < 0)
			complain_name(config, name, n, &from_environment);
	}
}

void tp_config_report(const struct tp_config *config)
{
	const char *line = config->complaints;

	while (*line) {
		int n = (int)strcspn(line, "\n");

		tp_warn("%.*s", n, line);
		line += n + (line[n] == '\n');
	}
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

	if (config->is_off || spec->always) {
		tp_text_str(out, config->is_off ? "off" : "always");
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

static void describe_record(uint32_t bits, struct tp_text *out)
{
	static const struct word bit[] = {
		{"ops", TP_RECORD_OPS},
		{"shapes", TP_RECORD_SHAPES},
		{"tensors", TP_RECORD_TENSORS},
		{"host", TP_RECORD_HOST},
	};
	const char *comma = "";

	for (size_t i = 0; i < sizeof(bit) / sizeof(bit[0]); i++) {
		if (!(bits & bit[i].value))
			continue;
		tp_text_fmt(out, "%s%s", comma, bit[i].name);
		comma = ",";
	}
	if (!bits)
		tp_text_str(out, "none");
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
#define DESCRIBE_BOOL(field) tp_text_u64(out, config->field)
#define DESCRIBE_BYTES(field) tp_option_bytes(config->field, out)
#define DESCRIBE_SCHEDULE(field) describe_schedule(config, out)
#define DESCRIBE_RECORD(field) describe_record(config->field, out)
#define DESCRIBE_STEP(field) describe_step(&config->field, out)
#define DESCRIBE_LOG(field) tp_text_str(out, name_word(log_word, config->field))
#define DESCRIBE_CLOCK(field) tp_text_str(out, name_word(clock_word, config->field))

void tp_config_describe(const struct tp_config *config, struct tp_text *out)
{
#define _(NAME, KIND, field, preset, least, most, meaning)                                   \
	tp_text_str(out, #NAME "=");                                                       \
	DESCRIBE_##KIND(field);                                                            \
	tp_text_char(out, '\n');
#include "runtime/base/options.def"
#undef _
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.c - the TRAINPROF_ variables and the CONFIG file, read into a struct
 *
 * Runs in the constructor of every process under the preload, compilers and shells too: no
 * allocation, no output, and no file is opened unless CONFIG names one. What is wrong is kept
 * as text and said only when the process proves to train.
 */
#include <string.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/base/options.h"
#include "runtime/base/text.h"
#include "runtime/engine/config/config.h"
#include "runtime/engine/config/config_value.h"

enum {
	CONFIG_FILE_MAX = 16384,
	SHOWN_MAX = 60,		/* bytes of a bad value that a message repeats */
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
		tp_text_fmt(&text, "cannot read it: %s; it is not used", tp_file_error((int)n));
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

	if (value->text && tp_config_parse(config, id, value->text, bad, sizeof(bad)))
		complain_value(config, &tp_options[id], value, bad, tp_options[id].preset);
}

/* Values that are right and make no sense together. */
static void check_together(struct tp_config *config)
{
	static const char said[] = TP_OPTION_PREFIX "SCHEDULE=trigger: " TP_OPTION_PREFIX
		"TRIGGER is none; no step will be recorded";
	const struct tp_text line = {.buf = (char *)said, .len = sizeof(said) - 1};

	if (config->schedule.only_extra && !config->trigger.has_control)
		add_complaint(config, &line);
}

void tp_config_read(struct tp_config *config, tp_config_getenv_fn lookup, void *ctx)
{
	struct config_file file;
	struct value value = {NULL, {NULL, 0}};
	char bad[SHOWN_MAX + 1];

	memset(config, 0, sizeof(*config));
	for (int id = 0; id < TP_OPTION_N; id++)
		tp_config_parse(config, (enum tp_option_id)id, tp_options[id].preset, bad, sizeof(bad));

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
	check_together(config);
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

static void report_lines(const char *line)
{
	while (*line) {
		int n = (int)strcspn(line, "\n");

		tp_warn("%.*s", n, line);
		line += n + (line[n] == '\n');
	}
}

void tp_config_report(const struct tp_config *config)
{
	struct tp_config names;

	report_lines(config->complaints);
	names.complaints[0] = '\0';
	tp_config_check_names(&names, environ);
	report_lines(names.complaints);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_line.c - one line of a replay file: its kind, and fields of key=value
 */
#include "tests/progs/replay_line.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_MAX = 64, WARNED_MAX = 256 };

struct field {
	const char *key;
	char *value;
	bool is_used;
};

struct replay_line replay_line;

static struct {
	struct field field[FIELDS_MAX];
	uint32_t n;
	const char *warned[WARNED_MAX];
	uint32_t n_warned;
} in;

void replay_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "replay: %s:%u: ", replay_line.path, replay_line.number);
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	exit(2);
}

void replay_warn(const char *what, const char *name)
{
	char text[160];

	snprintf(text, sizeof(text), "%s '%.100s' is ignored", what, name);
	for (uint32_t i = 0; i < in.n_warned; i++)
		if (!strcmp(in.warned[i], text))
			return;
	if (in.n_warned == WARNED_MAX)
		return;
	in.warned[in.n_warned++] = strdup(text);
	fprintf(stderr, "replay: %s:%u: %s\n", replay_line.path, replay_line.number, text);
}

static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (*text != '%') {
			*to++ = *text;
		} else if (!strncmp(text, "%09", 3) || !strncmp(text, "%0A", 3) ||
			   !strncmp(text, "%25", 3)) {
			*to++ = text[2] == '9' ? '\t' : text[2] == 'A' ? '\n' : '%';
			text += 2;
		} else {
			replay_fail("'%.4s' is none of %%09, %%0A and %%25", text);
		}
	}
	*to = 0;
}

void replay_split(char *line)
{
	char *rest = line, *text, *equals;

	replay_line.kind = strsep(&rest, "\t");
	in.n = 0;
	while ((text = strsep(&rest, "\t"))) {
		equals = strchr(text, '=');
		if (!equals)
			replay_fail("'%.40s' is not key=value", text);
		if (in.n == FIELDS_MAX)
			replay_fail("more than %d fields", FIELDS_MAX);
		*equals = 0;
		unescape(equals + 1);
		in.field[in.n++] = (struct field){.key = text, .value = equals + 1};
	}
}

char *replay_text(const char *key)
{
	char *found = NULL;

	for (uint32_t i = 0; i < in.n; i++) {
		if (strcmp(in.field[i].key, key))
			continue;
		if (found)
			replay_fail("'%s' is there twice", key);
		in.field[i].is_used = true;
		found = in.field[i].value;
	}
	return found;
}

char *replay_need_text(const char *key)
{
	char *text = replay_text(key);

	if (!text)
		replay_fail("a '%s' line needs '%s'", replay_line.kind, key);
	return text;
}

int64_t replay_number(const char *key, const char *text)
{
	char *end;
	int64_t value;

	errno = 0;
	value = (*text == '-') ? strtoll(text, &end, 10) : (int64_t)strtoull(text, &end, 0);
	if (errno || end == text || *end)
		replay_fail("%s='%.40s' is no integer", key, text);
	return value;
}

int64_t replay_get(const char *key, int64_t otherwise)
{
	const char *text = replay_text(key);

	return text ? replay_number(key, text) : otherwise;
}

int64_t replay_need(const char *key)
{
	return replay_number(key, replay_need_text(key));
}

uint32_t replay_word(const char *key, const char *const *words, uint32_t otherwise)
{
	const char *text = replay_text(key);

	if (!text)
		return otherwise;
	for (uint32_t i = 0; words[i]; i++)
		if (!strcasecmp(words[i], text))
			return i;
	replay_fail("%s='%.40s' is none that is known", key, text);
}

void replay_triple(const char *key, uint32_t *out, uint32_t otherwise)
{
	const char *text = replay_text(key);

	out[0] = out[1] = out[2] = otherwise;
	if (text && sscanf(text, "%u,%u,%u", &out[0], &out[1], &out[2]) != 3)
		replay_fail("%s='%.40s' is not x,y,z", key, text);
}

void replay_ignore_rest(void)
{
	in.n = 0;
}

void replay_warn_unused(void)
{
	char key[96];

	for (uint32_t i = 0; i < in.n; i++)
		if (!in.field[i].is_used) {
			snprintf(key, sizeof(key), "%s.%s", replay_line.kind, in.field[i].key);
			replay_warn("key", key);
		}
}

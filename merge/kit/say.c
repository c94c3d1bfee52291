/* SPDX-License-Identifier: Apache-2.0 */
/*
 * say.c - lines for people about files that anybody may have named
 */
#include "merge/kit/say.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/show.h"

static _Thread_local struct {
	void (*line)(void *ctx, const char *line);
	void *ctx;
} taker;

char *tp_say_plain(char *text)
{
	size_t n = strlen(text);
	/* "\x1B" for one byte. */
	char *plain = n < UINT32_MAX / 4 ? malloc(4 * n + 1) : NULL;

	if (plain)
		tp_show_text(plain, (uint32_t)(4 * n + 1), text, (uint32_t)n);
	free(text);
	return plain;
}

static void put(FILE *out, const char *before, const char *format, va_list args, const char *after)
{
	char *text;

	if (vasprintf(&text, format, args) < 0)
		return;
	text = tp_say_plain(text);
	if (text)
		fprintf(out, "%s%s%s", before, text, after);
	free(text);
}

void tp_say_take(void (*take)(void *ctx, const char *line), void *ctx)
{
	taker.line = take;
	taker.ctx = ctx;
}

static void give(const char *format, va_list args)
{
	char *text;

	if (vasprintf(&text, format, args) < 0)
		return;
	text = tp_say_plain(text);
	if (text)
		taker.line(taker.ctx, text);
	free(text);
}

void tp_say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (taker.line)
		give(format, args);
	else
		put(stderr, "trainprof-merge: ", format, args, "\n");
	va_end(args);
}

void tp_say_to(FILE *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put(out, "", format, args, "\n");
	va_end(args);
}

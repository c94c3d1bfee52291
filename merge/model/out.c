/* SPDX-License-Identifier: Apache-2.0 */
/*
 * out.c - titles, lines and items of text, made printable and broken where they do not fit
 */
#include "merge/model/out.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/utf8.h"

static const struct {
	const char *name, *code;
} styles[] = {
    {"bold", "\033[1m"},    {"dim", "\033[2m"},	   {"red", "\033[1;31m"},
    {"yellow", "\033[33m"}, {"green", "\033[32m"},
};

const char *tp_out_style(const struct tp_out *out, const char *style)
{
	if (!out->has_color || !style)
		return "";
	for (uint32_t i = 0; i < sizeof(styles) / sizeof(styles[0]); i++)
		if (!strcmp(styles[i].name, style))
			return styles[i].code;
	return "";
}

char *tp_out_format(const char *format, va_list args)
{
	char first[512], *raw = first, *clean;
	va_list again;
	int n;

	va_copy(again, args);
	n = vsnprintf(first, sizeof(first), format, args);
	if (n >= (int)sizeof(first)) {
		raw = malloc((size_t)n + 1);
		if (raw)
			vsnprintf(raw, (size_t)n + 1, format, again);
	}
	va_end(again);
	if (n < 0 || !raw)
		return NULL;
	/* A byte becomes at most four. */
	clean = malloc((size_t)n * 4 + 1);
	if (clean)
		tp_show_text(clean, (uint32_t)n * 4 + 1, raw, (uint32_t)n);
	if (raw != first)
		free(raw);
	return clean;
}

void tp_out_pad(FILE *file, uint32_t columns)
{
	fprintf(file, "%*s", (int)columns, "");
}

/* Prints text from column `at` on, broken at spaces, continued at column `indent`. */
static void print_wrapped(struct tp_out *out, const char *text, uint32_t at,
			  uint32_t indent)
{
	uint32_t width = out->width > 20 ? out->width : 80;
	uint32_t n = (uint32_t)strlen(text);

	if (indent > width / 2)
		indent = width / 2;
	for (;;) {
		uint32_t fit = tp_utf8_head(text, n, width > at ? width - at : 1), end = fit,
			 shown;

		if (fit < n) {
			while (end > 0 && text[end] != ' ')
				end--;
			/* A word longer than the line (a path): whole, so that it can be
			 * copied. */
			if (end == 0)
				while (fit < n && text[fit] != ' ')
					fit++;
			if (end == 0)
				end = fit;
		}
		for (shown = end; end < n && shown > 0 && text[shown - 1] == ' ';)
			shown--;
		fwrite(text, 1, shown, out->file);
		text += end;
		n -= end;
		while (n && *text == ' ') {
			text++;
			n--;
		}
		if (!n)
			return;
		fputc('\n', out->file);
		tp_out_pad(out->file, indent);
		at = indent;
	}
}

static void print_styled(struct tp_out *out, char kind, const char *style,
			 uint32_t label_columns, const char *label, char *text)
{
	const char *code = tp_out_style(out, style);
	uint32_t indent = 0;
	char clean[256];

	if (!text || out->rows) {
		free(text);
		return;
	}
	tp_show_paths(text);
	if (label)
		tp_show_text(clean, sizeof(clean), label, (uint32_t)strlen(label));
	while (!label && text[indent] == ' ')
		indent++;
	if (out->to) {
		out->to->text(out->to->ctx, kind, style, indent, label ? clean : NULL,
			      text + indent);
		free(text);
		return;
	}
	fputs(code, out->file);
	if (label) {
		uint32_t used = tp_utf8_width(clean, (uint32_t)strlen(clean));

		fprintf(out->file, "  %s", clean);
		tp_out_pad(out->file, used < label_columns ? label_columns - used : 1);
		indent = 2 + label_columns;
		print_wrapped(out, text, used < label_columns ? indent : used + 3, indent);
	} else {
		tp_out_pad(out->file, indent);
		print_wrapped(out, text + indent, indent, indent + 2);
	}
	fputs(*code ? "\033[0m\n" : "\n", out->file);
	free(text);
}

void tp_out_title(struct tp_out *out, const char *format, ...)
{
	va_list args;

	if (!out->rows && !out->to)
		fputc('\n', out->file);
	va_start(args, format);
	print_styled(out, 't', "bold", 0, NULL, tp_out_format(format, args));
	va_end(args);
}

void tp_out_line(struct tp_out *out, const char *style, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_styled(out, 'l', style, 0, NULL, tp_out_format(format, args));
	va_end(args);
}

void tp_out_item(struct tp_out *out, const char *style, uint32_t label_columns,
		 const char *label, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_styled(out, 'i', style, label_columns, label, tp_out_format(format, args));
	va_end(args);
}

void tp_out_left(struct tp_out *out, uint64_t n, const char *what)
{
	char count[32];

	if (n)
		tp_out_line(out, "dim", "%s more %s%s", tp_show_count(count, n), what,
			    out->to ? "." : ": --top 0 shows all.");
}

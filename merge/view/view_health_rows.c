/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_health_rows.c - part of the view of health: what is found, as lines for people or rows
 */
#include "merge/view/view_health.h"

#include <stdarg.h>
#include <stdio.h>

enum { LABEL = 10 };

struct finding {
	const char *style, *what;
	char text[1200];
};

static const char *severity(const char *style)
{
	switch (*style) {
	case 'r':
		return "loss";
	case 'y':
		return "warning";
	case 'g':
		return "good";
	default:
		return "fact";
	}
}

static void put_finding(struct tp_row *r, const void *ctx, const void *of)
{
	const struct finding *finding = of;

	TP_TEXT(r, "finding", NULL, 0, "subject of the finding", "%s", finding->what);
	TP_TEXT(r, "severity", NULL, 0, "loss, warning, good or fact", "%s", severity(finding->style));
	TP_TEXT(r, "text", NULL, 0, "text of the finding", "%s", finding->text);
}

const struct tp_table_def tp_table_health = {
	.name = "health",
	.help = "what is lost, truncated, disabled or inconsistent, and facts about the run",
	.columns = put_finding,
	.row_bytes = sizeof(struct finding),
};

static void say(struct tp_health *health, const char *style, const char *label, const char *what,
		const char *format, va_list args)
{
	struct finding finding = {.style = style, .what = what};

	vsnprintf(finding.text, sizeof(finding.text), format, args);
	if (health->rows)
		tp_table_add(health->rows, &finding);
	else if (label)
		tp_out_item(health->out, style, LABEL, label, "%s", finding.text);
	else
		tp_out_line(health->out, style, "  %s", finding.text);
}

void tp_health_say(struct tp_health *health, const char *style, const char *what, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(health, style, NULL, what, format, args);
	va_end(args);
}

void tp_health_item(struct tp_health *health, const char *style, const char *what, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(health, style, what, what, format, args);
	va_end(args);
}

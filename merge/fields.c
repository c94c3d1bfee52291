/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fields.c - the fields of the views' tables: --help-columns, and what --sort may name
 */
#include "merge/fields.h"

#include <string.h>

enum { COLUMNS_MAX = 64 };

/* Short words of --sort for fields. */
static const struct {
	const char *word, *field;
} words[] = {
	{"self", "self_ns"},
	{"total", "total_ns"},
	{"memory", "self_bytes"},
	{"device", "device_self_ns"},
};

static bool has_field(const struct tp_view *const *view, uint32_t n, const char *field)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; view[i]->tables && view[i]->tables[k]; k++)
			if (tp_table_has_field(view[i]->tables[k], field))
				return true;
	return false;
}

const char *tp_fields_find(const struct tp_view *const *view, uint32_t n, const char *word)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(word, words[i].word))
			word = words[i].field;
	return has_field(view, n, word) ? word : NULL;
}

static bool is_among(const char *const *field, uint32_t n, const char *name)
{
	for (uint32_t i = 0; i < n; i++)
		if (field[i] == name || !strcmp(field[i], name))
			return true;
	return false;
}

uint32_t tp_fields_all(const struct tp_view *const *view, uint32_t n, const char **field, uint32_t cap)
{
	struct tp_column column[COLUMNS_MAX];
	uint32_t n_all = 1;

	field[0] = "process";
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; view[i]->tables && view[i]->tables[k]; k++) {
			uint32_t n_columns =
				tp_table_outline(view[i]->tables[k], column, COLUMNS_MAX);

			for (uint32_t c = 0; c < n_columns && n_all < cap; c++)
				if (!is_among(field, n_all, column[c].field))
					field[n_all++] = column[c].field;
		}
	return n_all;
}

void tp_fields_list(const struct tp_view *const *view, uint32_t n, FILE *file)
{
	const char *field[TP_FIELDS_MAX], *before = "";
	uint32_t n_fields = tp_fields_all(view, n, field, TP_FIELDS_MAX);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (has_field(view, n, words[i].field)) {
			fprintf(file, "%s%s", before, words[i].word);
			before = ", ";
		}
	for (uint32_t i = 0; i < n_fields; i++)
		if (i || has_field(view, n, field[i])) {
			fprintf(file, "%s%s", before, field[i]);
			before = ", ";
		}
}

static void print_table(const struct tp_table_def *def)
{
	struct tp_column column[COLUMNS_MAX];
	uint32_t n = def->name ? tp_table_outline(def, column, COLUMNS_MAX) : 0;

	if (!n)
		return;
	printf("  %s: %s\n", def->name, def->help);
	for (uint32_t c = 0; c < n; c++)
		printf("    %-26s  %-7s  %s\n", column[c].field, tp_unit_name(column[c].unit),
		       column[c].help);
}

void tp_fields_help(const struct tp_view *const *view)
{
	printf("Tables of the views with the fields that -f csv and jsonl write and --sort takes; those\n"
	       "that are unknown are left out. 'process' may stand before them.\n");
	for (uint32_t i = 0; view[i]; i++) {
		printf("\n%s\n", view[i]->name);
		for (uint32_t k = 0; view[i]->tables && view[i]->tables[k]; k++)
			print_table(view[i]->tables[k]);
	}
}

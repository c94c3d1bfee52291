/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c: the tables of views as CSV and JSON lines. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "merge/model/table.h"

static char *printed;

static void put_columns(struct tp_row *r, const void *ctx, const void *of)
{
	const int *row = of;

	TP_TEXT(r, "operator", "operator", 0, "", "%s", *row ? "12" : "a \"b\", c\n");
	TP_COUNT(r, "calls", "calls", 0, "", 1234567);
	TP_TEXT(r, NULL, "bar", 0, "", "####");
	TP_NS(r, "self_ns", NULL, 0, "", -1500);
	TP_PERCENT(r, "share_percent", "share", 0, "", 1, *row ? 0 : 3);
	TP_CELL(r, "limit", "limit", TP_UNIT_REAL, 0, "", *row ? (void)0 : tp_row_real(r, 1.5, 1));
}

static const char *print_as(enum tp_rows rows, const char *who)
{
	static const struct tp_table_def named = {.name = "operators", .columns = put_columns},
					 nameless = {.columns = put_columns};
	static const int row[] = {0, 1};
	static const char *const field[] = {"process", "calls", "other", "operator", "self_ns", "share_percent",
					    "limit"};
	struct tp_rows_to to = {.field = field, .n_fields = sizeof(field) / sizeof(field[0])};
	struct tp_out out = {.rows = rows, .rows_to = &to, .who = who, .width = 20};
	size_t n;

	free(printed);
	out.file = open_memstream(&printed, &n);
	tp_out_title(&out, "a title");
	tp_out_line(&out, "", "a line");
	tp_out_item(&out, "", 10, "label", "an item");
	tp_table_show(&nameless, NULL, row, 2, sizeof(row[0]), 0, &out);
	tp_table_show(&named, NULL, row, 2, sizeof(row[0]), 0, &out);
	fclose(out.file);
	return printed;
}

Test(rows, csv_has_one_header_of_all_tables)
{
	cr_assert_str_eq(print_as(TP_ROWS_CSV, NULL),
			 "table,process,calls,other,operator,self_ns,share_percent,limit\n"
			 "operators,,1234567,,\"a \"\"b\"\", c\\x0A\",-1500,33.3333,1.5\n"
			 "operators,,1234567,,12,-1500,0,\n");
	cr_assert_str_eq(print_as(TP_ROWS_CSV, "rank 3"),
			 "table,process,calls,other,operator,self_ns,share_percent,limit\n"
			 "operators,rank 3,1234567,,\"a \"\"b\"\", c\\x0A\",-1500,33.3333,1.5\n"
			 "operators,rank 3,1234567,,12,-1500,0,\n");
}

static char *read_file(const char *folder, const char *name)
{
	static char text[1000];
	char path[200];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "r");
	cr_assert_not_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = 0;
	fclose(file);
	unlink(path);
	return text;
}

/* A view shows some tables once for each process. */
Test(rows, a_folder_has_a_file_a_table)
{
	static const struct tp_table_def named = {.name = "operators", .columns = put_columns};
	static const int row[] = {0, 1};
	char folder[] = "/tmp/trainprof-rows.XXXXXX";
	struct tp_rows_to to = {.folder = mkdtemp(folder)};
	struct tp_out out = {.rows = TP_ROWS_CSV, .rows_to = &to};

	for (uint32_t i = 0; i < 2; i++) {
		out.who = i ? "rank 1" : "rank 0";
		tp_table_show(&named, NULL, &row[1], 1, sizeof(row[0]), 0, &out);
	}
	cr_assert_not(to.is_bad);
	cr_assert_str_eq(read_file(folder, "operators.csv"),
			 "process,operator,calls,self_ns,share_percent,limit\n"
			 "rank 0,12,1234567,-1500,0,\n"
			 "rank 1,12,1234567,-1500,0,\n");
	rmdir(folder);
	tp_table_show(&named, NULL, &row[1], 1, sizeof(row[0]), 0, &out);
	cr_assert(to.is_bad);
}

Test(rows, jsonl)
{
	cr_assert_str_eq(print_as(TP_ROWS_JSONL, "rank 3"),
			 "{\"table\":\"operators\",\"process\":\"rank 3\","
			 "\"operator\":\"a \\\"b\\\", c\\\\x0A\",\"calls\":1234567,\"self_ns\":-1500,"
			 "\"share_percent\":33.3333,\"limit\":1.5}\n"
			 "{\"table\":\"operators\",\"process\":\"rank 3\",\"operator\":\"12\","
			 "\"calls\":1234567,\"self_ns\":-1500,\"share_percent\":0,\"limit\":null}\n");
}

Test(rows, text_is_as_it_was)
{
	cr_assert_not_null(strstr(print_as(TP_ROWS_NONE, NULL), "a title"));
	cr_assert_not_null(strstr(printed, "label"));
}

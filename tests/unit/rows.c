/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c: the tables of views as CSV and JSON lines. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/table.h"

static char *printed;

static const char *print_as(enum tp_rows rows, const char *who)
{
	static const struct tp_old_column column[] = {
		{.title = "operator", .field = "operator"},
		{.title = "calls", .align = TP_RIGHT, .field = "calls"},
		{.title = "bar"},
		{.title = "self", .align = TP_RIGHT, .field = "self_ns"},
		{.title = "share", .align = TP_RIGHT, .field = "share_percent"},
		{.title = "limit", .align = TP_RIGHT, .field = "limit"},
	};
	struct tp_old_table *table = tp_table_new(column, 6), *nameless = tp_table_new(column, 6);
	struct tp_out out = {.rows = rows, .who = who, .width = 20};
	size_t n;

	free(printed);
	out.file = open_memstream(&printed, &n);
	tp_out_title(&out, "a title");
	tp_out_line(&out, "", "a line");
	tp_out_item(&out, "", 10, "label", "an item");
	tp_table_cell(nameless, "x");
	tp_table_print(nameless, &out);
	tp_table_name(table, "operators");
	for (int i = 0; i < 2; i++) {
		tp_table_cell(table, "%s", i ? "12" : "a \"b\", c\n");
		tp_cell_count(table, 1234567);
		tp_table_cell(table, "####");
		tp_cell_ns(table, -1500);
		tp_cell_percent(table, 1, i ? 0 : 3);
		tp_table_cell(table, "%s", i ? "" : "1.5");
	}
	tp_table_print(table, &out);
	fclose(out.file);
	return printed;
}

Test(rows, csv)
{
	cr_assert_str_eq(print_as(TP_ROWS_CSV, NULL),
			 "table,operator,calls,self_ns,share_percent,limit\n"
			 "operators,\"a \"\"b\"\", c\\x0A\",1234567,-1500,33.3333,1.5\n"
			 "operators,12,1234567,-1500,0,\n");
	cr_assert_str_eq(print_as(TP_ROWS_CSV, "rank 3"),
			 "table,process,operator,calls,self_ns,share_percent,limit\n"
			 "operators,rank 3,\"a \"\"b\"\", c\\x0A\",1234567,-1500,33.3333,1.5\n"
			 "operators,rank 3,12,1234567,-1500,0,\n");
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

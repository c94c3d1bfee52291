/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c - tests of text tables and of numbers as people read them
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/utf8.h"
#include "merge/model/table.h"

struct text {
	struct tp_out out;
	char *bytes;
	size_t n;
};

static void open_text(struct text *text, uint32_t width, bool has_color)
{
	memset(text, 0, sizeof(*text));
	text->out.file = open_memstream(&text->bytes, &text->n);
	text->out.width = width;
	text->out.has_color = has_color;
}

/* The text lives until the test ends. */
static const char *close_text(struct text *text)
{
	static char *kept[512];
	static uint32_t n;

	fclose(text->out.file);
	cr_assert_lt(n, sizeof(kept) / sizeof(kept[0]));
	return kept[n++] = text->bytes;
}

static uint32_t widest_line(const char *text)
{
	uint32_t widest = 0;

	while (*text) {
		const char *end = strchrnul(text, '\n');
		uint32_t width = tp_utf8_width(text, (uint32_t)(end - text));

		if (width > widest)
			widest = width;
		text = *end ? end + 1 : end;
	}
	return widest;
}

Test(table, shows_times_with_three_digits_and_a_unit)
{
	static const struct {
		int64_t ns;
		const char *shown;
	} cases[] = {
		{0, "0 ns"},		      {1, "1 ns"},
		{999, "999 ns"},	      {1000, "1.00 us"},
		{1234, "1.23 us"},	      {12345, "12.3 us"},
		{845000, "845 us"},	      {999499, "999 us"},
		{999500, "1.00 ms"},	      {12300000, "12.3 ms"},
		{9994999, "9.99 ms"},	      {9995000, "10.0 ms"},
		{99949999, "99.9 ms"},	      {99950000, "100 ms"},
		{1500000000, "1.50 s"},	      {119000000000, "119 s"},
		{119600000000, "1 min 59 s"}, {125000000000, "2 min 05 s"},
		{7260000000000, "2 h 01 min"}, {-12345, "-12.3 us"},
		{-5, "-5 ns"},		      {INT64_MIN, "-2562047 h 47 min"},
	};
	char buf[32];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_expect_str_eq(tp_show_ns(buf, cases[i].ns), cases[i].shown, "%ld ns: %s",
				 (long)cases[i].ns, buf);
}

Test(table, shows_bytes_in_binary_units)
{
	static const struct {
		int64_t bytes;
		const char *shown;
	} cases[] = {
		{0, "0 B"},		 {1023, "1023 B"},
		{1024, "1.00 KiB"},	 {1536, "1.50 KiB"},
		{1048575, "1.00 MiB"},	 {10485760, "10.0 MiB"},
		{1320702444, "1.23 GiB"}, {-1048576, "-1.00 MiB"},
		{INT64_MAX, "8.00 EiB"}, {INT64_MIN, "-8.00 EiB"},
	};
	char buf[32];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_expect_str_eq(tp_show_bytes(buf, cases[i].bytes), cases[i].shown, "%ld: %s",
				 (long)cases[i].bytes, buf);
}

Test(table, groups_thousands)
{
	char buf[32];

	cr_expect_str_eq(tp_show_count(buf, 0), "0");
	cr_expect_str_eq(tp_show_count(buf, 999), "999");
	cr_expect_str_eq(tp_show_count(buf, 1000), "1,000");
	cr_expect_str_eq(tp_show_count(buf, 12345), "12,345");
	cr_expect_str_eq(tp_show_count(buf, UINT64_MAX), "18,446,744,073,709,551,615");
}

Test(table, shows_shares_without_claiming_nothing_or_dividing_by_it)
{
	char buf[32];

	cr_expect_str_eq(tp_show_percent(buf, 1, 8), "12.5 %");
	cr_expect_str_eq(tp_show_percent(buf, 0, 8), "0.0 %");
	cr_expect_str_eq(tp_show_percent(buf, 1, 100000), "<0.1 %");
	cr_expect_str_eq(tp_show_percent(buf, 1, 0), "-");
	cr_expect_str_eq(tp_show_percent(buf, 0, 0), "-");
}

Test(table, makes_untrusted_text_printable)
{
	static const struct {
		const char *raw, *shown;
	} cases[] = {
		{"aten::mm", "aten::mm"},
		{"a\033[31mb", "a\\x1B[31mb"},
		{"a\nb\tc\r", "a\\x0Ab\\x09c\\x0D"},
		{"\x7f", "\\x7F"},
		{"gr\xc3\xb6\xc3\x9f""e", "gr\xc3\xb6\xc3\x9f""e"},
		{"a\xff""b", "a\xef\xbf\xbd""b"},
		/* cut in the middle of a character */
		{"a\xc3", "a\xef\xbf\xbd"},
		/* overlong slash, surrogate, beyond the last plane */
		{"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		/* right-to-left override, zero-width space, C1 control sequence introducer */
		{"a\xe2\x80\xae""b", "a\xef\xbf\xbd""b"},
		{"a\xe2\x80\x8b""b", "a\xef\xbf\xbd""b"},
		{"a\xc2\x9b""31m", "a\xef\xbf\xbd""31m"},
	};
	char buf[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_expect_str_eq(tp_show_text(buf, sizeof(buf), cases[i].raw,
					      (uint32_t)strlen(cases[i].raw)),
				 cases[i].shown, "case %zu: %s", i, buf);
}

Test(table, cuts_text_only_between_characters)
{
	char buf[8];

	for (uint32_t cap = 1; cap <= sizeof(buf); cap++) {
		uint32_t n;

		tp_show_text(buf, cap, "\xe4\xb8\xad\xe6\x96\x87\xe5\xad\x97", 9);
		n = (uint32_t)strlen(buf);
		cr_expect_lt(n, cap);
		cr_expect_eq(n % 3, 0);
	}
	tp_show_text(buf, 4, "ab\033", 3);
	cr_expect_str_eq(buf, "ab");
}

Test(table, counts_columns_of_wide_and_combining_characters)
{
	cr_expect_eq(tp_utf8_width("abc", 3), 3);
	cr_expect_eq(tp_utf8_width("\xe4\xb8\xad\xe6\x96\x87", 6), 4);
	cr_expect_eq(tp_utf8_width("e\xcc\x81", 3), 1);
	cr_expect_eq(tp_utf8_width("\xf0\x9f\x94\xa5", 4), 2);
	cr_expect_eq(tp_utf8_width("\xe2\x96\x88", 3), 1);
}

static const struct tp_old_column three[] = {
	{.title = "name", .may_cut = true},
	{.title = "calls", .align = TP_RIGHT},
	{.title = "note"},
};

Test(table, aligns_columns_and_leaves_no_space_at_the_end)
{
	struct tp_old_table *table = tp_table_new(three, 3);
	struct text text;

	open_text(&text, 80, false);
	tp_table_cell(table, "aten::mm");
	tp_table_cell(table, "%d", 7);
	tp_table_cell(table, "%s", "");
	tp_table_cell(table, "\xe4\xb8\xad");
	tp_table_cell(table, "12,345");
	tp_table_cell(table, "x");
	tp_table_print(table, &text.out);
	cr_expect_str_eq(close_text(&text), "name       calls  note\n"
					    "aten::mm       7\n"
					    "\xe4\xb8\xad        12,345  x\n",
			 "%s", text.bytes);
}

Test(table, cuts_the_long_column_in_its_middle)
{
	struct tp_old_table *table = tp_table_new(three, 3);
	struct text text;

	open_text(&text, 40, false);
	tp_table_cell(table, "autograd::engine::evaluate_function: AddmmBackward0");
	tp_table_cell(table, "7");
	tp_table_cell(table, "note");
	tp_table_print(table, &text.out);
	close_text(&text);
	cr_expect_eq(widest_line(text.bytes), 40, "%s", text.bytes);
	cr_expect(strstr(text.bytes, "autograd::eng\xe2\x80\xa6""ddmmBackward0"), "%s",
		  text.bytes);
}

Test(table, leaves_out_extra_columns_greatest_first_before_it_cuts_much)
{
	static const struct tp_old_column column[] = {
		{.title = "name", .may_cut = true}, {.title = "one"},
		{.title = "second", .is_extra = 1}, {.title = "third", .is_extra = 2},
	};
	static const struct {
		uint32_t width;
		const char *there, *gone;
	} cases[] = {{54, "third", "fourth"}, {48, "second", "third"}, {40, "one", "second"}};

	for (size_t i = 0; i < 3; i++) {
		struct tp_old_table *table = tp_table_new(column, 4);
		struct text text;

		open_text(&text, cases[i].width, false);
		tp_table_cell(table, "a name that is very much longer than thirty columns");
		tp_table_cell(table, "1");
		tp_table_cell(table, "2");
		tp_table_cell(table, "3");
		tp_table_print(table, &text.out);
		close_text(&text);
		cr_expect(strstr(text.bytes, cases[i].there), "%s", text.bytes);
		cr_expect_not(strstr(text.bytes, cases[i].gone), "%s", text.bytes);
		cr_expect_leq(widest_line(text.bytes), cases[i].width);
	}
}

/* Random tables of random characters at every width: no line is wider than the terminal. */
Test(table, is_never_wider_than_the_terminal)
{
	static const char *const pieces[] = {"a", "aten::", "\xe4\xb8\xad", "\xf0\x9f\x94\xa5",
					     "e\xcc\x81", "\xff", "\n", " ", "Backward0"};
	unsigned seed = 7;

	for (uint32_t round = 0; round < 400; round++) {
		struct tp_old_column column[5] = {{.title = "one"}, {.title = "two"}};
		uint32_t n_columns = 1 + rand_r(&seed) % 5, width = 10 + rand_r(&seed) % 120;
		struct tp_old_table *table;
		struct text text;

		for (uint32_t c = 0; c < n_columns; c++) {
			column[c].may_cut = rand_r(&seed) % 2;
			column[c].align = rand_r(&seed) % 2 ? TP_RIGHT : TP_LEFT;
			column[c].is_extra = (uint8_t)(rand_r(&seed) % 3);
		}
		table = tp_table_new(column, n_columns);
		/* The last row may have missing cells. */
		for (uint32_t i = rand_r(&seed) % 40; i > 0; i--) {
			char cell[400] = "";

			for (uint32_t k = rand_r(&seed) % 30; k > 0; k--)
				strcat(cell, pieces[rand_r(&seed) % 9]);
			tp_table_cell(table, "%s", cell);
		}
		open_text(&text, width, false);
		tp_table_print(table, &text.out);
		close_text(&text);
		cr_assert_leq(widest_line(text.bytes), width, "round %u, width %u:\n%s", round,
			      width, text.bytes);
	}
}

Test(table, styles_rows_only_where_there_is_color)
{
	for (int has_color = 0; has_color < 2; has_color++) {
		struct tp_old_table *table = tp_table_new(three, 3);
		struct text text;

		open_text(&text, 80, has_color);
		tp_table_cell(table, "plain");
		tp_table_cell(table, "1");
		tp_table_cell(table, "x");
		tp_table_cell(table, "bad");
		tp_table_cell(table, "2");
		tp_table_cell(table, "x");
		tp_table_style(table, "red");
		tp_table_print(table, &text.out);
		tp_out_line(&text.out, "green", "all good");
		close_text(&text);
		cr_expect_eq(strchr(text.bytes, '\033') != NULL, has_color);
		if (has_color) {
			cr_expect(strstr(text.bytes, "\nplain"));
			cr_expect(strstr(text.bytes, "\033[1;31mbad"));
			cr_expect(strstr(text.bytes, "\033[32mall good\033[0m\n"));
		}
	}
}

Test(table, breaks_lines_at_spaces_below_their_indentation)
{
	struct text text;

	open_text(&text, 30, false);
	tp_out_line(&text.out, "", "  one two three four five six seven eight");
	tp_out_item(&text.out, "", 6, "label", "one two three four five six");
	tp_out_line(&text.out, "", "%s", "a/path/that/is/longer/than/the/line/and/stays/whole end");
	tp_out_line(&text.out, "", "A=1  B=22222222222  C=333333  D");
	cr_expect_str_eq(close_text(&text), "  one two three four five six\n"
					    "    seven eight\n"
					    "  label one two three four\n"
					    "        five six\n"
					    "a/path/that/is/longer/than/the/line/and/stays/whole\n"
					    "  end\n"
					    "A=1  B=22222222222  C=333333\n"
					    "  D\n",
			 "%s", text.bytes);
}

Test(table, never_sends_control_characters_of_a_trace_to_a_terminal)
{
	struct tp_old_table *table = tp_table_new(three, 3);
	struct text text;

	open_text(&text, 80, true);
	tp_table_cell(table, "a\033]0;title\007b");
	tp_table_cell(table, "1");
	tp_table_cell(table, "x");
	tp_table_print(table, &text.out);
	tp_out_title(&text.out, "%s", "t\033[2Jt");
	tp_out_item(&text.out, "red", 4, "k\033[2Jk", "%s", "v\033[2Jv");
	close_text(&text);
	cr_expect_not(strstr(text.bytes, "\033]"));
	cr_expect_not(strstr(text.bytes, "\033[2J"));
	cr_expect(strstr(text.bytes, "a\\x1B]0;title\\x07b"));
}

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

/* Rows of texts, whatever their columns. */
struct texts {
	const char *text[4];
	const char *style;
};

static void put_three(struct tp_row *r, const void *ctx, const void *of)
{
	const struct texts *row = of;

	TP_TEXT(r, "name", "name", TP_CUT, "", "%s", row->text[0]);
	TP_TEXT(r, "calls", "calls", TP_TO_RIGHT, "", "%s", row->text[1]);
	TP_TEXT(r, NULL, "note", 0, "", "%s", row->text[2]);
	TP_STYLE(r, row->style);
}

static const struct tp_table_def three = {.name = "three", .columns = put_three};

static const char *print_three(const struct texts *row, uint32_t n, uint32_t width, bool has_color)
{
	struct text text;

	open_text(&text, width, has_color);
	tp_table_show(&three, NULL, row, n, sizeof(*row), 0, &text.out);
	return close_text(&text);
}

Test(table, aligns_columns_and_leaves_no_space_at_the_end)
{
	static const struct texts row[] = {{{"aten::mm", "7", ""}, NULL},
					   {{"\xe4\xb8\xad", "12,345", "x"}, NULL}};

	cr_expect_str_eq(print_three(row, 2, 80, false), "name       calls  note\n"
							 "aten::mm       7\n"
							 "\xe4\xb8\xad        12,345  x\n");
}

Test(table, cuts_the_long_column_in_its_middle)
{
	static const struct texts row = {
		{"autograd::engine::evaluate_function: AddmmBackward0", "7", "note"}, NULL};
	const char *text = print_three(&row, 1, 40, false);

	cr_expect_eq(widest_line(text), 40, "%s", text);
	cr_expect(strstr(text, "autograd::eng\xe2\x80\xa6""ddmmBackward0"), "%s", text);
}

static void put_extra(struct tp_row *r, const void *ctx, const void *of)
{
	TP_TEXT(r, NULL, "name", TP_CUT, "", "a name that is very much longer than thirty columns");
	TP_TEXT(r, NULL, "one", 0, "", "1");
	TP_TEXT(r, NULL, "second", TP_LESS(1), "", "2");
	TP_TEXT(r, NULL, "third", TP_LESS(2), "", "3");
}

Test(table, leaves_out_extra_columns_greatest_first_before_it_cuts_much)
{
	static const struct tp_table_def def = {.columns = put_extra};
	static const struct {
		uint32_t width;
		const char *there, *gone;
	} cases[] = {{54, "third", "fourth"}, {48, "second", "third"}, {40, "one", "second"}};

	for (size_t i = 0; i < 3; i++) {
		struct text text;

		open_text(&text, cases[i].width, false);
		tp_table_show(&def, NULL, "", 1, 1, 0, &text.out);
		close_text(&text);
		cr_expect(strstr(text.bytes, cases[i].there), "%s", text.bytes);
		cr_expect_not(strstr(text.bytes, cases[i].gone), "%s", text.bytes);
		cr_expect_leq(widest_line(text.bytes), cases[i].width);
	}
}

/* How the columns of a random table behave. */
struct random {
	uint32_t n_columns, how[5];
};

static void put_random(struct tp_row *r, const void *ctx, const void *of)
{
	static const char *const title[] = {"one", "two", "", "", ""};
	const struct random *random = ctx;
	const char (*cell)[400] = of;

	for (uint32_t c = 0; c < random->n_columns; c++)
		TP_TEXT(r, NULL, title[c], random->how[c], "", "%s", cell[c]);
	TP_DEPTH(r, (uint32_t)strlen(cell[0]) % 30);
}

/* Random tables of random characters at every width: no line is wider than the terminal. */
Test(table, is_never_wider_than_the_terminal)
{
	static const char *const pieces[] = {"a", "aten::", "\xe4\xb8\xad", "\xf0\x9f\x94\xa5",
					     "e\xcc\x81", "\xff", "\n", " ", "Backward0"};
	static const uint32_t hows[] = {TP_CUT, TP_TO_RIGHT, TP_LESS(1), TP_LESS(2), TP_TREE, TP_INSET};
	static const struct tp_table_def def = {
		.columns = put_random, .row_bytes = sizeof(char[5][400])};
	unsigned seed = 7;

	for (uint32_t round = 0; round < 400; round++) {
		uint32_t width = 10 + rand_r(&seed) % 120;
		struct random random = {.n_columns = 1 + rand_r(&seed) % 5};
		struct tp_table *table;
		struct text text;

		for (uint32_t c = 0; c < random.n_columns; c++)
			for (uint32_t i = 0; i < sizeof(hows) / sizeof(hows[0]); i++)
				random.how[c] |= rand_r(&seed) % 2 ? hows[i] : 0;
		open_text(&text, width, false);
		table = tp_table_begin(&def, &random, 0, &text.out);
		for (uint32_t i = rand_r(&seed) % 10; i > 0; i--) {
			char cell[5][400] = {""};

			for (uint32_t c = 0; c < random.n_columns; c++)
				for (uint32_t k = rand_r(&seed) % 30; k > 0; k--)
					strcat(cell[c], pieces[rand_r(&seed) % 9]);
			tp_table_add(table, cell);
		}
		tp_table_end(table);
		close_text(&text);
		cr_assert_leq(widest_line(text.bytes), width, "round %u, width %u:\n%s", round,
			      width, text.bytes);
	}
}

Test(table, styles_rows_only_where_there_is_color)
{
	static const struct texts row[] = {{{"plain", "1", "x"}, NULL}, {{"bad", "2", "x"}, "red"}};

	for (int has_color = 0; has_color < 2; has_color++) {
		const char *text = print_three(row, 2, 80, has_color);

		cr_expect_eq(strchr(text, '\033') != NULL, has_color);
		if (has_color) {
			cr_expect(strstr(text, "\nplain"));
			cr_expect(strstr(text, "\033[1;31mbad"));
		}
	}
}

struct figures {
	const char *name;
	int64_t ns;
	bool is_known;
	uint32_t depth;
};

struct context {
	bool has_time;
};

static void put_figures(struct tp_row *r, const void *ctx, const void *of)
{
	const struct context *context = ctx;
	const struct figures *row = of;

	TP_TEXT(r, "name", "name", TP_TREE, "what it is called", "%s", row->name);
	TP_WHEN(r, context->has_time)
		TP_CELL(r, "time_ns", "time", TP_UNIT_NS, 0, "how long it took",
			row->is_known ? tp_row_integer(r, row->ns) : (void)0);
	TP_TEXT(r, "whole_name", "whole", TP_ROWS_ONLY, "its whole name", "%s", row->name);
	TP_PERCENT(r, "percent", "%", 0, "part of all", row->ns, 4000);
	TP_DEPTH(r, row->depth);
}

static const struct tp_table_def figures = {
	.name = "figures", .columns = put_figures, .order = "time_ns", .help = "some figures"};
static const struct figures some[] = {
	{"b", 1000, true, 0}, {"c", 3000, true, 1}, {"none", 0, false, 0}, {"a", 1000, true, 2}};

static const char *print_figures(const char *sort, bool has_time, uint32_t top, uint32_t *n_left)
{
	const struct context context = {has_time};
	struct text text;

	open_text(&text, 80, false);
	text.out.sort = sort;
	*n_left = tp_table_show(&figures, &context, some, 4, sizeof(some[0]), top, &text.out);
	return close_text(&text);
}

Test(table, is_sorted_by_its_order_or_any_field_and_then_cut)
{
	uint32_t n_left;

	/* Equal ones in the order in which they came, what has no figure last. */
	cr_expect_str_eq(print_figures(NULL, true, 0, &n_left), "name      time       %\n"
								"  c    3.00 us  75.0 %\n"
								"b      1.00 us  25.0 %\n"
								"    a  1.00 us  25.0 %\n"
								"none             0.0 %\n");
	cr_expect_eq(n_left, 0);
	cr_expect_str_eq(print_figures("name", true, 2, &n_left), "name      time       %\n"
								  "    a  1.00 us  25.0 %\n"
								  "b      1.00 us  25.0 %\n");
	cr_expect_eq(n_left, 2);
	/* A field of which nothing is known does not sort it. */
	cr_expect_str_eq(print_figures("time_ns", false, 2, &n_left), "name       %\n"
								      "b     25.0 %\n"
								      "  c   75.0 %\n");
}

Test(table, tells_its_columns_without_a_run)
{
	struct tp_column column[8];
	struct tp_out out = {.sort = "percent"};

	cr_assert_eq(tp_table_outline(&figures, column, 8), 4);
	cr_expect_str_eq(column[0].field, "name");
	cr_expect_str_eq(column[1].field, "time_ns");
	cr_expect_eq(column[1].unit, TP_UNIT_NS);
	cr_expect_str_eq(column[2].field, "whole_name");
	cr_expect_eq(column[3].unit, TP_UNIT_PERCENT);
	cr_expect(tp_table_has_field(&figures, "percent"));
	cr_expect_not(tp_table_has_field(&figures, "time"));
	cr_expect_str_eq(tp_table_order(&figures, &(const struct context){true}, &out), "part of all");
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
	static const struct texts row = {{"a\033]0;title\007b", "1", "x"}, NULL};
	struct text text;

	open_text(&text, 80, true);
	tp_table_show(&three, NULL, &row, 1, sizeof(row), 0, &text.out);
	tp_out_title(&text.out, "%s", "t\033[2Jt");
	tp_out_item(&text.out, "red", 4, "k\033[2Jk", "%s", "v\033[2Jv");
	tp_out_line(&text.out, "green", "all good");
	close_text(&text);
	cr_expect_not(strstr(text.bytes, "\033]"));
	cr_expect_not(strstr(text.bytes, "\033[2J"));
	cr_expect(strstr(text.bytes, "a\\x1B]0;title\\x07b"));
	cr_expect(strstr(text.bytes, "\033[32mall good\033[0m\n"));
}

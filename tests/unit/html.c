/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html*.c and page_*.c of the merge: data that stay data inside of a page, tables as views print
 * them, curves in bounded memory; sink_html.c tests the page as a whole
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "merge/page/html_tables.h"
#include "merge/page/page_curve.h"
#include "merge/page/page_files.h"
#include "tests/unit/text_file.h"

static struct {
	struct tp_html html;
	char path[64];
} page;

static void begin_page(void)
{
	int fd;

	strcpy(page.path, "/tmp/trainprof-html.XXXXXX");
	fd = mkstemp(page.path);
	cr_assert_geq(fd, 0);
	close(fd);
	page.html = (struct tp_html){.out = tp_outfile_open(page.path)};
	cr_assert_not_null(page.html.out);
}

static char *end_page(void)
{
	char *text;

	cr_assert_eq(tp_outfile_close(page.html.out), 0);
	text = read_whole(page.path);
	unlink(page.path);
	return text;
}

Test(html, what_a_trace_says_ends_no_script_and_no_string)
{
	static const char hostile[] = "</script><!-- & \"'\\ "
				      "\xe2\x80\xa8\xe2\x80\xa9 \xff\xc3 \x01\n";
	char *text;

	begin_page();
	tp_html_open(&page.html, NULL, '[');
	tp_html_bytes(&page.html, NULL, hostile, sizeof(hostile) - 1);
	tp_html_text(&page.html, NULL, NULL);
	tp_html_close(&page.html, ']');
	text = end_page();
	cr_expect_null(strpbrk(text, "<>&"));
	cr_expect_null(strstr(text, "\xe2\x80\xa8"));
	cr_expect_not_null(strstr(text, "\\u003c/script\\u003e\\u003c!-- \\u0026 \\\"'\\\\ "),
			   "%s", text);
	cr_expect_not_null(strstr(text, "\xef\xbf\xbd\xef\xbf\xbd \\\\x01\\\\x0A\",\"\"]"),
			   "%s", text);
	free(text);
}

Test(html, strings_are_cut_between_characters)
{
	enum { N = 1 << 20 };
	char *bytes = malloc(N), *text;

	/* Two bytes a character, from an odd place on. */
	for (uint32_t i = 0; i + 1 < N; i += 2)
		memcpy(bytes + i + 1, "\xc3\xa9", i + 2 < N ? 2 : 1);
	bytes[0] = 'x';
	begin_page();
	tp_html_bytes(&page.html, NULL, bytes, N);
	text = end_page();
	cr_expect_eq(strlen(text), 1 + 1 + (TP_HTML_TEXT_MAX - 2) + 3 + 1, "%zu", strlen(text));
	cr_expect_not_null(strstr(text, "\xc3\xa9\xe2\x80\xa6\""));
	cr_expect_null(strstr(text, "\xef\xbf\xbd"));
	free(text);
	/* Nothing but what becomes six bytes each. */
	memset(bytes, '<', N);
	begin_page();
	tp_html_bytes(&page.html, NULL, bytes, N);
	text = end_page();
	cr_expect_eq(count(text, "\\u003c"), TP_HTML_TEXT_MAX);
	free(text);
	free(bytes);
}

Test(html, commas_stand_between_values)
{
	char *text;

	begin_page();
	tp_html_open(&page.html, NULL, '{');
	tp_html_open(&page.html, "a", '[');
	tp_html_close(&page.html, ']');
	tp_html_integer(&page.html, "b", -7);
	tp_html_open(&page.html, "c", '[');
	tp_html_real(&page.html, NULL, 0.25);
	tp_html_real(&page.html, NULL, 1.0 / 0.0);
	tp_html_open(&page.html, NULL, '{');
	tp_html_close(&page.html, '}');
	tp_html_close(&page.html, ']');
	tp_html_close(&page.html, '}');
	text = end_page();
	cr_expect_str_eq(text, "{\"a\":[],\"b\":-7,\"c\":[0.25,null,{}]}");
	free(text);
}

static void put_columns(struct tp_row *r, const void *ctx, const void *of)
{
	const int *row = of;

	TP_TEXT(r, "name", "name", TP_TREE, "what it is called", "row %d", *row);
	TP_NS(r, "time_ns", "time", TP_LESS(1), "its time", 1500 + *row);
	TP_REAL(r, NULL, "mixed", 0, "for people only", 2.5, 1);
	TP_PERCENT(r, "percent", "share", 0, "its share", 1, *row ? 4 : 0);
	TP_COUNT(r, "calls", "calls", TP_ROWS_ONLY, "for programs only", 3);
	TP_DEPTH(r, (uint32_t)*row);
	TP_STYLE(r, *row ? "yellow" : "");
}

Test(html, tables_keep_their_figures_and_units)
{
	static const struct tp_table_def def = {
		.name = "some", .columns = put_columns, .order = "time_ns"};
	static const int row[] = {0, 1};
	struct tp_html_plain *plain = tp_html_plain_new();
	struct tp_html_tables tables;
	struct tp_out *out;
	char *text, *rest;

	begin_page();
	tp_html_open(&page.html, NULL, '[');
	out = tp_html_tables(&tables, &page.html, plain, NULL);
	cr_expect(tp_out_is_full(out));
	tp_out_title(out, "A <title>");
	tp_out_item(out, "red", 10, "label", "%d of it", 3);
	cr_expect_eq(tp_table_show(&def, NULL, row, 2, sizeof(row[0]), 0, out), 0);
	tp_out_line(out, "", "  last");
	tp_html_close(&page.html, ']');
	tp_html_plain_put(plain, &page.html);
	text = end_page();
	rest = strstr(text, "<div id=\"plain\">");
	cr_assert_not_null(rest);
	cr_expect_str_eq(rest, "<div id=\"plain\">\n<h3>A &lt;title&gt;</h3>\n<p><b>label</b> 3 of it</p>\n"
		"<div class=\"scroll\"><table><thead><tr><th>name</th><th class=\"right\">time</th>"
		"<th class=\"right\">mixed</th><th class=\"right\">share</th></tr></thead><tbody>\n"
		"<tr><td>&nbsp;&nbsp;row 1</td><td class=\"right\">1.50 us</td><td class=\"right\">2.5</td>"
		"<td class=\"right\">25.0 %</td></tr>\n"
		"<tr><td>row 0</td><td class=\"right\">1.50 us</td><td class=\"right\">2.5</td>"
		"<td class=\"right\">-</td></tr>\n"
		"</tbody></table></div>\n<p>last</p>\n</div>\n");
	*rest = 0;
	cr_expect_str_eq(text,
		"[{\"kind\":\"t\",\"style\":\"bold\",\"text\":\"A \\u003ctitle\\u003e\"},"
		"{\"kind\":\"i\",\"style\":\"red\",\"label\":\"label\",\"text\":\"3 of it\"},"
		"{\"name\":\"some\",\"order\":\"time_ns\",\"columns\":["
		"{\"title\":\"name\",\"field\":\"name\",\"help\":\"what it is called\",\"unit\":\"text\","
		"\"tree\":1},"
		"{\"title\":\"time\",\"field\":\"time_ns\",\"help\":\"its time\",\"unit\":\"ns\",\"right\":1},"
		"{\"title\":\"mixed\",\"help\":\"for people only\",\"unit\":\"real\",\"right\":1,\"decimals\":1},"
		"{\"title\":\"share\",\"field\":\"percent\",\"help\":\"its share\",\"unit\":\"percent\","
		"\"right\":1}],"
		"\"rows\":[[\"row 1\",1501,2.5,25],[\"row 0\",1500,2.5,\"-\"]],\"depths\":[1,0],"
		"\"styles\":{\"0\":\"yellow\"}},"
		"{\"kind\":\"l\",\"indent\":2,\"text\":\"last\"}]");
	free(text);
}

Test(html, binary_data_is_base64)
{
	static const uint8_t bytes[] = {0, 0xff, 0x10, 0x83, 'a'};
	char *text;

	begin_page();
	tp_html_open(&page.html, NULL, '[');
	for (size_t n = 0; n <= sizeof(bytes); n++)
		tp_html_base64(&page.html, NULL, bytes, n);
	tp_html_close(&page.html, ']');
	text = end_page();
	cr_expect_str_eq(text, "[\"\",\"AA==\",\"AP8=\",\"AP8Q\",\"AP8Qgw==\",\"AP8Qg2E=\"]");
	free(text);
}

Test(html, a_curve_of_a_million_points_keeps_its_extremes)
{
	struct tp_page_curve curve = {.width_ns = 0};
	double least = 1e9, most = -1e9;

	for (int64_t i = 0; i < 1000000; i++) {
		double value = i == 300000 ? 77777 : i == 700000 ? -5 : (double)(i % 1000);

		cr_assert(tp_page_curve_add(&curve, i * 12345 - 1000000000, value));
	}
	cr_expect_leq(curve.n, TP_PAGE_CURVE_MAX);
	cr_expect_gt(curve.n, TP_PAGE_CURVE_MAX / 4);
	tp_page_curve_shrink(&curve, 100);
	cr_expect_leq(curve.n, 100);
	cr_expect_gt(curve.n, 40);
	for (uint32_t i = 0; i < curve.n; i++) {
		least = curve.slot[i].least < least ? curve.slot[i].least : least;
		most = curve.slot[i].most > most ? curve.slot[i].most : most;
		cr_expect(!i || curve.slot[i].at > curve.slot[i - 1].at);
	}
	cr_expect_float_eq(least, -5, 1e-9);
	cr_expect_float_eq(most, 77777, 1e-9);
	cr_expect_leq(curve.slot[0].at * curve.width_ns, -1000000000);
	cr_expect_gt((curve.slot[0].at + 1) * curve.width_ns, -1000000000);
	tp_page_curve_free(&curve);
}

Test(html, time_between_windows_takes_no_slots)
{
	struct tp_page_curve curve = {.width_ns = 0};

	/* Two windows of a millisecond, an hour between them. */
	for (int64_t i = 0; i < 1000; i++)
		tp_page_curve_add(&curve, i * 1000, 1);
	for (int64_t i = 0; i < 1000; i++)
		tp_page_curve_add(&curve, 3600000000000 + i * 1000, 2);
	cr_expect_eq(curve.n, 2000);
	cr_expect_eq(curve.width_ns, 1000);
	/* What comes late counts for the last slot. */
	tp_page_curve_add(&curve, 5, 9);
	cr_expect_eq(curve.n, 2000);
	cr_expect_float_eq(curve.slot[1999].most, 9, 1e-9);
	tp_page_curve_free(&curve);
}

Test(html, the_sources_of_the_page_are_known_by_their_hashes)
{
	char hash[TP_PAGE_FILES][64];
	size_t n;

	for (enum tp_page_file i = 0; i < TP_PAGE_FILES; i++) {
		tp_page_hash(i, hash[i]);
		cr_expect_eq(strlen(hash[i]), 7 + 44);
		cr_expect_eq(hash[i][50], '=');
		cr_expect_eq(strncmp(hash[i], "sha256-", 7), 0);
		tp_page_file(i, &n);
		cr_expect(n || i >= TP_PAGE_CHARTS_CSS);
		for (enum tp_page_file k = 0; k < i && n; k++)
			cr_expect_str_neq(hash[i], hash[k]);
	}
}

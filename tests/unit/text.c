/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.c - the formatter says what printf would; sizes, numbers and templates are parsed
 * whole
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/text.h"

#define SAME(...)                                                                          \
	do {                                                                               \
		char want_[256], got_[256];                                                \
		struct tp_text text_;                                                      \
		snprintf(want_, sizeof(want_), __VA_ARGS__);                               \
		tp_text_init(&text_, got_, sizeof(got_));                                  \
		tp_text_fmt(&text_, __VA_ARGS__);                                          \
		cr_assert_str_eq(got_, want_);                                             \
		cr_assert_eq(text_.len, strlen(want_));                                    \
	} while (0)

Test(text, formats_as_printf_does)
{
	SAME("plain");
	SAME("%s and %s.", "one", "");
	SAME("%.*s|%.*s", 3, "abcdef", 10, "xyz");
	SAME("%d %d %d %d", 0, -1, 2147483647, -2147483647 - 1);
	SAME("%u %lu %zu", 4294967295u, 18446744073709551615ul, (size_t)17);
	SAME("%ld %lld", -9223372036854775807l - 1, 5ll);
	SAME("%x %lx %016lx", 0xdeadbeefu, 0xfeedul, 0x12ul);
	SAME("%5d|%05d|%5d|%05d", 42, 42, -42, -42);
	SAME("%8s|%3s", "right", "longer");
	SAME("%c%c 100%%", 'o', 'k');
	SAME("%02u:%02u", 7u, 123u);
}

Test(text, copies_what_it_does_not_know)
{
	/* Through a variable: the compiler rightly objects to such formats. */
	static const char *const format[] = {"%q", "%", "100%", "%5", "%-3d %"};
	char got[64];
	struct tp_text text;

	for (size_t i = 0; i < sizeof(format) / sizeof(format[0]); i++) {
		va_list none;

		memset(&none, 0, sizeof(none));
		tp_text_init(&text, got, sizeof(got));
		tp_text_vfmt(&text, format[i], none);
		cr_assert_str_eq(got, format[i]);
	}
}

Test(text, takes_null_for_a_word)
{
	char got[32];
	struct tp_text text;
	const char *volatile nothing = NULL;

	tp_text_init(&text, got, sizeof(got));
	tp_text_fmt(&text, "<%s>", nothing);
	cr_assert_str_eq(got, "<(null)>");
}

Test(text, is_cut_at_its_end_and_remembers)
{
	char got[8];
	struct tp_text text;

	for (size_t cap = 1; cap <= sizeof(got); cap++) {
		memset(got, 'x', sizeof(got));
		tp_text_init(&text, got, cap);
		tp_text_fmt(&text, "%s-%d", "abcd", 123456);
		cr_assert_eq(text.len, cap - 1);
		cr_assert_eq(strlen(got), cap - 1);
		cr_assert(text.is_cut);
		cr_assert_eq(strncmp(got, "abcd-123456", cap - 1), 0);
	}
	tp_text_init(&text, got, 8);
	tp_text_u64(&text, 1234567);
	cr_assert_not(text.is_cut);
}

Test(text, parses_sizes_and_numbers_whole_or_not_at_all)
{
	static const struct {
		const char *word;
		int bytes_err, u64_err;
		uint64_t bytes;
	} row[] = {
	    {"0", 0, 0, 0},
	    {"123", 0, 0, 123},
	    {"64K", 0, -EINVAL, 65536},
	    {"32M", 0, -EINVAL, 32 << 20},
	    {"32m", 0, -EINVAL, 32 << 20},
	    {"1G", 0, -EINVAL, 1 << 30},
	    {"2T", 0, -EINVAL, 2ull << 40},
	    {"18446744073709551615", 0, 0, UINT64_MAX},
	    {"18446744073709551616", -ERANGE, -ERANGE, 0},
	    {"99999999999999999999999", -ERANGE, -ERANGE, 0},
	    {"17592186044416M", -ERANGE, -EINVAL, 0},
	    {"", -EINVAL, -EINVAL, 0},
	    {"-1", -EINVAL, -EINVAL, 0},
	    {"+1", -EINVAL, -EINVAL, 0},
	    {" 1", -EINVAL, -EINVAL, 0},
	    {"1 ", -EINVAL, -EINVAL, 0},
	    {"K", -EINVAL, -EINVAL, 0},
	    {"1KB", -EINVAL, -EINVAL, 0},
	    {"1.5M", -EINVAL, -EINVAL, 0},
	    {"0x10", -EINVAL, -EINVAL, 0},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		uint64_t v = 77;

		cr_assert_eq(tp_text_parse_bytes(row[i].word, &v), row[i].bytes_err, "'%s'",
			     row[i].word);
		cr_assert_eq(v, row[i].bytes_err ? 77 : row[i].bytes, "'%s'", row[i].word);
		v = 77;
		cr_assert_eq(tp_text_parse_u64(row[i].word, &v), row[i].u64_err, "'%s'",
			     row[i].word);
		cr_assert_eq(v, row[i].u64_err ? 77 : row[i].bytes, "'%s'", row[i].word);
	}
}

static bool look_up(void *ctx, const char *field, size_t n, struct tp_text *out)
{
	if (n == 4 && !memcmp(field, "rank", 4))
		tp_text_u64(out, 7);
	else if (n == 5 && !memcmp(field, "brace", 5))
		tp_text_str(out, "{rank}");
	else
		return false;
	return true;
}

static void note_unknown(void *ctx, const char *field, size_t n)
{
	tp_text_bytes(ctx, field, n);
	tp_text_char(ctx, ';');
}

Test(text, expands_templates_once_and_reports_unknown_fields)
{
	static const struct {
		const char *pattern, *want, *unknown;
	} row[] = {
	    {"", "", ""},
	    {"no field", "no field", ""},
	    {"rank{rank}.tpt", "rank7.tpt", ""},
	    {"{rank}{rank}", "77", ""},
	    {"{brace}", "{rank}", ""},
	    {"{rnak}-{rank}", "{rnak}-7", "rnak;"},
	    {"{}", "{}", ";"},
	    {"{rank", "{rank", ""},
	    {"rank}", "rank}", ""},
	};
	char got[64], unknown[64];

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct tp_text out, missed;

		tp_text_init(&out, got, sizeof(got));
		tp_text_init(&missed, unknown, sizeof(unknown));
		tp_text_expand(&out, row[i].pattern, look_up, note_unknown, &missed);
		cr_assert_str_eq(got, row[i].want);
		cr_assert_str_eq(unknown, row[i].unknown);
		tp_text_init(&out, got, sizeof(got));
		tp_text_expand(&out, row[i].pattern, look_up, NULL, NULL);
		cr_assert_str_eq(got, row[i].want);
	}
}

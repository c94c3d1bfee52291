/* SPDX-License-Identifier: Apache-2.0 */
/* json_in.c: values as they stand in a text, whole, cut and damaged. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/json_in.h"

/* An exact copy, so that a sanitizer sees every byte read beyond it. */
static struct tp_json_in copy_of(const char *text, size_t n, char **copy)
{
	*copy = malloc(n ? n : 1);
	memcpy(*copy, text, n);
	return (struct tp_json_in){.at = *copy, .end = *copy + n};
}

Test(json_in, numbers_in_units)
{
	static const struct {
		const char *text;
		uint32_t scale;
		bool is_one;
		int64_t want;
	} cases[] = {
		{"0,", 1, true, 0}, {"-12 ", 1, true, -12}, {"1.5]", 1000, true, 1500},
		{"12.3456]", 1000, true, 12346}, {"12.3454]", 1000, true, 12345},
		{"-0.001}", 1000, true, -1}, {"-5.12}", 1000, true, -5120}, {"7.,", 1000, true, 7000},
		{"999999999999999.999,", 1000, true, 999999999999999999},
		{"1234567890123456.789,", 1000, true, 1234567890123456789},
		{"123456789012345678,", 1, true, 123456789012345678}, {"1.2x,", 1000, false, 0}, {"1623212760127829,", 1000, true, 1623212760127829000},
		{"4458676981028.392,", 1000, true, 4458676981028392}, {"1e3,", 1, true, 1000},
		{"1.6e15,", 1000, true, 1600000000000000000}, {"\"17\",", 1, true, 17},
		{"\"stream 7\"}", 1, false, 0}, {"NaN,", 1, false, 0}, {"Infinity,", 1, false, 0},
		{"null,", 1, false, 0}, {"true,", 1, false, 0}, {"[1,2]", 1, false, 0},
		{"{\"a\":[1]}", 1, false, 0}, {"9300000000000000000,", 1, false, 0},
		{"99999999999999999999,", 1, false, 0}, {"-,", 1, false, 0}, {"\"\"]", 1, false, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t number = 0;
		char *copy;
		struct tp_json_in in = copy_of(cases[i].text, strlen(cases[i].text), &copy);

		cr_assert_eq(tp_json_in_number(&in, cases[i].scale, &number), cases[i].is_one,
			     "%s", cases[i].text);
		cr_assert(!in.is_bad && !in.is_short, "%s", cases[i].text);
		if (cases[i].is_one)
			cr_assert_eq(number, cases[i].want, "%s: %lld", cases[i].text,
				     (long long)number);
		free(copy);
	}
}

Test(json_in, escapes_become_utf8)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"plain", "plain"}, {"a\\\"b\\\\c\\/", "a\"b\\c/"}, {"\\n\\t\\r\\b\\f", "\n\t\r\b\f"},
		{"\\u0041\\u00e9\\u20ac", "A\xc3\xa9\xe2\x82\xac"},
		{"\\ud83d\\ude00", "\xf0\x9f\x98\x80"}, {"\\ud83d", "\xef\xbf\xbd"},
		{"\\u00", "u00"}, {"\\q", "q"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tp_json_text text = {.bytes = cases[i].text,
					    .n = (uint32_t)strlen(cases[i].text)};
		char out[64];

		out[tp_json_in_plain(&text, out, sizeof(out) - 1)] = 0;
		cr_assert_str_eq(out, cases[i].want);
		for (uint32_t cap = 0; cap < strlen(cases[i].want); cap++)
			cr_assert_leq(tp_json_in_plain(&text, out, cap), cap);
	}
}

Test(json_in, a_string_ends_at_its_own_quote)
{
	static const char text[] = "\"a\\\\\\\"b\\\\\" ,";
	struct tp_json_in in = {.at = text, .end = text + sizeof(text) - 1};
	struct tp_json_text string;

	cr_assert(tp_json_in_string(&in, &string));
	cr_assert(string.has_escapes);
	cr_assert_eq(string.n, sizeof("a\\\\\\\"b\\\\") - 1);
	cr_assert_eq(tp_json_in_peek(&in), ',');
}

Test(json_in, quotes_that_should_have_a_backslash)
{
	static const char text[] = "\"a \"range\" / of \"mine\"\" , 1";
	struct tp_json_in in = {.at = text, .end = text + sizeof(text) - 1};
	struct tp_json_text string;

	cr_assert(tp_json_in_string(&in, &string));
	cr_assert_eq(string.n, sizeof("a \"range\" / of \"mine\"") - 1);
	cr_assert_eq(tp_json_in_peek(&in), ',');
}

static const char whole[] = "{\"a\": [1, {\"b\": \"x\\\"]}\"}, []], \"c\": -1.5e3, \"d\": null} ";

Test(json_in, every_prefix_is_short_and_never_bad)
{
	for (size_t n = 0; n < sizeof(whole) - 2; n++) {
		char *copy;
		struct tp_json_in in = copy_of(whole, n, &copy);

		cr_assert_not(tp_json_in_skip(&in, NULL), "%zu", n);
		cr_assert(in.is_short && !in.is_bad, "%zu", n);
		free(copy);
	}
}

Test(json_in, a_whole_value_is_skipped_to_its_end)
{
	struct tp_json_in in = {.at = whole, .end = whole + sizeof(whole) - 1};
	const char *from;

	cr_assert(tp_json_in_skip(&in, &from));
	cr_assert_eq(from, whole);
	cr_assert_eq(in.at, whole + sizeof(whole) - 2);
}

Test(json_in, keys_and_items)
{
	static const char text[] = "{\"x\":1,\"y\":[2,3,],\"z\":4,}!";
	struct tp_json_in in = {.at = text + 1, .end = text + sizeof(text) - 1};
	struct tp_json_text key;
	char seen[8] = "";
	int64_t sum = 0, number;
	bool is_first = true;

	while (tp_json_in_key(&in, &key, &is_first)) {
		bool is_first_item = true;

		strncat(seen, key.bytes, key.n);
		if (!tp_json_in_take(&in, '[')) {
			cr_assert(tp_json_in_number(&in, 1, &number));
			sum += number;
			continue;
		}
		while (tp_json_in_item(&in, &is_first_item)) {
			cr_assert(tp_json_in_number(&in, 1, &number));
			sum += number;
		}
	}
	cr_assert_not(in.is_bad || in.is_short);
	cr_assert_str_eq(seen, "xyz");
	cr_assert_eq(sum, 10);
	cr_assert_eq(tp_json_in_peek(&in), '!');
}

Test(json_in, what_is_no_json_is_bad)
{
	static const char *const cases[] = {"}", "]", ",", ":", "\"a\", \"b\""};

	for (size_t i = 0; i < 4; i++) {
		struct tp_json_in in = {.at = cases[i], .end = cases[i] + 1};

		cr_assert_not(tp_json_in_skip(&in, NULL));
		cr_assert(in.is_bad, "%s", cases[i]);
	}
	{
		struct tp_json_in in = {.at = cases[4], .end = cases[4] + strlen(cases[4])};
		struct tp_json_text key;
		bool is_first = true;

		cr_assert_not(tp_json_in_key(&in, &key, &is_first));
		cr_assert(in.is_bad);
	}
}

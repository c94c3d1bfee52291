/* SPDX-License-Identifier: Apache-2.0 */
/* json.c: numbers and strings as every JSON reader takes them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>

#include "merge/kit/json.h"
#include "merge/kit/proto.h"

static const char *text(const char *bytes, size_t n)
{
	static char out[256];

	*tp_json_text(out, bytes, n) = 0;
	return out;
}

Test(json, integers_of_every_length)
{
	static const uint64_t values[] = {0, 9, 10, 99, 100, 101, 12345, 1000000,
					  18446744073709551615ull, 9223372036854775808ull};
	char got[32], want[32];

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		*tp_json_u64(got, values[i]) = 0;
		snprintf(want, sizeof(want), "%llu", (unsigned long long)values[i]);
		cr_assert_str_eq(got, want);
		*tp_json_i64(got, (int64_t)values[i]) = 0;
		snprintf(want, sizeof(want), "%lld", (long long)values[i]);
		cr_assert_str_eq(got, want);
	}
}

Test(json, microseconds_have_three_decimals_and_a_sign)
{
	static const struct {
		int64_t ns;
		const char *want;
	} cases[] = {
		{0, "0.000"}, {1, "0.001"}, {999, "0.999"}, {1000, "1.000"}, {-1, "-0.001"},
		{-1500, "-1.500"}, {123456789, "123456.789"}, {INT64_MIN, "-9223372036854775.808"},
	};
	char got[40];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		*tp_json_us(got, cases[i].ns) = 0;
		cr_assert_str_eq(got, cases[i].want);
	}
}

Test(json, doubles_read_back_the_same_and_are_never_nan)
{
	static const double values[] = {0, 1, -1.5, 0.1, 1e300, 5e-324, 1.0 / 3, 123456789.125};
	char got[40];

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		*tp_json_double(got, values[i]) = 0;
		cr_assert_eq(strtod(got, NULL), values[i], "%s", got);
	}
	*tp_json_double(got, NAN) = 0;
	cr_assert_str_eq(got, "0");
	*tp_json_double(got, -INFINITY) = 0;
	cr_assert_str_eq(got, "0");
}

Test(json, strings_are_escaped_and_always_valid_utf8)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *want;
	} cases[] = {
		{"aten::add", 9, "aten::add"},
		{"a\"b\\c", 5, "a\\\"b\\\\c"},
		{"\n\t\r\b\f", 5, "\\n\\t\\r\\b\\f"},
		{"\x01\x1f\x7f", 3, "\\u0001\\u001f\\u007f"},
		{"a\0b", 3, "a\\u0000b"},
		{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
		{"\xff", 1, "\xef\xbf\xbd"},
		{"\xc3", 1, "\xef\xbf\xbd"},
		{"\xe2\x82", 2, "\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xc0\x80x", 3, "\xef\xbf\xbd\xef\xbf\xbdx"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_assert_str_eq(text(cases[i].bytes, cases[i].n), cases[i].want, "case %zu", i);
}

Test(json, no_bytes_take_more_than_six_times_their_room)
{
	char bytes[64], out[6 * 64 + 1];

	for (int c = 0; c < 256; c++) {
		memset(bytes, c, sizeof(bytes));
		cr_assert_leq((size_t)(tp_json_text(out, bytes, sizeof(bytes)) - out),
			      6 * sizeof(bytes));
	}
}

Test(json, protobuf_lengths_and_varints_are_what_a_decoder_expects)
{
	char buf[64], *at, *p;

	p = tp_proto_varint(buf, 300);
	cr_assert_eq(p - buf, 2);
	cr_assert_eq(memcmp(buf, "\xac\x02", 2), 0);
	p = tp_proto_int(buf, 4, -1);
	cr_assert_eq(p - buf, 11, "a negative number takes ten bytes");
	p = tp_proto_begin(buf, 1, &at);
	p = tp_proto_uint(p, 2, 5);
	tp_proto_end(p, at);
	cr_assert_eq(memcmp(buf, "\x0a\x82\x80\x00\x10\x05", 6), 0);
	p = tp_proto_text(buf, 1, "a\xff", 2);
	cr_assert_eq(p - buf, 6);
	cr_assert_eq(memcmp(buf, "\x0a\x04" "a\xef\xbf\xbd", 6), 0);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_in.c - reading JSON where it lies, value by value
 */
#include "merge/kit/json_in.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	NUMBER_MOST = 64,	/* characters of a number that is read by strtod */
	SHORT = 24,		/* characters of a text that are looked at one by one */
	DIGITS_SAFE = 15,	/* of a number that is not too great in any unit */
};

static inline bool is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

char tp_json_in_pass(struct tp_json_in *in)
{
	while (in->at < in->end && is_blank(*in->at))
		in->at++;
	if (in->at == in->end) {
		in->is_short = true;
		return 0;
	}
	return *in->at;
}

/* Does a text end at this quote? After its end something of JSON follows. A quote within it
 * ought to have a backslash; torch.profiler writes names as they are. */
static bool is_end(struct tp_json_in *in, const char *quote)
{
	const char *p = quote + 1;

	while (p < in->end && is_blank(*p))
		p++;
	if (p == in->end)
		in->is_short = true;
	return p == in->end || *p == ',' || *p == ':' || *p == '}' || *p == ']';
}

bool tp_json_in_string(struct tp_json_in *in, struct tp_json_text *text)
{
	const char *p, *begin;

	if (!tp_json_in_take(in, '"')) {
		in->is_bad = !in->is_short;
		return false;
	}
	begin = p = in->at;
	text->has_escapes = false;
	/* Most are short and plain: cheaper than two calls. */
	while (p < in->end && p - begin < SHORT && *p != '"' && *p != '\\')
		p++;
	for (;; p++) {
		const char *back = p;

		p = memchr(p, '"', (size_t)(in->end - p));
		if (!p) {
			in->is_short = true;
			return false;
		}
		if (p > back && memchr(back, '\\', (size_t)(p - back))) {
			text->has_escapes = true;
			/* An odd number of backslashes before it: it belongs to the text. */
			for (back = p; back > begin && back[-1] == '\\';)
				back--;
			if ((p - back) & 1)
				continue;
		}
		if (is_end(in, p))
			break;
	}
	if (in->is_short)
		return false;
	if (p - begin > INT32_MAX) {
		in->is_bad = true;
		return false;
	}
	text->bytes = begin;
	text->n = (uint32_t)(p - begin);
	in->at = p + 1;
	return true;
}

/* What ends a word or a number. */
static const bool ends_word[256] = {
	[0] = true, [','] = true, [']'] = true, ['}'] = true, [':'] = true, [' '] = true,
	['\n'] = true, ['\t'] = true, ['\r'] = true, ['"'] = true, ['['] = true, ['{'] = true,
};

/* A word or a number: what stands there up to what ends a value. */
static bool skip_word(struct tp_json_in *in)
{
	const char *begin = in->at;

	while (in->at < in->end && !ends_word[(uint8_t)*in->at])
		in->at++;
	if (in->at == in->end)
		in->is_short = true;
	else if (in->at == begin)
		in->is_bad = true;
	return in->at < in->end && in->at > begin;
}

bool tp_json_in_skip(struct tp_json_in *in, const char **from)
{
	struct tp_json_text text;
	uint32_t depth = 0;

	tp_json_in_peek(in);
	if (from)
		*from = in->at;
	do {
		switch (tp_json_in_peek(in)) {
		case '"':
			if (!tp_json_in_string(in, &text))
				return false;
			break;
		case '[':
		case '{':
			depth++;
			in->at++;
			break;
		case ']':
		case '}':
			if (!depth) {
				in->is_bad = true;
				return false;
			}
			depth--;
			in->at++;
			break;
		case ',':
		case ':':
			if (!depth) {
				in->is_bad = true;
				return false;
			}
			in->at++;
			break;
		default:
			if (in->is_short || !skip_word(in))
				return false;
		}
	} while (depth);
	return true;
}

static bool next_of(struct tp_json_in *in, char end, bool *is_first)
{
	char c = tp_json_in_peek(in);

	if (c == end) {
		in->at++;
		return false;
	}
	if (!*is_first) {
		if (c != ',') {
			in->is_bad = !in->is_short;
			return false;
		}
		in->at++;
		/* A comma before the end: sloppy, and clear. */
		if (tp_json_in_peek(in) == end) {
			in->at++;
			return false;
		}
	}
	*is_first = false;
	return !in->is_short;
}

bool tp_json_in_key(struct tp_json_in *in, struct tp_json_text *key, bool *is_first)
{
	if (!next_of(in, '}', is_first) || !tp_json_in_string(in, key))
		return false;
	if (tp_json_in_take(in, ':'))
		return true;
	in->is_bad = !in->is_short;
	return false;
}

bool tp_json_in_item(struct tp_json_in *in, bool *is_first)
{
	return next_of(in, ']', is_first);
}

/* With an exponent, or too long to be exact otherwise. */
static bool read_double(const char *p, size_t n, uint32_t scale, int64_t *number)
{
	char buf[NUMBER_MOST + 1], *end;
	double value;

	if (n > NUMBER_MOST)
		return false;
	memcpy(buf, p, n);
	buf[n] = 0;
	value = strtod(buf, &end) * scale;
	if (*end || end == buf || !isfinite(value) || fabs(value) > 9.2e18)
		return false;
	*number = (int64_t)llround(value);
	return true;
}

static bool read_number(const char *p, const char *end, uint32_t scale, int64_t *number)
{
	static const uint32_t tenth[] = {1000, 100, 10, 1};
	const char *begin = p, *point;
	bool is_negative = p < end && *p == '-', has_digits;
	uint64_t value = 0, unit = scale, fraction = 0, rest = 1;

	p += is_negative;
	for (begin = p; p < end && p - begin < DIGITS_SAFE && *p >= '0' && *p <= '9'; p++)
		value = value * 10 + (uint64_t)(*p - '0');
	has_digits = p > begin;
	begin -= is_negative;
	/* Times as torch writes them: microseconds, a point, and three digits or less. */
	if (has_digits && unit == 1000 && p < end && *p == '.' && end - p <= 4) {
		for (point = p++; p < end && *p >= '0' && *p <= '9'; p++)
			fraction = fraction * 10 + (uint64_t)(*p - '0');
		if (p == end) {
			value = value * 1000 + fraction * tenth[p - point - 1];
			*number = is_negative ? -(int64_t)value : (int64_t)value;
			return true;
		}
		p = point;
		fraction = 0;
	}
	for (; p < end && *p >= '0' && *p <= '9'; p++) {
		if (value > (uint64_t)INT64_MAX / 10 / scale - 1)
			return read_double(begin, (size_t)(end - begin), scale, number);
		value = value * 10 + (uint64_t)(*p - '0');
	}
	if (p < end && *p == '.') {
		/* Digits beyond the unit's own decide the rounding. */
		for (p++; p < end && *p >= '0' && *p <= '9'; p++) {
			has_digits = true;
			if (rest >= 1000000)
				continue;
			fraction = fraction * 10 + (uint64_t)(*p - '0');
			rest *= 10;
		}
	}
	if (p != end || !has_digits)
		return read_double(begin, (size_t)(end - begin), scale, number);
	value = value * unit + (fraction * unit * 2 + rest) / (2 * rest);
	*number = is_negative ? -(int64_t)value : (int64_t)value;
	return true;
}

bool tp_json_in_number(struct tp_json_in *in, uint32_t scale, int64_t *number)
{
	struct tp_json_text text;
	const char *begin;

	switch (tp_json_in_peek(in)) {
	case '"':
		return tp_json_in_string(in, &text) &&
		       read_number(text.bytes, text.bytes + text.n, scale, number);
	case '[':
	case '{':
		tp_json_in_skip(in, NULL);
		return false;
	default:
		begin = in->at;
		return !in->is_short && skip_word(in) &&
		       read_number(begin, in->at, scale, number);
	}
}

/* "1F600" -> the number; false: no four digits. */
static bool read_hex(const char *p, const char *end, uint32_t *value)
{
	*value = 0;
	if (end - p < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		char c = p[i];
		uint32_t digit = c >= '0' && c <= '9'	? (uint32_t)(c - '0')
				 : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
				 : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
							: 16;

		if (digit == 16)
			return false;
		*value = *value << 4 | digit;
	}
	return true;
}

static uint32_t put_utf8(uint32_t c, char out[4])
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* What stands behind a backslash at *p, which is moved behind it. */
static uint32_t read_escape(const char **p, const char *end, char out[4])
{
	static const char plain[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
	const char *which = strchr(plain, **p);
	uint32_t c, low;

	if (**p != 'u' || !read_hex(*p + 1, end, &c)) {
		out[0] = which && **p ? means[which - plain] : **p;
		++*p;
		return 1;
	}
	*p += 5;
	if (c >= 0xd800 && c < 0xdc00 && end - *p >= 6 && (*p)[0] == '\\' && (*p)[1] == 'u' &&
	    read_hex(*p + 2, end, &low) && low >= 0xdc00 && low < 0xe000) {
		*p += 6;
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	} else if (c >= 0xd800 && c < 0xe000) {
		c = 0xfffd;
	}
	return put_utf8(c, out);
}

uint32_t tp_json_in_plain(const struct tp_json_text *text, char *out, uint32_t cap)
{
	const char *p = text->bytes, *end = p + text->n;
	uint32_t n = 0;

	while (p < end && n < cap) {
		char bytes[4];
		uint32_t k = 1;

		if (*p == '\\' && p + 1 < end) {
			p++;
			k = read_escape(&p, end, bytes);
		} else {
			bytes[0] = *p++;
		}
		if (n + k > cap)
			break;
		memcpy(out + n, bytes, k);
		n += k;
	}
	return n;
}

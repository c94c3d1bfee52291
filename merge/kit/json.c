/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.c - numbers and strings as JSON
 *
 * Pure functions on the caller's memory.
 */
#include "merge/kit/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "merge/kit/utf8.h"

/* "00" to "99": two digits a division. */
static const char two_digits[201] =
	"00010203040506070809101112131415161718192021222324252627282930313233343536373839"
	"40414243444546474849505152535455565758596061626364656667686970717273747576777879"
	"8081828384858687888990919293949596979899";

static uint32_t count_digits(uint64_t v)
{
	uint32_t n = 1;

	for (;; v /= 10000, n += 4) {
		if (v < 10)
			return n;
		if (v < 100)
			return n + 1;
		if (v < 1000)
			return n + 2;
		if (v < 10000)
			return n + 3;
	}
}

char *tp_json_u64(char *p, uint64_t v)
{
	char *end = p + count_digits(v), *d = end;

	while (v >= 100) {
		d -= 2;
		memcpy(d, two_digits + v % 100 * 2, 2);
		v /= 100;
	}
	if (v >= 10)
		memcpy(d - 2, two_digits + v * 2, 2);
	else
		d[-1] = (char)('0' + v);
	return end;
}

char *tp_json_i64(char *p, int64_t v)
{
	if (v >= 0)
		return tp_json_u64(p, (uint64_t)v);
	*p++ = '-';
	return tp_json_u64(p, -(uint64_t)v);
}

char *tp_json_us(char *p, int64_t ns)
{
	uint64_t v = (uint64_t)ns;
	uint32_t part;

	if (ns < 0) {
		*p++ = '-';
		v = -v;
	}
	p = tp_json_u64(p, v / 1000);
	part = v % 1000;
	*p++ = '.';
	*p++ = (char)('0' + part / 100);
	memcpy(p, two_digits + part % 100 * 2, 2);
	return p + 2;
}

char *tp_json_double(char *p, double v)
{
	/* JSON has no NaN and no infinity; viewers read them as nothing, silently. */
	if (!isfinite(v)) {
		*p = '0';
		return p + 1;
	}
	for (int digits = 6; digits <= 17; digits++) {
		int n = snprintf(p, 32, "%.*g", digits, v);

		if (digits == 17 || strtod(p, NULL) == v)
			return p + n;
	}
	return p;
}

char *tp_json_fixed(char *p, double v)
{
	uint64_t micros;

	/* More is no figure of anything. */
	if (!(v >= 0) || v > 1e12)
		return tp_json_double(p, v);
	micros = (uint64_t)(v * 1e6 + 0.5);
	p = tp_json_u64(p, micros / 1000000);
	*p++ = '.';
	for (uint32_t part = micros % 1000000, unit = 10000; unit; unit /= 100) {
		memcpy(p, two_digits + part / unit % 100 * 2, 2);
		p += 2;
	}
	return p;
}

static char *escape(char *p, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	static const char with_letter[32] = {
		['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r',
	};

	*p++ = '\\';
	if (c == '"' || c == '\\') {
		*p++ = (char)c;
	} else if (c < sizeof(with_letter) && with_letter[c]) {
		*p++ = with_letter[c];
	} else {
		p = tp_json_lit(p, "u00");
		*p++ = hex[c >> 4];
		*p++ = hex[c & 15];
	}
	return p;
}

char *tp_json_text(char *p, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n;) {
		unsigned char c = (unsigned char)bytes[i];
		uint32_t len;

		if (c < 0x80) {
			if (c < ' ' || c == '"' || c == '\\' || c == 0x7f)
				p = escape(p, c);
			else
				*p++ = (char)c;
			i++;
			continue;
		}
		if (tp_utf8_next(bytes + i, (uint32_t)(n - i > 4 ? 4 : n - i), &len) == 0xfffd &&
		    len == 1) {
			p = tp_json_lit(p, "\xef\xbf\xbd");
		} else {
			memcpy(p, bytes + i, len);
			p += len;
		}
		i += len;
	}
	return p;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.c - a bounded string builder on the caller's memory
 *
 * Runs inside the guest, also in its allocator and its signal handlers: no allocation, no
 * locale, no stdio, nothing but the caller's buffer.
 */
#include "runtime/base/text.h"

#include <errno.h>
#include <string.h>

enum { DIGITS_MAX = 24 };

void tp_text_init(struct tp_text *text, char *buf, size_t cap)
{
	text->buf = buf;
	text->cap = cap;
	text->len = 0;
	text->is_cut = false;
	buf[0] = '\0';
}

void tp_text_bytes(struct tp_text *text, const char *bytes, size_t n)
{
	size_t room = text->cap - 1 - text->len;

	if (n > room) {
		n = room;
		text->is_cut = true;
	}
	if (n)
		memcpy(text->buf + text->len, bytes, n);
	text->len += n;
	text->buf[text->len] = '\0';
}

void tp_text_str(struct tp_text *text, const char *s)
{
	if (!s)
		s = "(null)";
	tp_text_bytes(text, s, strlen(s));
}

void tp_text_char(struct tp_text *text, char c)
{
	tp_text_bytes(text, &c, 1);
}

void tp_text_word(struct tp_text *text, const char *s, size_t n, char instead)
{
	for (size_t i = 0; i < n && s[i]; i++)
		tp_text_char(text, s[i] > ' ' && s[i] < 0x7f ? s[i] : instead);
}

/* Digits of v at the end of `digits`; the return value points to the first. */
static char *write_digits(char digits[DIGITS_MAX], uint64_t v, unsigned base)
{
	char *p = digits + DIGITS_MAX;

	do {
		*--p = "0123456789abcdef"[v % base];
		v /= base;
	} while (v);
	return p;
}

struct number_form {
	unsigned base;
	unsigned width;
	bool is_negative, is_zero_padded;
};

static void append_number(struct tp_text *text, uint64_t v, const struct number_form *form)
{
	char digits[DIGITS_MAX];
	char *p = write_digits(digits, v, form->base);
	size_t n = (size_t)(digits + DIGITS_MAX - p);
	size_t pad =
	    n + form->is_negative < form->width ? form->width - n - form->is_negative : 0;

	/* A sign stands before zeros and after spaces. */
	if (form->is_negative && form->is_zero_padded)
		tp_text_char(text, '-');
	while (pad--)
		tp_text_char(text, form->is_zero_padded ? '0' : ' ');
	if (form->is_negative && !form->is_zero_padded)
		tp_text_char(text, '-');
	tp_text_bytes(text, p, n);
}

void tp_text_u64(struct tp_text *text, uint64_t v)
{
	append_number(text, v, &(struct number_form){.base = 10});
}

void tp_text_i64(struct tp_text *text, int64_t v)
{
	append_number(text, v < 0 ? -(uint64_t)v : (uint64_t)v,
		      &(struct number_form){.base = 10, .is_negative = v < 0});
}

static void append_padded(struct tp_text *text, const char *s, size_t n, unsigned width)
{
	for (size_t pad = n < width ? width - n : 0; pad; pad--)
		tp_text_char(text, ' ');
	tp_text_bytes(text, s, n);
}

/* One va_list shared by the formatter's helpers: passing a va_list itself by value and
 * reading on afterwards is not defined. */
struct format_args {
	va_list list;
};

static uint64_t next_unsigned(struct format_args *args, int n_long)
{
	return n_long ? va_arg(args->list, unsigned long) : va_arg(args->list, unsigned);
}

static int64_t next_signed(struct format_args *args, int n_long)
{
	return n_long ? va_arg(args->list, long) : va_arg(args->list, int);
}

_Static_assert(sizeof(long) == 8 && sizeof(size_t) == 8, "l and z are one size");

/*
 * One conversion; `p` is after the percent sign. Returns where the format goes on, or NULL
 * when it is none of ours (nothing has been taken from args then).
 */
static const char *append_conversion(struct tp_text *text, const char *p,
				     struct format_args *args)
{
	struct number_form form = {.base = 10};
	size_t precision = SIZE_MAX;
	const char *s;
	int n_long = 0, given;
	int64_t v;
	char c;

	if (*p == '0') {
		form.is_zero_padded = true;
		p++;
	}
	for (; *p >= '0' && *p <= '9'; p++)
		form.width =
		    form.width < 10000 ? form.width * 10 + (unsigned)(*p - '0') : 10000;
	if (p[0] == '.' && p[1] == '*' && p[2] == 's') {
		given = va_arg(args->list, int);
		precision = given < 0 ? SIZE_MAX : (size_t)given;
		p += 2;
	}
	for (; *p == 'l' || *p == 'z'; p++)
		n_long++;

	switch (*p) {
	case 's':
		s = va_arg(args->list, const char *);
		if (!s)
			s = "(null)";
		append_padded(text, s, strnlen(s, precision), form.width);
		break;
	case 'd':
		v = next_signed(args, n_long);
		form.is_negative = v < 0;
		append_number(text, v < 0 ? -(uint64_t)v : (uint64_t)v, &form);
		break;
	case 'u':
		append_number(text, next_unsigned(args, n_long), &form);
		break;
	case 'x':
		form.base = 16;
		append_number(text, next_unsigned(args, n_long), &form);
		break;
	case 'c':
		c = (char)va_arg(args->list, int);
		append_padded(text, &c, 1, form.width);
		break;
	case '%':
		tp_text_char(text, '%');
		break;
	default:
		return NULL;
	}
	return p + 1;
}

void tp_text_vfmt(struct tp_text *text, const char *format, va_list args)
{
	struct format_args own;
	const char *p = format;

	va_copy(own.list, args);
	while (*p) {
		const char *percent = strchr(p, '%');
		const char *next;

		if (!percent) {
			tp_text_str(text, p);
			break;
		}
		tp_text_bytes(text, p, (size_t)(percent - p));
		next = append_conversion(text, percent + 1, &own);
		if (!next)
			tp_text_char(text, '%');
		p = next ? next : percent + 1;
	}
	va_end(own.list);
}

void tp_text_fmt(struct tp_text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	tp_text_vfmt(text, format, args);
	va_end(args);
}

/* Leading digits of s. Sets *end behind them. */
static int parse_digits(const char *s, const char **end, uint64_t *value)
{
	uint64_t v = 0;
	const char *p = s;

	for (; *p >= '0' && *p <= '9'; p++) {
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return -ERANGE;
	}
	if (p == s)
		return -EINVAL;
	*end = p;
	*value = v;
	return 0;
}

int tp_text_parse_u64(const char *s, uint64_t *value)
{
	const char *end;
	uint64_t v;
	int err = parse_digits(s, &end, &v);

	if (err)
		return err;
	if (*end)
		return -EINVAL;
	*value = v;
	return 0;
}

int tp_text_parse_bytes(const char *s, uint64_t *bytes)
{
	static const struct {
		char letter;
		int shift;
	} unit[] = {{'k', 10}, {'m', 20}, {'g', 30}, {'t', 40}};
	const char *end;
	uint64_t v;
	int err = parse_digits(s, &end, &v);
	int shift = 0;

	if (err)
		return err;
	for (size_t i = 0; i < sizeof(unit) / sizeof(unit[0]); i++) {
		if ((*end | 0x20) == unit[i].letter)
			shift = unit[i].shift;
	}
	if (shift)
		end++;
	if (*end)
		return -EINVAL;
	if (v > UINT64_MAX >> shift)
		return -ERANGE;
	*bytes = v << shift;
	return 0;
}

void tp_text_expand(struct tp_text *out, const char *pattern, tp_text_lookup_fn lookup,
		    tp_text_unknown_fn unknown, void *ctx)
{
	const char *p = pattern;

	while (*p) {
		const char *open = strchr(p, '{');
		const char *close = open ? strchr(open, '}') : NULL;
		size_t n;

		if (!close) {
			tp_text_str(out, p);
			return;
		}
		tp_text_bytes(out, p, (size_t)(open - p));
		n = (size_t)(close - open - 1);
		if (!lookup(ctx, open + 1, n, out)) {
			tp_text_bytes(out, open, n + 2);
			if (unknown)
				unknown(ctx, open + 1, n);
		}
		p = close + 1;
	}
}

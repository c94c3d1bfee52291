/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.c - lines "key: value", by a table of keys
 */
#include "runtime/trace/report.h"

#include <string.h>

/* ---- writing ---- */

void tp_report_put(struct tp_text *out, const char *key, const char *value)
{
	if (!*value)
		return;
	tp_text_fmt(out, "%s: ", key);
	for (; *value; value++)
		tp_text_char(out, (unsigned char)*value < ' ' || *value == 127 ? '?' : *value);
	tp_text_char(out, '\n');
}

static void put_number(struct tp_text *out, const struct tp_report_key *key, const char *from)
{
	uint64_t wide;
	uint32_t small;

	tp_text_fmt(out, "%s: ", key->key);
	memcpy(&small, from, sizeof(small));
	if (key->kind == TP_REPORT_U32)
		tp_text_u64(out, small);
	else if (key->kind == TP_REPORT_I32)
		tp_text_i64(out, (int32_t)small);
	if (key->kind == TP_REPORT_U64 || key->kind == TP_REPORT_HEX) {
		memcpy(&wide, from, sizeof(wide));
		tp_text_fmt(out, key->kind == TP_REPORT_HEX ? "%lx" : "%lu", (unsigned long)wide);
	}
	tp_text_char(out, '\n');
}

void tp_report_put_all(struct tp_text *out, const struct tp_report_key *keys, uint32_t n_keys,
		       const void *from)
{
	for (uint32_t i = 0; i < n_keys; i++) {
		const char *at = (const char *)from + keys[i].at;

		if (keys[i].kind == TP_REPORT_TEXT)
			tp_report_put(out, keys[i].key, at);
		else
			put_number(out, &keys[i], at);
	}
}

/* ---- reading ---- */

uint64_t tp_report_number(const char **at, const char *end, uint32_t base)
{
	uint64_t value = 0;

	for (; *at < end; (*at)++) {
		char c = **at;
		uint32_t digit = c >= '0' && c <= '9' ? (uint32_t)(c - '0')
				 : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10) : base;

		if (digit >= base)
			break;
		value = value * base + digit;
	}
	return value;
}

void tp_report_text(const char *at, const char *end, char *out, size_t cap)
{
	struct tp_text text;

	tp_text_init(&text, out, cap);
	for (; at < end; at++)
		tp_text_char(&text, (unsigned char)*at < ' ' || *at == 127 ? '?' : *at);
}

static void take_number(const struct tp_report_key *key, const char *at, const char *end, char *into)
{
	bool is_negative = key->kind == TP_REPORT_I32 && at < end && *at == '-';
	const char *digits = at + is_negative;
	uint64_t value = tp_report_number(&digits, end, key->kind == TP_REPORT_HEX ? 16 : 10);
	uint32_t small = (uint32_t)value;

	if (key->kind == TP_REPORT_U64 || key->kind == TP_REPORT_HEX) {
		memcpy(into, &value, sizeof(value));
		return;
	}
	if (key->kind == TP_REPORT_I32)
		small = value > INT32_MAX ? UINT32_MAX : is_negative ? 0u - small : small;
	memcpy(into, &small, sizeof(small));
}

static const struct tp_report_key *find_key(const struct tp_report_key *keys, uint32_t n_keys,
					    const char *key, size_t n_key)
{
	for (uint32_t i = 0; i < n_keys; i++)
		if (strlen(keys[i].key) == n_key && !memcmp(keys[i].key, key, n_key))
			return &keys[i];
	return NULL;
}

bool tp_report_parse(const char *text, size_t n, const char *first_line, const struct tp_report_key *keys,
		     uint32_t n_keys, tp_report_other_fn other, void *into)
{
	const char *at = text, *end = text + n;
	size_t n_first = strlen(first_line);

	if (n <= n_first || memcmp(text, first_line, n_first) || text[n_first] != '\n')
		return false;
	for (at += n_first + 1; at < end && *at != '\n';) {
		const char *eol = memchr(at, '\n', (size_t)(end - at));
		const char *colon = eol ? memmem(at, (size_t)(eol - at), ": ", 2) : NULL;
		const struct tp_report_key *key;

		if (!colon)
			return false;
		key = find_key(keys, n_keys, at, (size_t)(colon - at));
		if (key && key->kind == TP_REPORT_TEXT)
			tp_report_text(colon + 2, eol, (char *)into + key->at, key->cap);
		else if (key)
			take_number(key, colon + 2, eol, (char *)into + key->at);
		else if (other && !other(into, at, (size_t)(colon - at), colon + 2, eol))
			return false;
		at = eol + 1;
	}
	return at < end;
}

void tp_report_put_bytes(struct tp_text *out, uint64_t bytes)
{
	static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	uint32_t i = 0;
	uint64_t tenths = bytes;

	if (bytes < 1024) {
		tp_text_fmt(out, "%lu B", (unsigned long)bytes);
		return;
	}
	for (i = 1; bytes >> 10 >= 1024; i++)
		bytes >>= 10;
	tenths = bytes * 10 / 1024;
	tp_text_fmt(out, "%lu.%lu %s", (unsigned long)(tenths / 10), (unsigned long)(tenths % 10), unit[i]);
}

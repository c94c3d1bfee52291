/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8.c - characters and their width on a terminal
 *
 * Pure functions over bytes that are not trusted: every length is checked.
 */
#include "merge/kit/utf8.h"

struct range {
	uint32_t first, last;
};

/* Drawn over the character before them. */
static const struct range combining[] = {
	{0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x0610, 0x061a},
	{0x064b, 0x065f}, {0x06d6, 0x06dc}, {0x0900, 0x0902}, {0x093c, 0x093c},
	{0x0941, 0x0948}, {0x0e31, 0x0e31}, {0x0e34, 0x0e3a}, {0x0e47, 0x0e4e},
	{0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x20d0, 0x20ff}, {0x302a, 0x302f},
	{0x3099, 0x309a}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0x1f3fb, 0x1f3ff},
	{0xe0100, 0xe01ef},
};

/* East Asian wide and full-width characters, emoji. */
static const struct range wide[] = {
	{0x1100, 0x115f},   {0x231a, 0x231b},	{0x2329, 0x232a},   {0x23e9, 0x23ec},
	{0x23f0, 0x23f0},   {0x23f3, 0x23f3},	{0x25fd, 0x25fe},   {0x2614, 0x2615},
	{0x2648, 0x2653},   {0x267f, 0x267f},	{0x2693, 0x2693},   {0x26a1, 0x26a1},
	{0x26aa, 0x26ab},   {0x26bd, 0x26be},	{0x26c4, 0x26c5},   {0x26ce, 0x26ce},
	{0x26d4, 0x26d4},   {0x26ea, 0x26ea},	{0x26f2, 0x26f3},   {0x26f5, 0x26f5},
	{0x26fa, 0x26fa},   {0x26fd, 0x26fd},	{0x2705, 0x2705},   {0x270a, 0x270b},
	{0x2728, 0x2728},   {0x274c, 0x274c},	{0x274e, 0x274e},   {0x2753, 0x2755},
	{0x2757, 0x2757},   {0x2795, 0x2797},	{0x27b0, 0x27b0},   {0x27bf, 0x27bf},
	{0x2b1b, 0x2b1c},   {0x2b50, 0x2b50},	{0x2b55, 0x2b55},   {0x2e80, 0x303e},
	{0x3041, 0x33ff},   {0x3400, 0x4dbf},	{0x4e00, 0xa4cf},   {0xa960, 0xa97f},
	{0xac00, 0xd7a3},   {0xf900, 0xfaff},	{0xfe10, 0xfe19},   {0xfe30, 0xfe6f},
	{0xff00, 0xff60},   {0xffe0, 0xffe6},	{0x16fe0, 0x18aff}, {0x1b000, 0x1b2ff},
	{0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f18e}, {0x1f191, 0x1f19a},
	{0x1f200, 0x1f320}, {0x1f32d, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f7e0, 0x1f7eb},
	{0x1f90c, 0x1f9ff}, {0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
};

/* Direction marks can make a name read as another one; invisible characters make two. */
static const struct range unsafe[] = {
	{0x00, 0x1f},	  {0x7f, 0x9f},	    {0xad, 0xad},     {0x061c, 0x061c},
	{0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
	{0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
};

static int find_range(const struct range *range, uint32_t n, uint32_t c)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (c > range[middle].last)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && c >= range[low].first;
}

#define IN(table, c) find_range(table, sizeof(table) / sizeof(table[0]), c)

uint32_t tp_utf8_next(const char *at, uint32_t n, uint32_t *len)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const uint8_t *byte = (const uint8_t *)at;
	uint32_t want, c;

	*len = 1;
	if (byte[0] < 0x80)
		return byte[0];
	if (byte[0] >= 0xc2 && byte[0] < 0xe0) {
		want = 2;
		c = byte[0] & 0x1f;
	} else if (byte[0] >= 0xe0 && byte[0] < 0xf0) {
		want = 3;
		c = byte[0] & 0x0f;
	} else if (byte[0] >= 0xf0 && byte[0] < 0xf5) {
		want = 4;
		c = byte[0] & 0x07;
	} else {
		return 0xfffd;
	}
	if (n < want)
		return 0xfffd;
	for (uint32_t i = 1; i < want; i++) {
		if ((byte[i] & 0xc0) != 0x80)
			return 0xfffd;
		c = c << 6 | (byte[i] & 0x3f);
	}
	/* Overlong forms and surrogates are not UTF-8. */
	if (c < least[want] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0xfffd;
	*len = want;
	return c;
}

uint32_t tp_utf8_columns(uint32_t c)
{
	if (c < 0x300)
		return 1;
	if (IN(combining, c))
		return 0;
	return IN(wide, c) ? 2 : 1;
}

uint32_t tp_utf8_width(const char *text, uint32_t n)
{
	uint32_t columns = 0, len;

	for (uint32_t i = 0; i < n; i += len)
		columns += tp_utf8_columns(tp_utf8_next(text + i, n - i, &len));
	return columns;
}

int tp_utf8_is_unsafe(uint32_t c)
{
	if (c >= 0x20 && c < 0x7f)
		return 0;
	return IN(unsafe, c);
}

uint32_t tp_utf8_head(const char *text, uint32_t n, uint32_t columns)
{
	uint32_t at = 0, used = 0, len;

	while (at < n) {
		used += tp_utf8_columns(tp_utf8_next(text + at, n - at, &len));
		if (used > columns)
			break;
		at += len;
	}
	return at;
}

uint32_t tp_utf8_tail(const char *text, uint32_t n, uint32_t columns)
{
	uint32_t at = n, used = 0, len;

	while (at > 0) {
		uint32_t before = at - 1;

		while (before > 0 && ((uint8_t)text[before] & 0xc0) == 0x80)
			before--;
		used += tp_utf8_columns(tp_utf8_next(text + before, n - before, &len));
		if (used > columns)
			break;
		at = before;
	}
	return n - at;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of Python's code from its three kinds of tables, and strings; whatever they contain. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/probe/python/pystack_lines.h"
#include "runtime/probe/python/pystack_names.h"

/*
 * Made by CPython 3.9.18, 3.10.13 and 3.11.7 of one function with a comprehension, a tuple over
 * lines and a raise behind a gap; `line` is what its own PyCode_Addr2Line says.
 */
static const uint8_t pairs[] = {
	0, 1, 6, 1, 2, 255, 6, 2, 4, 2, 2, 1, 2, 254, 4, 7, 2, 1, 2, 255,
};
static const uint8_t ranges[] = {
	6, 1, 2, 1, 6, 255, 4, 2, 2, 2, 2, 1, 4, 254, 2, 7, 2, 1, 4, 255,
};
static const uint8_t locations[] = {
	128, 0, 240, 2, 1, 9, 21, 240, 0, 1, 9, 21, 216, 18, 19, 240, 3, 1, 9, 21, 241, 0, 1, 9, 21,
	244, 0, 1, 9, 21, 128, 65, 224, 7, 8, 240, 0, 3, 5, 15, 224, 12, 13, 216, 12, 13, 240, 5, 2,
	16, 15, 240, 0, 2, 9, 15, 245, 14, 0, 11, 21, 216, 8, 9, 241, 3, 2, 11, 6, 244, 0, 2, 11, 6,
	240, 0, 2, 5, 6,
};
struct range {
	int end;
	uint32_t line;
};
static const struct range pairs_line[] = {
	{ 6, 3 }, { 8, 4 }, { 14, 3 }, { 18, 5 }, { 20, 7 }, { 22, 8 }, { 26, 6 }, { 28, 13 },
	{ 30, 14 }, { 34, 13 }, { 0, 0 },
};
static const struct range ranges_line[] = {
	{ 6, 3 }, { 8, 4 }, { 14, 3 }, { 18, 5 }, { 20, 7 }, { 22, 8 }, { 26, 6 }, { 28, 13 },
	{ 30, 14 }, { 34, 13 }, { 40, 0 }, { 0, 0 },
};
static const struct range locations_line[] = {
	{ 2, 2 }, { 4, 3 }, { 6, 3 }, { 8, 4 }, { 26, 3 }, { 30, 5 }, { 32, 7 }, { 34, 8 }, { 38, 6 },
	{ 50, 13 }, { 52, 14 }, { 68, 13 }, { 80, 0 }, { 0, 0 },
};
static const struct {
	enum tp_pylines kind;
	const uint8_t *table;
	size_t n;
	const struct range *line;
} tables[] = {
	{ TP_PYLINES_PAIRS, pairs, sizeof(pairs), pairs_line },
	{ TP_PYLINES_RANGES, ranges, sizeof(ranges), ranges_line },
	{ TP_PYLINES_LOCATIONS, locations, sizeof(locations), locations_line },
};
enum { N_TABLES = sizeof(tables) / sizeof(*tables) };

Test(pystack_lines, are_those_of_the_interpreter)
{
	for (int t = 0; t < N_TABLES; t++) {
		const struct range *range = tables[t].line;

		for (int at = 0; range->end; at++) {
			if (at == range->end)
				range++;
			if (!range->end)
				break;
			cr_expect_eq(tp_pystack_line(tables[t].kind, tables[t].table, tables[t].n, 2, at),
				     range->line, "table %d, byte %d", t, at);
		}
		cr_expect_eq(tp_pystack_line(tables[t].kind, tables[t].table, tables[t].n, 77, -1), 77);
	}
}

Test(pystack_lines, code_may_have_no_line)
{
	static const uint8_t none_10[] = { 4, 1, 4, 0x80, 4, 1 };
	static const uint8_t none_11[] = { 0x80 | 15 << 3 | 1, 0x80 | 13 << 3 | 1, 6 };

	cr_expect_eq(tp_pystack_line(TP_PYLINES_RANGES, none_10, sizeof(none_10), 10, 3), 11);
	cr_expect_eq(tp_pystack_line(TP_PYLINES_RANGES, none_10, sizeof(none_10), 10, 4), 0);
	cr_expect_eq(tp_pystack_line(TP_PYLINES_RANGES, none_10, sizeof(none_10), 10, 8), 12);
	cr_expect_eq(tp_pystack_line(TP_PYLINES_LOCATIONS, none_11, sizeof(none_11), 10, 3), 0);
	cr_expect_eq(tp_pystack_line(TP_PYLINES_LOCATIONS, none_11, sizeof(none_11), 10, 4), 13);
}

/* For the address sanitizer: a table ends where it ends. */
Test(pystack_lines, never_reads_behind_a_table)
{
	uint32_t dice = 1;

	for (int t = 0; t < N_TABLES; t++) {
		for (size_t n = 0; n <= tables[t].n; n++) {
			uint8_t *table = malloc(n ? n : 1);

			memcpy(table, tables[t].table, n);
			for (int round = 0; round < 50; round++) {
				for (int at = -1; at < 80; at += 7)
					tp_pystack_line(tables[t].kind, table, n, 2, at);
				dice = dice * 1664525u + 1013904223u;
				if (n)
					table[dice >> 8 & 0xffff % n] = (uint8_t)(dice >> 24);
			}
			free(table);
		}
	}
}

/* ---- strings: PyASCIIObject of 48 bytes, or of 40 from 3.12 on ---- */

static const struct tp_pyframe_layout layouts[] = {
	{ .minor = 11, .ascii_bytes = 48 }, { .minor = 12, .ascii_bytes = 40 },
};

static char *make_string(const struct tp_pyframe_layout *layout, unsigned kind, bool is_ascii,
			 const uint32_t *character, int64_t n)
{
	size_t begin = layout->ascii_bytes + (is_ascii ? 0 : layout->minor < 12 ? 24 : 16);
	char *string = calloc(1, begin + (size_t)n * kind);
	uint32_t state = kind << 2 | 1u << 5 | (uint32_t)is_ascii << 6;

	memcpy(string + 16, &n, sizeof(n));
	memcpy(string + 32, &state, sizeof(state));
	for (int64_t i = 0; i < n; i++)
		memcpy(string + begin + i * kind, &character[i], kind);
	return string;
}

static void expect_utf8(unsigned kind, bool is_ascii, const uint32_t *character, int64_t n,
			uint32_t cap, const char *wanted)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
		static struct tp_pystack_pages pages;
		char *string = make_string(&layouts[i], kind, is_ascii, character, n);
		char *out = malloc(cap ? cap : 1);
		int32_t got = tp_pystack_utf8(&layouts[i], &pages, string, out, cap);

		cr_expect(got == (int32_t)strlen(wanted) && memcmp(out, wanted, strlen(wanted)) == 0,
			  "'%s': %d bytes", wanted, got);
		free(out);
		free(string);
	}
}

Test(pystack_utf8, each_width_and_what_is_no_character)
{
	static const uint32_t plain[] = { 'a', 'b', 'c' }, latin[] = { 'd', 0xe9, 'j' };
	static const uint32_t two[] = { 0x416, 0x20ac, 0xd800, 'x' }, four[] = { 0x1f600, 0x110000, 'y' };

	expect_utf8(1, true, plain, 3, 10, "abc");
	expect_utf8(1, false, latin, 3, 10, "d\xc3\xa9j");
	expect_utf8(2, false, two, 4, 20, "\xd0\x96\xe2\x82\xac\xef\xbf\xbdx");
	expect_utf8(4, false, four, 3, 20, "\xf0\x9f\x98\x80\xef\xbf\xbdy");
	expect_utf8(1, true, plain, 0, 10, "");
}

Test(pystack_utf8, is_cut_after_a_whole_character)
{
	static const uint32_t plain[] = { 'a', 'b', 'c' }, two[] = { 0x416, 0x20ac, 'x' };
	static const uint32_t four[] = { 0x1f600, 0x1f600 };

	expect_utf8(1, true, plain, 3, 2, "ab");
	expect_utf8(2, false, two, 3, 4, "\xd0\x96");
	expect_utf8(2, false, two, 3, 5, "\xd0\x96\xe2\x82\xac");
	expect_utf8(4, false, four, 2, 7, "\xf0\x9f\x98\x80");
	expect_utf8(4, false, four, 2, 0, "");
}

Test(pystack_utf8, refuses_what_is_none)
{
	static struct tp_pystack_pages pages;
	static const uint32_t plain[] = { 'a' };
	char *string = make_string(&layouts[0], 1, true, plain, 1), out[8192];
	char *gone = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int64_t n = -1;

	cr_expect_eq(tp_pystack_utf8(&layouts[0], &pages, NULL, out, 16), -1);
	cr_expect_eq(tp_pystack_utf8(&layouts[0], &pages, string + 1, out, 16), -1);
	memcpy(string + 16, &n, sizeof(n));
	cr_expect_eq(tp_pystack_utf8(&layouts[0], &pages, string, out, 16), -1);
	n = 1;
	memcpy(string + 16, &n, sizeof(n));
	string[32] = 3 << 2 | 1 << 5;	/* kind 3 */
	cr_expect_eq(tp_pystack_utf8(&layouts[0], &pages, string, out, 16), -1);
	string[32] = 1 << 2;		/* its characters are elsewhere */
	cr_expect_eq(tp_pystack_utf8(&layouts[0], &pages, string, out, 16), -1);
	/* Longer than what is mapped. */
	n = 5000;
	gone[32] = 1 << 2 | 1 << 5 | 1 << 6;
	memcpy(gone + 16, &n, sizeof(n));
	mprotect(gone + 4096, 4096, PROT_NONE);
	cr_expect_eq(tp_pystack_utf8(&layouts[0], &pages, gone, out, sizeof(out)), -1);
	munmap(gone, 8192);
	memset(&pages, 0, sizeof(pages));
	cr_expect_eq(tp_pystack_utf8(&layouts[0], &pages, gone, out, 16), -1);
	free(string);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sniff.c - what a file that is no trace looks like, for messages to people
 *
 * A wrong path is the commonest mistake of all: another tool's trace, our own output, a
 * log. Saying which saves the question.
 */
#include "runtime/trace/sniff.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct signature {
	const char *name;
	uint8_t n;
	uint8_t bytes[8];
};

static const struct signature signature[] = {
    {"a trainprof trace that was changed by a text-mode transfer", 4, "TPT1"},
    {"a buffer file of trainprof (give the run folder instead)", 8, "TPTPRNG1"},
    {"a trainprof node file that was changed by a text-mode transfer", 4, "TPN1"},
    {"gzip data (a finished timeline?)", 2, {0x1f, 0x8b}},
    {"zstd data", 4, {0x28, 0xb5, 0x2f, 0xfd}},
    {"xz data", 6, {0xfd, '7', 'z', 'X', 'Z', 0}},
    {"an ELF program or library", 4, {0x7f, 'E', 'L', 'F'}},
    {"a zip archive (a model or pickle of torch?)", 4, {'P', 'K', 3, 4}},
    {"an SQLite database", 6, "SQLite"},
    {"a step log", 8, "#trainpr"},
};

static bool is_text(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] < ' ' && p[i] != '\n' && p[i] != '\r' && p[i] != '\t')
			return false;
	}
	return true;
}

const char *tp_sniff(const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	size_t blanks = 0;

	if (!n)
		return "an empty file";
	for (size_t i = 0; i < sizeof(signature) / sizeof(signature[0]); i++) {
		if (n >= signature[i].n && !memcmp(p, signature[i].bytes, signature[i].n))
			return signature[i].name;
	}
	for (size_t i = 0; i < n && !p[i]; i++) {
		if (i + 1 == n)
			return "nothing but zeros";
	}
	while (blanks < n && strchr(" \t\r\n", p[blanks]) && p[blanks])
		blanks++;
	if (is_text(p, n)) {
		if (blanks < n && (p[blanks] == '{' || p[blanks] == '['))
			return "JSON (a finished timeline?)";
		return "text";
	}
	return "unknown data";
}

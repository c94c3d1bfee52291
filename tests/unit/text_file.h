/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_file.h - a whole file as a text, and how often it says something
 */
#ifndef TP_TESTS_TEXT_FILE_H
#define TP_TESTS_TEXT_FILE_H

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NUL-terminated; the caller's to free. */
static inline char *read_whole(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text;
	long n;

	cr_assert_not_null(file, "%s", path);
	fseek(file, 0, SEEK_END);
	n = ftell(file);
	rewind(file);
	text = malloc((size_t)n + 1);
	cr_assert_eq(fread(text, 1, (size_t)n, file), (size_t)n);
	text[n] = 0;
	fclose(file);
	return text;
}

static inline uint32_t count(const char *text, const char *part)
{
	uint32_t n = 0;

	for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
		n++;
	return n;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * begins.h - does a text begin or end with a word?
 */
#ifndef TP_BASE_BEGINS_H
#define TP_BASE_BEGINS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* n bytes that need no NUL behind them. */
static inline bool tp_begins(const char *bytes, size_t n, const char *with)
{
	size_t n_with = strlen(with);

	return n >= n_with && !memcmp(bytes, with, n_with);
}

static inline bool tp_ends(const char *text, const char *with)
{
	size_t n = strlen(text), n_with = strlen(with);

	return n >= n_with && !memcmp(text + n - n_with, with, n_with);
}

#endif

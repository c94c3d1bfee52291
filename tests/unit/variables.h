/* SPDX-License-Identifier: Apache-2.0 */
/*
 * variables.h - an environment for tests of what is read from it: one line of text
 */
#ifndef TP_TESTS_VARIABLES_H
#define TP_TESTS_VARIABLES_H

#include <stdio.h>
#include <string.h>

/* ctx: "NAME=value NAME=value ..." */
static inline const char *variables_look_up(void *ctx, const char *name)
{
	static char value[128];
	size_t n = strlen(name);

	for (const char *at = ctx; at && *at; at += strcspn(at, " "), at += strspn(at, " ")) {
		if (strncmp(at, name, n) || at[n] != '=')
			continue;
		snprintf(value, sizeof(value), "%.*s", (int)strcspn(at + n + 1, " "), at + n + 1);
		return value;
	}
	return NULL;
}

#endif

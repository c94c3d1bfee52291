/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.c - lists of numbers as people give them: "0,2,5-7"
 */
#include "merge/kit/list.h"

#include <errno.h>
#include <stdlib.h>

/* One "5" or "5-7" of a list; returns what follows it, NULL: it is none. */
static const char *next_range(const char *s, uint64_t *first, uint64_t *last)
{
	char *end;

	if (*s < '0' || *s > '9')
		return NULL;
	errno = 0;
	*first = *last = strtoull(s, &end, 10);
	if (*end == '-') {
		if (end[1] < '0' || end[1] > '9')
			return NULL;
		*last = strtoull(end + 1, &end, 10);
	}
	if (errno || *last < *first)
		return NULL;
	if (*end == ',' && end[1])
		return end + 1;
	return *end ? NULL : end;
}

bool tp_list_is_valid(const char *list)
{
	uint64_t first, last;

	do
		list = next_range(list, &first, &last);
	while (list && *list);
	return list != NULL;
}

bool tp_list_has(const char *list, uint64_t n)
{
	uint64_t first, last;

	if (!list || !*list)
		return true;
	while (list && *list) {
		list = next_range(list, &first, &last);
		if (list && n >= first && n <= last)
			return true;
	}
	return false;
}

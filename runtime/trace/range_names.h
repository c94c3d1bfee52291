/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range_names.h - which ranges a list of names means: in TRAINPROF_MEMORY_AT, and in --at of trainprof-merge
 *
 * Names are separated by commas; a range is meant when one of them is part of its own, ignoring the case of
 * ASCII letters. Empty names mean nothing. Pure; threads: any.
 */
#ifndef TP_TRACE_RANGE_NAMES_H
#define TP_TRACE_RANGE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

static inline bool tp_range_names_have(const char *names, const char *range, size_t n_range)
{
	for (size_t n;; names += n + 1) {
		n = strcspn(names, ",");
		for (size_t i = 0; n && i + n <= n_range; i++)
			if (!strncasecmp(range + i, names, n))
				return true;
		if (!names[n])
			return false;
	}
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * faults.c - reads and counts the calls that are to fail
 */
#include "tests/fakes/faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_one(struct fake_fault *fault, const char *text)
{
	char end = 0;

	fault->argument = -1;
	if (sscanf(text, "%63[^:@]@%ld:%u:%d%c", fault->call, &fault->argument, &fault->nth,
		   &fault->code, &end) == 4)
		return true;
	fault->argument = -1;
	return sscanf(text, "%63[^:@]:%u:%d%c", fault->call, &fault->nth, &fault->code, &end) == 3;
}

void fake_faults_read(struct fake_faults *faults, const char *variable)
{
	const char *set = getenv(variable);
	char copy[2048], *rest = copy, *one;

	if (!set || !*set)
		return;
	snprintf(copy, sizeof(copy), "%s", set);
	while ((one = strsep(&rest, ","))) {
		if (faults->n == FAKE_FAULTS_MAX || !read_one(&faults->fault[faults->n], one)) {
			fprintf(stderr, "%s: '%s' is not call:nth:code\n", variable, one);
			exit(2);
		}
		faults->n++;
	}
}

int fake_faults_take(struct fake_faults *faults, const char *call, int64_t argument)
{
	for (uint32_t i = 0; i < faults->n; i++) {
		struct fake_fault *fault = &faults->fault[i];
		uint32_t seen;

		if (strcmp(fault->call, call) ||
		    (fault->argument >= 0 && fault->argument != argument))
			continue;
		seen = __atomic_add_fetch(&fault->seen, 1, __ATOMIC_RELAXED);
		if (!fault->nth || seen == fault->nth)
			return fault->code;
	}
	return 0;
}

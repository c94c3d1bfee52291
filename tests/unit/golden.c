/* SPDX-License-Identifier: Apache-2.0 */
/*
 * golden.c - what was read once from a trace of each version of the format is read for ever
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/golden/listing.h"

static const char *const version[] = {"1.0", "1.1", "1.2", "1.3"};

static char *load(const char *path)
{
	char *text = calloc(1, 1 << 20);
	FILE *file = fopen(path, "r");

	cr_assert_not_null(file, "'%s' (run from the root of the sources, or set TOP)",
			   path);
	cr_assert_gt(fread(text, 1, (1 << 20) - 1, file), 0);
	fclose(file);
	return text;
}

/* The golden folder's file of version i with this ending. */
static const char *find(char path[512], size_t i, const char *ending)
{
	const char *top = getenv("TOP");

	snprintf(path, 512, "%s/tests/golden/%s.%s", top ? top : ".", version[i], ending);
	return path;
}

Test(golden, traces_of_every_version_are_read_as_ever)
{
	char path[512];

	for (size_t i = 0; i < sizeof(version) / sizeof(version[0]); i++) {
		char *want = load(find(path, i, "txt")), *got = NULL;
		size_t n_got, line = 1;
		FILE *out = open_memstream(&got, &n_got);

		cr_assert_eq(list_trace(out, find(path, i, "tpt")), 0, "'%s'", path);
		fclose(out);
		for (size_t at = 0; got[at] && got[at] == want[at]; at++)
			line += got[at] == '\n';
		cr_assert_str_eq(got, want, "'%s': differs in line %zu", path, line);
		free(got);
		free(want);
	}
}

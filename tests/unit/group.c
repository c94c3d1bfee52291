/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of control groups say of memory. */
#include <criterion/criterion.h>

#include <string.h>

#include "runtime/probe/hang/group.h"

TestSuite(group, .timeout = 60);

Test(group, finds_the_group_of_the_memory_controller)
{
	static const struct {
		const char *text, *v1, *v2;	/* NULL: none */
	} cases[] = {
		{"0::/user.slice/a\n", NULL, "/user.slice/a"},
		{"4:memory:/docker/1\n3:cpuset:/\n0::/\n", "/docker/1", "/"},
		{"5:cpu,memory:/x\n", "/x", NULL},
		{"0::/no/end", NULL, "/no/end"},
		{"", NULL, NULL},
		{"nonsense\n:\n::\n", NULL, NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t n = strlen(cases[i].text);
		char path[64];

		cr_expect_eq(tp_group_parse(cases[i].text, n, false, path, sizeof(path)),
			     cases[i].v1 != NULL);
		cr_expect(!cases[i].v1 || !strcmp(path, cases[i].v1), "%zu", i);
		if (tp_group_parse(cases[i].text, n, true, path, sizeof(path)))
			cr_expect(cases[i].v2 && !strcmp(path, cases[i].v2), "%zu: %s", i, path);
		else
			cr_expect(!cases[i].v2, "%zu", i);
	}
}

Test(group, leaves_a_path_that_does_not_fit)
{
	char path[4];

	cr_expect(!tp_group_parse("0::/long\n", 9, true, path, sizeof(path)));
}

Test(group, finds_the_page_cache)
{
	static const char text[] = "cache 5\ninactive_file 4096\ntotal_inactive_file 8192\n";

	cr_expect_eq(tp_group_stat(text, sizeof(text) - 1, "inactive_file"), 4096);
	cr_expect_eq(tp_group_stat(text, sizeof(text) - 1, "total_inactive_file"), 8192);
	cr_expect_eq(tp_group_stat(text, sizeof(text) - 1, "file"), 0);
}

Test(group, is_near_from_95_percent_on)
{
	cr_expect(!tp_group_is_near(&(struct tp_group){0, 0}));
	cr_expect(!tp_group_is_near(&(struct tp_group){1ull << 40, 0}));
	cr_expect(!tp_group_is_near(&(struct tp_group){94000, 100000}));
	cr_expect(tp_group_is_near(&(struct tp_group){95000, 100000}));
	cr_expect(tp_group_is_near(&(struct tp_group){1ull << 59, 1ull << 59}));
}

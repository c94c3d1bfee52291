/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "merge/kit/show.h"

struct text {
	const char *text, *shown;
};

static void expect(const struct text *cases, size_t n)
{
	char text[256];

	for (size_t i = 0; i < n; i++) {
		strcpy(text, cases[i].text);
		cr_expect_str_eq(tp_show_paths(text), cases[i].shown);
	}
}

Test(show_paths, below_the_working_directory_are_told_from_there)
{
	static const struct text cases[] = {
		{"/usr/lib/a.py:7 main", "lib/a.py:7 main"},
		{"between /usr/a.py:1 f and /usr/b/./c.py:2 g", "between a.py:1 f and b/c.py:2 g"},
		{"'/usr/a' (/usr/b)", "'a' (b)"},
		{"/usr/a b/c.py", "a b/c.py"},
		{"/usr", "/usr"},
		{"/usr/", "/usr"},
		{"/usrlib/a", "/usrlib/a"},
		{"x/usr/lib", "x/usr/lib"},
		{"DIR=/usr/lib", "DIR=/usr/lib"},
		{"https://usr/lib", "https://usr/lib"},
		/* The root is not told as the folder above. */
		{"/var/log/a", "/var/log/a"},
	};

	cr_assert_eq(chdir("/usr"), 0);
	expect(cases, sizeof(cases) / sizeof(cases[0]));
}

Test(show_paths, below_the_folder_above_are_told_from_there_unless_it_is_near_the_root)
{
	static const struct text near_root[] = {{"/proc/x/y.py", "/proc/x/y.py"}};
	char text[256];

	/* A folder of three parts that every process has; its own number is one. */
	cr_assert_eq(chdir("/proc/self/fd"), 0);
	snprintf(text, sizeof(text), "/proc/%d/fd/x.py:1 f, /proc/%d/y", (int)getpid(), (int)getpid());
	cr_expect_str_eq(tp_show_paths(text), "x.py:1 f, ../y");
	cr_assert_eq(chdir("/proc/sys"), 0);
	expect(near_root, 1);
}

Test(show_paths, are_normalised_wherever_one_stands)
{
	static const struct text cases[] = {
		{"/x/./y//z/../a.py:3", "/x/y/a.py:3"},
		{"/../../x", "/x"},
		{"/x/..", "/"},
		{"a / b // c", "a / b // c"},
		{"/", "/"},
		{"", ""},
		{"/x/.../..a", "/x/.../..a"},
	};

	cr_assert_eq(chdir("/"), 0);
	expect(cases, sizeof(cases) / sizeof(cases[0]));
}

Test(show_paths, a_file_is_its_name_and_its_folder)
{
	cr_assert_eq(chdir("/usr"), 0);
	cr_expect_str_eq(tp_show_file("/home/me/job/models/gpt.py"), "models/gpt.py");
	cr_expect_str_eq(tp_show_file("/train.py"), "/train.py");
	cr_expect_str_eq(tp_show_file("models/gpt.py"), "models/gpt.py");
	cr_expect_str_eq(tp_show_file("train.py"), "train.py");
	cr_expect_str_eq(tp_show_file("<stdin>"), "<stdin>");
	cr_expect_str_eq(tp_show_file(""), "");
	/* Where one stands the folder says nothing. */
	cr_expect_str_eq(tp_show_file("/usr/train.py"), "train.py");
	cr_expect_str_eq(tp_show_file("/usr/lib/data.py"), "lib/data.py");
	cr_expect_str_eq(tp_show_file("/usrlib/train.py"), "usrlib/train.py");
}

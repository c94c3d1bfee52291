/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_names.c - registered names are kept once, handles are checked, names are joined
 */
#include <criterion/criterion.h>

#include "runtime/probe/mark/mark_names.h"
#include "tests/unit/session_rig.h"

static struct tp_mark_name named(const char *domain, const char *category, const char *text)
{
	struct tp_mark_name name = {.text = text, .n_text = text ? (uint32_t)strlen(text) : 0};

	if (domain)
		name.domain = tp_mark_domain(domain, (uint32_t)strlen(domain));
	if (category) {
		name.category = category;
		name.n_category = (uint32_t)strlen(category);
	}
	return name;
}

static const char *joined(const struct tp_mark_name *name)
{
	static char text[5000];
	const char *bytes;
	uint32_t kind, n, id = tp_mark_intern(name);

	if (!tp_intern_get(NULL, id, &kind, &bytes, &n))
		return "";
	cr_assert_eq(kind, TP_STRING_TEXT);
	snprintf(text, sizeof(text), "%.*s", (int)n, bytes);
	return text;
}

Test(mark_names, the_same_text_has_the_same_handle)
{
	cr_expect_eq(tp_mark_domain("io", 2), tp_mark_domain("io", 2));
	cr_expect_neq(tp_mark_domain("io", 2), tp_mark_domain("ip", 2));
	cr_expect_eq(tp_mark_string("io", 2), tp_mark_string("io", 2));
	cr_expect_neq(tp_mark_string("io", 2), tp_mark_domain("io", 2));
}

Test(mark_names, a_text_of_any_length_is_kept_once)
{
	static char text[100000];

	memset(text, 'x', sizeof(text));
	cr_expect_eq(tp_mark_string(text, sizeof(text)), tp_mark_string(text, sizeof(text)));
}

Test(mark_names, a_handle_that_is_none_of_ours_stands_for_nothing)
{
	struct tp_mark_name name = {0};
	char *domain = (char *)tp_mark_domain("io", 2);
	uint64_t other[16] = {0};

	cr_expect_eq(tp_mark_find_domain(domain), (void *)domain);
	cr_expect_null(tp_mark_find_domain(NULL));
	cr_expect_null(tp_mark_find_domain(domain + 16));
	cr_expect_null(tp_mark_find_domain(domain + 1));
	cr_expect_null(tp_mark_find_domain(other));
	cr_expect_null(tp_mark_find_domain((void *)~0ul));
	tp_mark_find_string(&name, domain);
	cr_expect_null(name.text, "a domain is no string");
}

Test(mark_names, when_there_is_no_more_room_handles_are_still_good)
{
	struct tp_mark_name name = {0};
	void *last = NULL;
	char text[4000];

	for (uint32_t i = 0; i < 3000; i++) {
		memset(text, 'a', sizeof(text));
		snprintf(text, 20, "%u", i);
		last = tp_mark_string(text, sizeof(text));
		cr_assert_not_null(last);
	}
	tp_mark_find_string(&name, last);
	cr_expect_null(name.text);
	cr_expect_not_null(tp_mark_domain("late", 4));
}

Test(mark_names, a_category_has_a_name_in_its_domain_and_the_newest_counts)
{
	struct tp_mark_name name = named("io", NULL, "x");

	tp_mark_category(name.domain, 7, "disk", 4);
	tp_mark_category(NULL, 7, "own", 3);
	tp_mark_find_category(&name, 7);
	cr_expect_eq(name.n_category, 4);
	cr_expect(!memcmp(name.category, "disk", 4));
	tp_mark_category(name.domain, 7, "net", 3);
	tp_mark_find_category(&name, 7);
	cr_expect_eq(name.n_category, 3);
	name = named(NULL, NULL, "x");
	tp_mark_find_category(&name, 8);
	cr_expect_null(name.category);
	tp_mark_find_category(&name, 7);
	cr_expect(name.n_category == 3 && !memcmp(name.category, "own", 3));
}

Test(mark_names, domain_and_category_come_before_the_name)
{
	static const struct {
		const char *domain, *category, *text, *wanted;
	} cases[] = {
		{NULL, NULL, "x", "x"},
		{NULL, "c", "x", "c: x"},
		{"d", NULL, "x", "d: x"},
		{"d", "c", "x", "d/c: x"},
		{"", NULL, "x", "x"},
		{"d", "c", "", ""},
		{NULL, NULL, NULL, ""},
	};
	char longest[3000];
	struct tp_mark_name name;

	rig_set_up();
	cr_assert_eq(rig_open("always"), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		name = named(cases[i].domain, cases[i].category, cases[i].text);
		cr_expect_str_eq(joined(&name), cases[i].wanted, "case %zu", i);
	}
	memset(longest, 'z', sizeof(longest));
	longest[sizeof(longest) - 1] = 0;
	name = named(longest, longest, longest);
	cr_expect_eq(strlen(joined(&name)), 1024);
	tp_mark_find_string(&name, tp_mark_string("kept", 4));
	name.domain = NULL;
	name.n_category = 0;
	cr_expect_str_eq(joined(&name), "kept");
	cr_expect_str_eq(joined(&name), "kept", "and from its own memory");
	rig_tear_down();
}

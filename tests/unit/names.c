/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.c - tests of rows by operator name
 */
#include <criterion/criterion.h>

#include "merge/facts/time/names.h"
#include "tests/unit/fake_run.h"

static struct fake fake;
static struct tp_proc *proc;
static struct tp_names *names;

static void set_up(void)
{
	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	names = tp_names_new();
}

static void tear_down(void)
{
	tp_names_free(names);
}

TestSuite(names, .init = set_up, .fini = tear_down);

static uint32_t row_of(const struct tp_string *string, uint8_t kind)
{
	struct tp_event event = fake_span(&fake, proc, 0, kind, string, 0, 1);

	return tp_names_row(names, &event);
}

Test(names, gives_overloads_one_row_and_other_names_another)
{
	uint32_t tensor = row_of(fake_string(&fake, TP_STRING_OP, "aten::add\0Tensor", 16), 1);
	uint32_t scalar = row_of(fake_string(&fake, TP_STRING_OP, "aten::add\0Scalar", 16), 1);
	uint32_t other = row_of(fake_op(&fake, "aten::add_"), 1);

	cr_expect_eq(tensor, scalar);
	cr_expect_neq(tensor, other);
	cr_expect_str_eq(tp_names_at(names, tensor)->bytes, "aten::add");
	cr_expect_eq(tp_names_at(names, tensor)->n_bytes, 9);
}

Test(names, has_a_row_for_what_has_no_name)
{
	uint32_t none = row_of(NULL, 1);

	cr_expect_str_eq(tp_names_at(names, none)->bytes, "(no name)");
	cr_expect_eq(row_of(NULL, 2), none);
	cr_expect_neq(row_of(fake_op(&fake, ""), 1), none);
}

Test(names, finds_categories)
{
	static const struct {
		const char *name;
		uint8_t kind;
		enum tp_category category;
	} cases[] = {
		{"aten::mm", TP_REC_OP, TP_CAT_CPU},
		{"forward", TP_REC_RANGE, TP_CAT_OTHER},
		{"Optimizer.step#AdamW.step", TP_REC_RANGE, TP_CAT_OTHER},
		{"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", TP_REC_RANGE,
		 TP_CAT_DATA},
		{"gloo:all_reduce", TP_REC_RANGE, TP_CAT_COMM},
		{"nccl:all_reduce", TP_REC_OP, TP_CAT_COMM},
		{"c10d::allreduce_", TP_REC_OP, TP_CAT_COMM},
		{"gloo", TP_REC_RANGE, TP_CAT_OTHER},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tp_event event = fake_span(&fake, proc, 0, cases[i].kind,
						  fake_text(&fake, cases[i].name), 0, 1);

		cr_expect_eq(tp_names_category(names, tp_names_row(names, &event), &event),
			     cases[i].category, "%s", cases[i].name);
	}
}

Test(names, knows_the_frameworks_own_profiling_calls)
{
	cr_expect(tp_names_at(names, row_of(fake_op(&fake, "aten::is_leaf"), 1))->is_private);
	cr_expect_not(tp_names_at(names, row_of(fake_op(&fake, "aten::is_leaf2"), 1))->is_private);
	cr_expect_not(tp_names_at(names, row_of(fake_op(&fake, "aten::is"), 1))->is_private);
}

Test(names, keeps_thousands_apart)
{
	static const struct tp_string *string[5000];
	char name[32];

	for (uint32_t i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "aten::op%u", i);
		string[i] = fake_op(&fake, name);
		cr_assert_eq(row_of(string[i], 1), i);
	}
	for (uint32_t i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "aten::op%u", i);
		cr_assert_eq(row_of(string[i], 1), i);
		/* The same name as another string, of another file. */
		cr_assert_eq(row_of(fake_text(&fake, name), 2), i);
	}
	cr_expect_eq(tp_names_count(names), 5000);
}

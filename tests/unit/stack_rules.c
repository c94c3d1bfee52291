/* SPDX-License-Identifier: Apache-2.0 */
/* The table of unwind rules, and rules as words. */
#include <pthread.h>

#include "tests/unit/stack_rig.h"

Test(stack_rules, a_word_holds_a_rule)
{
	static const int64_t n[] = { 0, 1, -1, 2, 8388607, -8388608, 4097 };
	static const int64_t bp[] = { 0, -2, 32767, -32768 };

	for (int i = 0; i < 7; i++) {
		for (int k = 0; k < 4; k++) {
			uint64_t rule = tp_rule_with_bp(tp_rule_make(TP_RULE_BP, n[i]), TP_BP_AT_CFA, bp[k]);

			rule |= TP_RULE_EPOCH(0x3ffffull);
			cr_expect_eq(tp_rule_kind(rule), TP_RULE_BP);
			cr_expect_eq(tp_rule_n(rule), n[i]);
			cr_expect_eq(tp_rule_bp(rule), TP_BP_AT_CFA);
			cr_expect_eq(tp_rule_bp_n(rule), bp[k]);
		}
	}
}

static FRAME uint64_t here(void)
{
	return (uint64_t)__builtin_return_address(0);
}

Test(stack_rules, are_learnt_once, .init = rig_open, .fini = rig_close)
{
	uint64_t pc = here(), rule = tp_stack_rule(pc, false), n = tp_stack_rules.n_learnt;

	cr_expect(tp_rule_kind(rule) == TP_RULE_SP || tp_rule_kind(rule) == TP_RULE_BP);
	for (int i = 0; i < 100; i++)
		cr_expect_eq(tp_stack_rule(pc, false), rule);
	cr_expect_eq(tp_stack_rules.n_learnt, n);
	/* The instruction there is another thing than what returns there. */
	tp_stack_rule(pc, true);
	cr_expect_eq(tp_stack_rules.n_learnt, n + 1);
	tp_stack_rules_forget();
	cr_expect_eq(tp_stack_rule(pc, false) << 18, rule << 18);
	cr_expect_eq(tp_stack_rule(pc, false) << 18, rule << 18);
	cr_expect_eq(tp_stack_rules.n_learnt, n + 2, "once more, and no more");
}

/* Addresses in no library have a rule, too: that nothing is known. */
static void fill(uint64_t from, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t rule = tp_stack_rule(from + i, false);

		cr_assert_eq(tp_rule_kind(rule), TP_RULE_UNKNOWN, "%lx", (unsigned long)rule);
		cr_assert_eq(tp_rule_n(rule), 0);
	}
}

Test(stack_rules, the_table_grows_and_begins_again, .init = rig_open, .fini = rig_close)
{
	uint64_t pc = here(), rule = tp_stack_rule(pc, false), n;

	fill(0x10000, 20000);
	cr_expect_gt(tp_stack_rules.table->mask, 20000);
	n = tp_stack_rules.n_learnt;
	cr_expect_eq(tp_stack_rule(pc, false), rule, "it came along");
	fill(0x10000, 100);
	cr_expect_leq(tp_stack_rules.n_learnt, n + 100);
	fill(0x100000, 300000);
	cr_expect_leq(tp_stack_rules.table->mask, (1u << 18) - 1);
	cr_expect_eq(tp_stack_rule(pc, false), rule);
}

Test(stack_rules, a_rule_of_long_ago_is_not_taken_for_new, .init = rig_open, .fini = rig_close)
{
	uint64_t pc = here(), n;

	tp_stack_rule(pc, false);
	n = tp_stack_rules.n_learnt;
	/* After so many the bits in a rule are the same again. */
	for (uint64_t i = 0; i < 1 << 18; i++)
		tp_stack_rules_forget();
	tp_stack_rule(pc, false);
	cr_expect_eq(tp_stack_rules.n_learnt, n + 1);
}

static bool is_stopping;

static void *use_rules(void *unused)
{
	uint64_t pc = here(), want = tp_stack_rule(pc, false) << 18, n = 0;

	while (!__atomic_load_n(&is_stopping, __ATOMIC_RELAXED)) {
		cr_assert_eq(tp_stack_rule(pc, false) << 18, want);
		fill(0x10000 + n++ % 300000, 1);
	}
	return NULL;
}

Test(stack_rules, threads_see_whole_rules, .init = rig_open, .fini = rig_close)
{
	pthread_t thread[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, use_rules, NULL);
	for (int i = 0; i < 100; i++) {
		tp_stack_rules_forget();
		fill(0x1000000, 500);
	}
	__atomic_store_n(&is_stopping, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of straightforward code: what they are, and that what did not change is not walked. */
#include "tests/unit/stack_rig.h"

static FRAME uint32_t leaf(void)
{
	uint32_t number = rig_take_both();

	STAY_ON_STACK();
	return number;
}

static FRAME uint32_t middle(int depth)
{
	uint32_t number = depth ? middle(depth - 1) : leaf();

	STAY_ON_STACK();
	return number;
}

Test(stack, is_what_libunwind_says, .init = rig_open, .fini = rig_close)
{
	for (int i = 0; i < 3; i++) {
		for (int depth = 0; depth < 40; depth += 7)
			rig_expect_truth(middle(depth), "recursion");
		rig_expect_truth(leaf(), "leaf");
		rig_expect_truth(rig_take_both(), "the test itself");
	}
	cr_expect_eq(rig_total("mismatched"), 0);
	cr_expect_eq(rig_total("cut"), 0);
	cr_expect_eq(rig_total("slow"), 0);
}

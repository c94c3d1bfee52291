/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_optimizers.c - tests of the step detector: which of several optimizers ends a step
 */
#include "tests/unit/step_rig.h"

Test(step_optimizers, counts_several_optimizers_once_a_round)
{
	static const struct row rows[] = {
		/* Two rounds tell that 2 ends them; from the third on it is the boundary. */
		{"GAN 1:1", "a! Z1 O1 Z2 O2 {5 a Z1 O1 Z2 O2 }", "^ {6 o1 }"},
		{"GAN 1:1, order swapped", "a! Z2 O2 Z1 O1 {5 a Z2 O2 Z1 O1 }", "^ {6 o1 }"},
		{"GAN 1:1, no loader", "{6 Z1 O1 Z2 O2 }", "^ {6 o0 }"},
		{"critic 5:1", "a! O1 {4 a O1 } O2 {2 {5 a O1 } O2 }", "^ {15 o1 }"},
		{"critic 5:1, order swapped", "a! O2 {5 a O1 } {3 a O2 {5 a O1 } }", "^ o1 {3 o6 }"},
		{"two optimizers of one model", "a! O1 O2 Z1 Z2 {5 a O1 O2 Z1 Z2 }", "^ {6 o1 }"},
		{"one per parameter, in backward",
		 "a! O1 Z1 O2 Z2 O3 Z3 O4 Z4 {5 a O1 Z1 O2 Z2 O3 Z3 O4 Z4 }", "^ {6 o1 }"},
		{"the leader stops, another goes on", "a! O1 O2 {3 a O1 O2 } {3 a O1 } {3 a O1 }",
		 /* Optimizer 2 led since round 3; 1 takes over with its fourth step alone. */
		 "^ {4 o1 } o4 o1 o1"},
		{"a new optimizer in the second half, it is not known whose the iterations are",
		 "{6 O1 } {20 O2 }", "^ {6 o0 } o0 {4 o0 }"},
	};

	CHECK_ROWS(rows, NULL);
}

Test(step_optimizers, goes_on_with_optimizers_that_take_the_place_of_others)
{
	static const struct row rows[] = {
		{"a new one in the second half", "a! Z1 O1 {5 a Z1 O1 } {9 a Z2 O2 }", "^ {15 o1 }"},
		{"the same without zero_grad", "a! O1 {5 a O1 } {9 a O2 }", "^ {15 o1 }"},
		{"the same without a loader", "{6 Z1 O1 } {9 Z2 O2 }", "^ {15 o0 }"},
		{"one for each epoch", "a! O1 {5 a O1 } a. a! O2 {5 a O2 } a. a! O3 {5 a O3 } a.",
		 "^ {6 o1 } | {6 o1 } | {6 o1 }"},
		{"two that train by turns", "a! {2 {8 a O1 } {8 a O2 } }", "^ o2 {31 o1 }"},
		{"of few steps each, until one goes on", "{3 Z1 O1 } {3 Z2 O2 } {20 Z3 O3 }", "^ {3 o0 } {5 o0 }"},
		{"two networks by turns instead of one", "{3 Z1 O1 } {18 Z2 O2 Z3 O3 }", "^ {3 o0 } o0 {2 o0 }"},
		{"one of its own in each step", "a! O1 a O2 a O3 a O4 a O5 a O6 a O7 a O8 a O9 a OA a OB a OC",
		 "^ o1 o8 {3 o1 }"},
		{"the same without a loader", "Z1 O1 Z2 O2 Z3 O3 Z4 O4 Z5 O5 Z6 O6 Z7 O7 Z8 O8 Z9 O9 ZA OA ZB OB",
		 "^ {4 o0 }"},
		{"after those one for all",
		 "Z1 O1 Z2 O2 Z3 O3 Z4 O4 Z5 O5 Z6 O6 Z7 O7 Z8 O8 Z9 O9 {16 ZA OA } {3 ZA ZB OB OA }",
		 "^ {2 o0 } {16 o0 } {2 o0 }"},
		{"inner ones of meta-learning, three steps each",
		 "{3 Z1 O1 } {3 Z2 O2 } {3 Z3 O3 } {3 Z4 O4 } {3 Z5 O5 } {3 Z6 O6 } {3 Z7 O7 } {3 Z8 O8 } "
		 "{3 Z9 O9 } {3 ZA OA }", "^ {3 o0 } {6 o0 }"},
		/* Not in its place, but beside it. */
		{"another one that comes seldom, in the same iteration",
		 "a! O1 {8 a O1 } a O2 O1 {8 a O1 } a O2 O1 {8 a O1 } a O2 O1",
		 "^ {9 o1 } o1 o0 {8 o1 } o1 {8 o1 } o1"},
		{"another one that comes seldom, in an iteration of its own",
		 "a! O1 {8 a O1 } a O2 {9 a O1 } a O2 {2 a O1 }", "^ {9 o1 } o1 {9 o1 } o1 {2 o1 }"},
		{"another one that comes seldom, after it", "a! O1 {8 a O1 } O2 {9 a O1 } O2 {2 a O1 }",
		 "^ {20 o1 }"},
		{"its place was taken for good, then both train by turns",
		 "a! O1 {8 a O1 } {2 a O2 } {4 a O2 a O1 }", "^ {12 o1 } o2 o3 o2"},
		{"a third one, after a second one that came beside it", "a! O1 {5 a O1 } O2 a O3 {3 a O1 }",
		 "^ {6 o1 } o2 {2 o1 }"},
		{"a second one joins later, in the same iterations", "{6 Z1 O1 } {6 Z1 Z2 O1 O2 }", "^ {12 o0 }"},
		{"the second network joins later, no loader", "{9 Z1 O1 } {9 Z2 O2 Z1 O1 }", "^ {18 o0 }"},
		{"one per parameter, in backward, without a loader",
		 "{4 O1 Z1 O2 Z2 O3 Z3 O4 Z4 O5 Z5 O6 Z6 O7 Z7 O8 Z8 O9 Z9 OA ZA OB ZB }", "^ {4 o0 }"},
		{"one per parameter, zero_grad first",
		 "{4 Z1 Z2 Z3 Z4 Z5 Z6 Z7 Z8 Z9 ZA ZB O1 O2 O3 O4 O5 O6 O7 O8 O9 OA OB }", "^ {4 o0 }"},
	};

	CHECK_ROWS(rows, NULL);
}

Test(step_optimizers, ends_where_the_iteration_does_once_the_round_is_known)
{
	start(NULL);
	each_word("a! O1 O2 a O1 O2 a O1 O2 a O1", play_word);
	cr_expect_str_eq(outcome, "^ o1 o1 o1");
	each_word("O2", play_word);
	cr_expect_str_eq(outcome, "^ o1 o1 o1 o1");
	cr_expect_eq(last_end, now_ticks);
}

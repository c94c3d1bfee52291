/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorded.c - tests: which steps of a ledger lie in a window of their process
 */
#include "merge/facts/time/recorded.h"

#include <criterion/criterion.h>

#include "tests/unit/fake_run.h"

static struct fake fake;

/* Of a step from `begin` on, with windows [1000000, 2000000) of rank 0 and of rank 1 all the time. */
static bool is_recorded(int64_t begin, int64_t dur)
{
	struct tp_proc *proc;

	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	fake_window(&fake, proc, 0, 1000000, 2000000)->n_events = 1;
	fake_window(&fake, fake_proc(&fake, 1), 0, 0, 9000000)->n_events = 1;
	return tp_is_recorded(&fake.run, fake_step_row(&fake, proc, 1, begin, dur));
}

Test(recorded, edges_of_steps_and_windows_are_read_from_two_clocks)
{
	cr_expect(is_recorded(1000000, 1000000));
	/* The last one ends a moment after the window, the first begins a moment before. */
	cr_expect(is_recorded(1500000, 500003));
	cr_expect(is_recorded(999998, 500000));
	/* Those beside them, also very short ones. */
	cr_expect_not(is_recorded(2000000, 500000));
	cr_expect_not(is_recorded(500000, 500000));
	cr_expect_not(is_recorded(2000001, 100));
	cr_expect_not(is_recorded(999899, 100));
	/* In part. */
	cr_expect_not(is_recorded(1500000, 600000));
}

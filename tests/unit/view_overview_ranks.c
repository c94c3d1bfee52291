/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_overview_ranks.c - tests of the first screen where there are several ranks
 */
#include "tests/unit/overview_rig.h"

TestSuite(view_overview_ranks, .init = set_up);

Test(view_overview_ranks, compares_ranks_when_there_are_several)
{
	static const char *const wanted[] = {"2 of 2 ranks", "average of 6 recorded steps, all ranks",
					     "rank 0      3  100 ms", "rank 1      3  100 ms",
					     /* The time of both windows, what they share once. */
					     "1.00 s, 350 ms of it recorded", NULL};

	make_rank(0);
	make_rank(1);
	fake.run.window[1].begin_ns += 50 * MS;
	fake.run.window[1].end_ns += 50 * MS;
	expect_has(print(100, false), wanted);
}

/* Each step a collective of all ranks, to which rank 1 comes `late_ms` late. */
static void make_ranks(int64_t late_ms)
{
	for (int32_t rank = 0; rank < 3; rank++) {
		struct tp_proc *proc = make_rank(rank);
		int64_t late = rank == 1 ? late_ms * MS : 0;

		for (uint32_t i = 3; i < 6; i++) {
			int64_t at = i * 100 * MS + 70 * MS;

			event[n_events++] = fake_span(&fake, proc, 0, TP_REC_OP,
						      fake_op(&fake, "aten::bmm"), at, at + late);
			event[n_events++] = fake_span(&fake, proc, 1, TP_REC_RANGE,
						      fake_text(&fake, "gloo:all_reduce"),
						      at + late, at + 19 * MS);
		}
	}
}

Test(view_overview_ranks, names_the_rank_for_which_the_others_wait)
{
	static const char *const wanted[] = {
		"What holds it back",
		"rank 1 is the straggler, 18.0 ms late per step: it spends 18.0 ms more than the others in",
		NULL};

	make_ranks(18);
	expect_has(print(200, false), wanted);
}

/* Of 18 ms half and more may be what else the machine does. */
Test(view_overview_ranks, does_not_accuse_a_rank_that_had_no_core)
{
	for (uint32_t percent = 5; percent <= 12; percent += 7) {
		static char totals[200];

		set_up();
		make_ranks(18);
		for (uint32_t i = 0; i < fake.run.n_windows; i++) {
			if (fake.run.window[i].proc->rank != 1)
				continue;
			snprintf(totals, sizeof(totals), "threads.wall=1000000000\nthreads.cores=8\n"
				 "thread.%u=700000000 %u0000000 python\n", fake.run.window[i].proc->pid, percent);
			fake.run.window[i].totals = totals;
		}
		cr_expect_eq(strstr(print(200, false), "is the straggler") != NULL, percent == 5, "%s",
			     print(200, false));
	}
}

Test(view_overview_ranks, accuses_nobody_when_all_come_together)
{
	make_ranks(1);
	cr_expect_not(strstr(print(200, false), "waiting,"));
}

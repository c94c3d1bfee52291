/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule.c - tests of the schedule: tables, the grammar, and what each pair of neighbours
 * must be (the comparison with torch.profiler.schedule is a flow test)
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "runtime/engine/config/schedule.h"

/* One letter a step: s skip, w wait, u warm-up, a active, S active and save, - done. */
static char letter_of(struct tp_sched_action action)
{
	static const char letter[] = {
		[TP_PHASE_SKIP] = 's', [TP_PHASE_WAIT] = 'w', [TP_PHASE_WARMUP] = 'u',
		[TP_PHASE_ACTIVE] = 'a', [TP_PHASE_DONE] = '-',
	};

	return action.is_last_active ? 'S' : letter[action.phase];
}

Test(schedule, gives_each_step_its_phase)
{
	static const struct {
		const char *text, *wanted;
	} rows[] = {
		{"skip_first=0,wait=5,warmup=1,active=4,repeat=1", "wwwwwuaaaS----"},
		{"skip_first=2,wait=1,warmup=1,active=2,repeat=2", "sswuaSwuaS----"},
		{"skip_first=0,wait=1,warmup=1,active=1,repeat=0", "wuSwuSwuSwuSwuS"},
		{"skip_first=0,wait=0,warmup=0,active=1,repeat=0", "SSSSSS"},
		{"skip_first=0,wait=0,warmup=0,active=1,repeat=2", "SS----"},
		{"skip_first=0,wait=0,warmup=0,active=3,repeat=0", "aaSaaSaaS"},
		{"skip_first=0,wait=0,warmup=2,active=1,repeat=2", "uuSuuS--"},
		{"skip_first=3,wait=0,warmup=0,active=2,repeat=1", "sssaS---"},
		{"skip_first=0,wait=2,warmup=0,active=1,repeat=0", "wwSwwSwwS"},
		{"always", "aaaaaa"},
		{"at=3,warmup=1,active=2", "wwuaS--"},
		{"at=0,7,warmup=2,active=2", "aSwwwuuaS--"},
		{"warmup=0,active=3,at=1,3,5", "waSaSaaS--"},
		{"at=2,4,active=2,warmup=3", "uuaSaS--"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tp_sched_spec spec = {.active = 1};
		char got[32] = "", bad[32];
		size_t n = strlen(rows[i].wanted);

		cr_assert_eq(tp_sched_parse(&spec, rows[i].text, bad, sizeof(bad)), 0);
		for (size_t step = 0; step < n; step++)
			got[step] = letter_of(tp_sched_at(&spec, step));
		cr_expect_str_eq(got, rows[i].wanted, "%s: %s, not %s", rows[i].text, got,
				 rows[i].wanted);
	}
}

/* Beside a schedule a window may be asked for, by numbers of steps of the run. */
Test(schedule, opens_the_extra_window_beside_its_own)
{
	static const struct {
		const char *what, *text;
		uint64_t from, to;
		const char *wanted;	/* upper case: of the extra window */
		uint64_t stop;		/* the schedule's; 0: none */
	} rows[] = {
		{"alone", "trigger", 4, 7, "wwwuAAZwww", 0},
		{"none was asked for", "trigger", 0, 0, "wwwwwwwwww", 0},
		{"at once: no warm-up", "trigger", 0, 2, "AZww", 0},
		{"behind the schedule", "wait=1,warmup=1,active=2", 6, 8, "wuaS-uAZ--", 0},
		{"before it", "wait=6,warmup=1,active=2", 2, 4, "wuAZwwuaS-", 0},
		{"in its warm-up", "wait=3,warmup=2,active=2", 3, 4, "wuuZuaS-", 0},
		{"inside of it", "wait=1,warmup=1,active=4", 3, 5, "wuaaaS-", 0},
		{"its begin: the rest follows in a window of its own", "wait=1,warmup=1,active=2",
		 2, 6, "wuaSAZ--", 0},
		{"cut by it", "wait=3,warmup=1,active=2", 2, 8, "wuAZaSAZ--", 0},
		{"skipped steps, too", "skip_first=5,wait=0,warmup=2,active=1", 3, 5, "suuAZuuS-", 0},
		{"everything is recorded", "always", 2, 4, "aaaaaa", 0},
		{"stopped in a window", "wait=1,warmup=1,active=4,repeat=0", 0, 0, "wuaS-----", 4},
		{"stopped before one", "wait=3,warmup=1,active=2,repeat=0", 0, 0, "wwwu----", 4},
		{"stopped, and one asked for", "wait=1,warmup=1,active=4,repeat=0", 6, 8, "wuaS-uAZ--", 4},
		{"that follows at once", "wait=1,warmup=1,active=4,repeat=0", 4, 6, "wuaSAZ--", 4},
		{"and is not cut any more", "wait=1,warmup=1,active=1,repeat=0", 3, 8, "wuSAAAAZ-", 3},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tp_sched_spec spec = {.warmup = 1, .active = 1, .repeat = 1};
		const struct tp_sched_extra extra = {rows[i].from, rows[i].to, rows[i].stop};
		char got[32] = "", bad[32];
		size_t n = strlen(rows[i].wanted);

		cr_assert_eq(tp_sched_parse(&spec, rows[i].text, bad, sizeof(bad)), 0);
		for (size_t step = 0; step < n; step++) {
			struct tp_sched_action action = tp_sched_with(&spec, &extra, step, step);

			got[step] = letter_of(action);
			if (action.is_extra)
				got[step] = action.is_last_active ? 'Z' : 'A';
		}
		cr_expect_str_eq(got, rows[i].wanted, "%s: %s, not %s", rows[i].what, got,
				 rows[i].wanted);
	}
}

/*
 * The worked table of Composer's profiling guide, row by row. The guide prints it for
 * repeat=1 and calls the second window "repeated once more"; the code beside it (and
 * torch.profiler.schedule) runs `repeat` windows in all, as we do: the table is repeat=2.
 */
Test(schedule, matches_the_table_of_the_profiling_guide)
{
	static const struct tp_sched_spec spec = {
		.skip_first = 1, .wait = 1, .warmup = 1, .active = 2, .repeat = 2,
	};
	static const struct {
		uint64_t epoch, batch;
		enum tp_phase phase;
		bool is_recorded;
	} rows[] = {
		{0, 0, TP_PHASE_SKIP, false},	{0, 1, TP_PHASE_WAIT, false},
		{0, 2, TP_PHASE_WARMUP, false}, {0, 3, TP_PHASE_ACTIVE, true},
		{0, 4, TP_PHASE_ACTIVE, true},	{0, 5, TP_PHASE_WAIT, false},
		{0, 6, TP_PHASE_WARMUP, false}, {0, 7, TP_PHASE_ACTIVE, true},
		{0, 8, TP_PHASE_ACTIVE, true},	{0, 9, TP_PHASE_DONE, false},
		{1, 0, TP_PHASE_SKIP, false},	{1, 1, TP_PHASE_WAIT, false},
		{1, 2, TP_PHASE_WARMUP, false}, {1, 3, TP_PHASE_ACTIVE, true},
		{1, 4, TP_PHASE_ACTIVE, true},	{1, 5, TP_PHASE_WAIT, false},
		{1, 6, TP_PHASE_WARMUP, false}, {1, 7, TP_PHASE_ACTIVE, true},
		{1, 8, TP_PHASE_ACTIVE, true},	{1, 9, TP_PHASE_DONE, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tp_sched_action action = tp_sched_at(&spec, rows[i].batch);

		cr_expect_eq(action.phase, rows[i].phase, "epoch %lu batch %lu",
			     (unsigned long)rows[i].epoch, (unsigned long)rows[i].batch);
		cr_expect_eq(action.phase == TP_PHASE_ACTIVE, rows[i].is_recorded);
	}
}

Test(schedule, knows_which_listed_step_never_came)
{
	struct tp_sched_spec spec = {.active = 1};
	char bad[32];

	cr_expect_gt(tp_sched_missed(&spec, 0), TP_SCHED_MOST);
	cr_assert_eq(tp_sched_parse(&spec, "at=3,9", bad, sizeof(bad)), 0);
	cr_expect_eq(tp_sched_missed(&spec, 3), 3);
	cr_expect_eq(tp_sched_missed(&spec, 4), 9);
	cr_expect_gt(tp_sched_missed(&spec, 10), TP_SCHED_MOST);
}

Test(schedule, counts_with_the_greatest_numbers)
{
	const uint64_t most = TP_SCHED_MOST;
	const struct tp_sched_spec spec = {most, most, most, most, most, false, false, false, {0}, 0};

	cr_expect_eq(letter_of(tp_sched_at(&spec, 0)), 's');
	cr_expect_eq(letter_of(tp_sched_at(&spec, most)), 'w');
	cr_expect_eq(letter_of(tp_sched_at(&spec, 2 * most)), 'u');
	cr_expect_eq(letter_of(tp_sched_at(&spec, 3 * most)), 'a');
	cr_expect_eq(letter_of(tp_sched_at(&spec, 4 * most - 1)), 'S');
	cr_expect_eq(letter_of(tp_sched_at(&spec, 4 * most)), 'w');
	cr_expect_eq(letter_of(tp_sched_at(&spec, UINT64_MAX)), 'u');
}

Test(schedule, records_nothing_where_nothing_is_active)
{
	static const struct tp_sched_spec none;

	cr_expect_eq(letter_of(tp_sched_at(&none, 0)), '-');
	cr_expect_eq(letter_of(tp_sched_at(&none, 7)), '-');
}

Test(schedule, reads_what_users_write)
{
	static const struct {
		const char *text;
		struct tp_sched_spec wanted;
	} rows[] = {
		{"wait=1", {9, 1, 9, 9, 9, false, false, false, {0}, 0}},
		{"active=3,wait=2", {9, 2, 9, 3, 9, false, false, false, {0}, 0}},
		{" wait=1 , warmup=0\t,active=2 ", {9, 1, 0, 2, 9, false, false, false, {0}, 0}},
		{"per=run", {9, 9, 9, 9, 9, true, false, false, {0}, 0}},
		{"repeat=0,per=epoch", {9, 9, 9, 9, 0, false, false, false, {0}, 0}},
		{"skip_first=0010", {10, 9, 9, 9, 9, false, false, false, {0}, 0}},
		{"active=1000000000000", {9, 9, 9, TP_SCHED_MOST, 9, false, false, false, {0}, 0}},
		{"always", {9, 9, 9, 9, 9, false, true, false, {0}, 0}},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tp_sched_spec spec = {9, 9, 9, 9, 9, false, false, false, {0}, 0};
		const struct tp_sched_spec *wanted = &rows[i].wanted;
		char bad[32] = "";

		cr_expect_eq(tp_sched_parse(&spec, rows[i].text, bad, sizeof(bad)), 0, "%s",
			     rows[i].text);
		cr_expect(spec.skip_first == wanted->skip_first && spec.wait == wanted->wait &&
				  spec.warmup == wanted->warmup && spec.active == wanted->active &&
				  spec.repeat == wanted->repeat && spec.per_run == wanted->per_run &&
				  spec.always == wanted->always,
			  "%s", rows[i].text);
	}
}

Test(schedule, refuses_what_it_does_not_understand_and_names_the_word)
{
	static const struct {
		const char *text, *bad;
	} rows[] = {
		{"", ""},
		{"wait", "wait"},
		{"wait=", "wait="},
		{"wait=x", "wait=x"},
		{"wait=-1", "wait=-1"},
		{"wait=1.5", "wait=1.5"},
		{"wait=1,active=0", "active=0"},
		{"wait=1,wait=2", "wait=2"},
		{"wait=1,", ""},
		{",wait=1", ""},
		{"wait=1;active=2", "wait=1;active=2"},
		{"active=1000000000001", "active=1000000000001"},
		{"active=99999999999999999999999", "active=99999999999999999999999"},
		{"per=step", "per=step"},
		{"steps=3", "steps=3"},
		{"Wait=1", "Wait=1"},
		{"always,wait=1", "always"},
		{"wait=1,active=2,repeat=two", "repeat=two"},
		{"at=", "at="},
		{"at=5,5", "5"},
		{"at=5,3", "3"},
		{"at=5,x", "x"},
		{"at=5,active=2,7", "7"},
		{"at=5,at=7", "at=7"},
		{"at=5,wait=2", "wait=2"},
		{"per=run,at=5", "at=5"},
		{"at=5,../x", "../x"},
		{"at=1000000000001", "at=1000000000001"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tp_sched_spec spec = {9, 9, 9, 9, 9, false, false, false, {0}, 0};
		char bad[64] = "untouched";

		cr_expect_eq(tp_sched_parse(&spec, rows[i].text, bad, sizeof(bad)), -EINVAL, "'%s'",
			     rows[i].text);
		cr_expect_str_eq(bad, rows[i].bad);
		cr_expect(spec.wait == 9 && spec.active == 9 && !spec.per_run, "'%s' changed it",
			  rows[i].text);
	}
}

Test(schedule, cuts_a_bad_word_that_is_too_long)
{
	struct tp_sched_spec spec = {.active = 1};
	char bad[5];

	cr_expect_eq(tp_sched_parse(&spec, "nonsense=1", bad, sizeof(bad)), -EINVAL);
	cr_expect_str_eq(bad, "nons");
	cr_expect_eq(tp_sched_parse(&spec, "nonsense=1", NULL, 0), -EINVAL);
}

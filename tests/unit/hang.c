/* SPDX-License-Identifier: Apache-2.0 */
/* Hang reports as text and back, and what several of them say together. */
#include <criterion/criterion.h>

#include <string.h>

#include "runtime/trace/hang.h"

static char text[TP_REPORT_HEAD_MAX];

static struct tp_hang make(int32_t rank, uint64_t asked, uint64_t ended, const char *last, const char *where)
{
	struct tp_hang hang = {
		.rank = rank, .world_size = 2, .pid = 100 + (uint32_t)rank, .state = TP_HANG_IS_STUCK,
		.real_ns = 5000000000u, .late_ns = 63200000000u, .steps = 57, .median_ns = 12000000,
		.host = "here", .waits = "waits in futex", .n_groups = 1, .run_id = 0xabc,
	};

	strcpy(hang.where, where);
	strcpy(hang.group[0].name, "0 (default_pg)");
	strcpy(hang.group[0].last, last);
	hang.group[0].asked = asked;
	hang.group[0].ended = ended;
	return hang;
}

static const char *say(const struct tp_hang *hang, uint32_t n)
{
	struct tp_text out;

	tp_text_init(&out, text, sizeof(text));
	tp_hang_say(&hang[0], hang, n, &out);
	cr_assert(strchr(text, '\n'));
	return strchr(text, '\n') + 1;
}

Test(hang, comes_back_as_it_was_written)
{
	struct tp_hang hang = make(1, 57, 56, "gloo:all_reduce", "f (train.py:3)"), back;
	struct tp_text out;

	strcpy(hang.within, "g (lib.py:4)");
	strcpy(hang.other, "h (train.py:9)");
	hang.worker = 3;
	hang.is_idle = 1;
	tp_text_init(&out, text, sizeof(text));
	tp_hang_put(&hang, &out);
	tp_text_str(&out, "for people\n");
	cr_assert(tp_hang_parse(text, out.len, &back));
	cr_expect_eq(memcmp(&hang, &back, sizeof(hang)), 0);
	/* Cut anywhere above the empty line it is none. */
	for (size_t n = 0; n < out.len - strlen("\nfor people\n"); n++)
		cr_expect_not(tp_hang_parse(text, n, &back), "%zu bytes", n);
}

Test(hang, takes_nothing_that_makes_no_sense)
{
	static const char *const bad[] = {
		"", "\n", "trainprof hang report 1", "trainprof hang report 2\npid: 1\n\n",
		"trainprof hang report 1\n\n", "trainprof hang report 1\npid: 1\nstate: asleep\n\n",
		"trainprof hang report 1\npid 1\n\n",
	};
	struct tp_hang back;
	char many[TP_REPORT_HEAD_MAX];
	struct tp_text out;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect_not(tp_hang_parse(bad[i], strlen(bad[i]), &back), "%zu", i);
	tp_text_init(&out, many, sizeof(many));
	tp_text_str(&out, TP_HANG_FIRST_LINE "\npid: 1\nsteps: 99999999999999999999999\nnewer: x\n");
	for (uint32_t i = 0; i < 4 * TP_HANG_GROUPS; i++)
		tp_text_fmt(&out, "group: %u 1 x: g\n", i);
	tp_text_char(&out, '\n');
	cr_assert(tp_hang_parse(many, out.len, &back));
	cr_expect_eq(back.n_groups, TP_HANG_GROUPS);
}

Test(hang, names_who_has_not_come)
{
	struct tp_hang hang[] = {make(0, 57, 56, "gloo:all_reduce", "average (t.py:7)"),
				 make(1, 56, 56, "gloo:all_reduce", "rest (t.py:10)")};

	cr_expect_str_eq(say(hang, 2), "rank 0 waits in gloo:all_reduce, number 57 of group 0 (default_pg), to which "
				       "rank 1 has not come: it stands in rest (t.py:10), and waits in futex\n");
	cr_expect(strstr(text, "no step of rank 0 has ended for 63 s, step 57 is in progress; they took 12.0 ms"));
}

Test(hang, names_who_called_another_collective)
{
	struct tp_hang hang[] = {make(0, 57, 56, "gloo:all_reduce", "average (t.py:7)"),
				 make(1, 57, 56, "gloo:barrier", "rest (t.py:10)")};

	cr_expect_str_eq(say(hang, 2), "rank 0 waits in gloo:all_reduce, number 57 of group 0 (default_pg) "
				       "(average (t.py:7)), and rank 1 in gloo:barrier in its place (rest (t.py:10))\n");
	/* In whatever order their files were found. */
	hang[0] = make(1, 57, 56, "gloo:barrier", "rest (t.py:10)");
	hang[1] = make(0, 57, 56, "gloo:all_reduce", "average (t.py:7)");
	cr_expect(strstr(say(hang, 2), "rank 0 waits in gloo:all_reduce"));
}

Test(hang, names_who_says_nothing)
{
	struct tp_hang hang = make(0, 57, 56, "gloo:all_reduce", "average (t.py:7)");

	cr_expect_str_eq(say(&hang, 1), "rank 0 waits in gloo:all_reduce, number 57 of group 0 (default_pg); rank 1 "
					"says nothing: it has ended, or goes on elsewhere\n");
}

Test(hang, finds_who_is_behind_where_ends_are_not_seen)
{
	struct tp_hang hang[] = {make(0, 57, 57, "nccl:all_reduce", "a (t.py:7)"),
				 make(1, 56, 56, "nccl:all_reduce", "b (t.py:8)")};

	cr_expect(strstr(say(hang, 2), "number 57 of group 0 (default_pg), to which rank 1 has not come: it stands "
				       "in b (t.py:8)"));
}

Test(hang, names_ranks_that_were_never_heard_of_before_the_first_step)
{
	struct tp_hang hang = make(0, 0, 0, "", "run (t.py:2)");

	hang.steps = hang.median_ns = hang.n_groups = 0;
	hang.is_joining = true;
	cr_expect_str_eq(say(&hang, 1), "rank 0 waits for the others in init_process_group (run (t.py:2)); rank 1 of 2 says "
					"nothing: not started, ended, or elsewhere\n");
	hang.world_size = 12;
	cr_expect(strstr(say(&hang, 1), "; rank 1, 2, 3, 4, 5, 6, 7, 8 and 3 more of 12 say nothing: "));
	/* All are there: where it stands is all that is known. */
	hang.world_size = 1;
	cr_expect_str_eq(say(&hang, 1), "rank 0 stands in run (t.py:2), and waits in futex\n");
}

Test(hang, names_the_worker_that_does_not_answer)
{
	struct tp_hang hang[] = {make(0, 5, 5, "", "main (t.py:1)"), make(0, 0, 0, "", ""),
				 make(0, 0, 0, "", "get (data.py:3)")};

	hang[1].worker = 1;
	hang[1].is_idle = true;
	hang[2].worker = 2;
	hang[2].n_groups = hang[1].n_groups = 0;
	strcpy(hang[2].waits, "waits in read of /data/x");
	cr_expect_str_eq(say(hang, 3), "rank 0 waits for its worker 2 (pid 100), which stands in get (data.py:3), and "
				       "waits in read of /data/x\n");
}

Test(hang, says_where_the_program_stands)
{
	struct tp_hang hang = make(-1, 0, 0, "", "mine (t.py:12)");

	hang.n_groups = 0;
	strcpy(hang.other, "yours (t.py:8)");
	cr_expect_str_eq(say(&hang, 1), "process 99 stands in mine (t.py:12), and waits in futex; another thread stands "
					"in yours (t.py:8)\n");
	hang.state = TP_HANG_IS_SPINNING;
	hang.other[0] = '\0';
	cr_expect_str_eq(say(&hang, 1), "process 99 computes in mine (t.py:12)\n");
	/* CUDA waits without sleeping. */
	strcpy(hang.gpus, "GPU 0 is 3 % busy, GPU 1 is 100 % busy");
	cr_expect_str_eq(say(&hang, 1), "process 99 waits for the GPU, or computes, in mine (t.py:12); GPU 0 is 3 % "
					"busy, GPU 1 is 100 % busy\n");
	strcpy(hang.gpus, "GPU 0 is 3 % busy");
	cr_expect_str_eq(say(&hang, 1), "process 99 computes in mine (t.py:12); GPU 0 is 3 % busy\n");
	hang.gpus[0] = '\0';
	hang.where[0] = hang.waits[0] = '\0';
	hang.state = TP_HANG_IS_STUCK;
	cr_expect_str_eq(say(&hang, 1), "process 99 does not say where it stands\n");
}

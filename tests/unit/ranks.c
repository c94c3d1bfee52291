/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranks.c - tests of who is there: lists, starts, missing ranks, ranks that count differently
 */
#include <criterion/criterion.h>

#include "merge/input/run.h"
#include "merge/model/label.h"
#include "merge/model/ranks.h"
#include "tests/unit/fake_run.h"

static struct fake fake;

static void begin(void)
{
	fake_init(&fake);
}

TestSuite(ranks, .init = begin);

static struct tp_proc *add(int32_t rank, int32_t world, uint32_t restart)
{
	struct tp_proc *proc = fake_proc(&fake, rank);

	proc->world_size = world;
	proc->restart = restart;
	return proc;
}

Test(ranks, are_listed_shortly)
{
	static const struct {
		const char *in, *wanted;
	} rows[] = {
		{"", ""}, {"....", ""}, {"...x", "rank 3"}, {"xx..", "ranks 0, 1"},
		{"xxx..x.xx", "ranks 0-2, 5, 7, 8"}, {"...x.............xxxx", "ranks 3, 17-20"},
	};
	bool is_in[600] = {false};
	char buf[TP_RANKS_TEXT];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t n = strlen(rows[i].in);

		for (size_t k = 0; k < n; k++)
			is_in[k] = rows[i].in[k] == 'x';
		cr_expect_str_eq(tp_ranks_list(buf, is_in, (uint32_t)n), rows[i].wanted, "%s: %s",
				 rows[i].in, buf);
	}
	for (size_t k = 0; k < 600; k++)
		is_in[k] = k % 2;
	tp_ranks_list(buf, is_in, 600);
	cr_expect_lt(strlen(buf), TP_RANKS_TEXT - 1);
	cr_expect_not_null(strstr(buf, " and 2"), "%s", buf);
	cr_expect_str_eq(buf + strlen(buf) - 5, " more");
}

Test(ranks, that_are_missing_are_told)
{
	struct tp_ranks_missing missing;

	for (int32_t rank = 0; rank < 8; rank++)
		if (rank != 3 && rank < 6)
			add(rank, 8, 0);
	add(0, 8, 0)->worker = 1;
	tp_ranks_missing(&fake.run, &missing);
	cr_expect_eq(missing.world, 8);
	cr_expect_eq(missing.n_here, 5);
	cr_expect_eq(missing.n_missing, 3);
	cr_expect_str_eq(missing.here, "ranks 3, 6, 7");
	cr_expect_eq(missing.n_elsewhere, 0);
	fake.run.is_selection = true;
	tp_ranks_missing(&fake.run, &missing);
	cr_expect_eq(missing.n_missing, 0, "not those that were not asked for");
}

Test(ranks, of_other_nodes_are_elsewhere)
{
	struct tp_ranks_missing missing;

	for (int32_t rank = 8; rank < 16; rank++) {
		struct tp_proc *proc = rank == 9 ? NULL : add(rank, 32, 0);

		if (proc) {
			struct tp_window *window = &fake.run.window[fake.run.n_windows++];

			proc->node_rank = 1;
			window->proc = proc;
			window->meta = "local_world_size=8\n";
		}
	}
	tp_ranks_missing(&fake.run, &missing);
	cr_expect_eq(missing.n_here, 7);
	cr_expect_str_eq(missing.here, "rank 9");
	cr_expect_eq(missing.n_elsewhere, 24);
	cr_expect_str_eq(missing.elsewhere, "ranks 0-7, 16-31");
}

Test(ranks, alone_or_without_a_number_miss_nobody)
{
	struct tp_ranks_missing missing;

	add(-1, -1, 0);
	tp_ranks_missing(&fake.run, &missing);
	cr_expect_eq(missing.world, 0);
	cr_expect_eq(missing.n_missing, 0);
	add(2, 4, 0);
	tp_ranks_missing(&fake.run, &missing);
	cr_expect_eq(missing.n_missing, 0, "one file may be what was wanted");
	add(7, INT32_MAX, 0);
	tp_ranks_missing(&fake.run, &missing);
	cr_expect_eq(missing.world, 4, "no trace is believed everything");
}

Test(ranks, of_the_last_start_are_the_job)
{
	struct tp_ranks_missing missing;
	char buf[64];

	add(0, 4, 0);
	add(1, 4, 0);
	add(2, 4, 0);
	add(0, 3, 2);
	add(2, 3, 2);
	add(0, 3, 2)->worker = 1;
	tp_ranks_mark(&fake.run);
	cr_expect_eq(tp_ranks_restart(&fake.run), 2);
	for (uint32_t i = 0; i < 6; i++)
		cr_expect_eq(fake.procs[i]->is_past, i < 3, "process %u", i);
	tp_ranks_missing(&fake.run, &missing);
	cr_expect_eq(missing.world, 3);
	cr_expect_str_eq(missing.here, "rank 1");
	cr_expect_str_eq(tp_label_proc(buf, &fake.run, fake.procs[0]), "rank 0 (first start)");
	cr_expect_str_eq(tp_label_proc(buf, &fake.run, fake.procs[3]), "rank 0 (restart 2)");
	cr_expect_str_eq(tp_label_proc(buf, &fake.run, fake.procs[1]), "rank 1");
	cr_expect_str_eq(tp_label_proc(buf, &fake.run, fake.procs[5]), "rank 0 (restart 2) worker 1");
}

/* `n` steps of 10 ms; `offset`: what the rank counts more, `lag_ns`: how much later it is. */
static void steps_of(const struct tp_proc *proc, uint32_t n, int64_t offset, int64_t lag_ns)
{
	for (uint32_t i = 0; i < n; i++) {
		struct tp_step_row *row = &fake.run.step[fake.run.n_steps++];

		row->proc = proc;
		row->index = (uint64_t)(100 + i + offset);
		row->begin_ns = i * 10000000ll + lag_ns;
		row->dur_ns = 9900000;
	}
}

/* What the check says of the fake run. */
static struct tp_run_in checked;

static void check(void)
{
	checked = (struct tp_run_in){.pub = fake.run, .options.is_quiet = true};
	checked.pub.issue = NULL;
	tp_ranks_check(&checked.pub);
}

Test(ranks, that_count_differently_are_told)
{
	for (int32_t rank = 0; rank < 5; rank++)
		add(rank, 5, 0);
	steps_of(fake.procs[0], 200, 0, 0);
	steps_of(fake.procs[1], 200, 0, 3000000);
	steps_of(fake.procs[2], 200, -3, 1000000);
	steps_of(fake.procs[3], 150, 1, 0);
	steps_of(fake.procs[4], 5, 9, 0);	/* too few to tell */
	check();
	cr_assert_eq(checked.pub.n_issues, 2);
	cr_expect_eq(checked.pub.issue[0].proc, fake.procs[2]);
	cr_expect(strstr(checked.pub.issue[0].text, "counts 3 steps fewer than rank 0"));
	cr_expect_eq(checked.pub.issue[1].proc, fake.procs[3]);
	cr_expect(strstr(checked.pub.issue[1].text, "counts 1 step more than rank 0"));
}

/* Each at its own pace: there is no step that both are in. */
Test(ranks, that_have_nothing_to_do_with_each_other_are_not_compared)
{
	add(0, 2, 0);
	add(1, 2, 0);
	steps_of(fake.procs[0], 300, 0, 0);
	for (uint32_t i = 0; i < 300; i++) {
		struct tp_step_row *row = &fake.run.step[fake.run.n_steps++];

		row->proc = fake.procs[1];
		row->index = i;
		row->begin_ns = i * 7000000ll;
		row->dur_ns = 7000000;
	}
	check();
	cr_expect_eq(checked.pub.n_issues, 0);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_judge.c - tests of which rank keeps the others waiting: verdicts worked out by hand
 */
#include <criterion/criterion.h>

#include <string.h>

#include "merge/facts/comm/comm.h"

enum { MS = 1000000 };

TestSuite(comm_judge);

static struct tp_step_time steps[3][10];
static const int64_t each_late[10] = {9 * MS, 9 * MS, 9 * MS, 9 * MS, 9 * MS,
				      9 * MS, 9 * MS, 9 * MS, 9 * MS, 9 * MS};

/* Ranks with ten steps of 100 ms, all of it `other`; where they are late, they are in every step. */
static void make_ranks(struct tp_comm_rank *rank, uint32_t n)
{
	for (uint32_t r = 0; r < n; r++) {
		rank[r] = (struct tp_comm_rank){.n_matched = 20, .n_steps = 10, .step = steps[r],
						.step_late = each_late};
		for (uint32_t s = 0; s < 10; s++)
			steps[r][s] = (struct tp_step_time){.begin_ns = 0, .end_ns = 100 * MS};
	}
}

static void set_all(uint32_t rank, enum tp_category category, int64_t ns)
{
	for (uint32_t s = 0; s < 10; s++)
		steps[rank][s].ns[category] = ns;
}

Test(comm_judge, accuses_the_culprit_and_says_what_it_did)
{
	struct tp_comm_rank rank[3];
	struct tp_comm_verdict verdict;

	make_ranks(rank, 3);
	rank[1].n_last = 18;
	rank[1].late_ns = 10 * 9 * MS;
	set_all(0, TP_CAT_COMM, 50 * MS);
	set_all(2, TP_CAT_COMM, 50 * MS);
	set_all(1, TP_CAT_DATA, 12 * MS);
	set_all(0, TP_CAT_DATA, 2 * MS);
	set_all(2, TP_CAT_DATA, 3 * MS);
	tp_comm_judge(rank, 3, &verdict);
	cr_assert_eq(verdict.rank, &rank[1]);
	cr_expect_eq(verdict.cause, TP_CAT_DATA);
	cr_expect_eq(verdict.late_step_ns, 9 * MS);
	cr_expect_eq(verdict.excess_ns, 9 * MS);
}

Test(comm_judge, accuses_nobody_of_an_accident)
{
	struct tp_comm_rank rank[3];
	struct tp_comm_verdict verdict;
	const struct {
		uint64_t n_last;
		int64_t late_ns, other_late_ns, excess_ns;
		bool is_accused, is_seldom;
	} rows[] = {
		{18, 90 * MS, 0, 9 * MS, true, false},
		{18, 49 * MS, 0, 9 * MS, false, false},		/* less than 5 % of the steps */
		{2, 90 * MS, 0, 9 * MS, false, false},		/* not often */
		{18, 90 * MS, 44 * MS, 9 * MS, true, false},	/* others are late, too, */
		{18, 90 * MS, 46 * MS, 9 * MS, false, false},
		{18, 90 * MS, 29 * MS, 9 * MS, true, true},	/* and it is not late in each step */
		{18, 90 * MS, 31 * MS, 9 * MS, false, true},
		{18, 90 * MS, 0, 4 * MS, false, false},		/* nothing explains it */
	};
	int64_t seldom[10];

	memcpy(seldom, each_late, sizeof(seldom));
	seldom[4] = 4 * MS;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make_ranks(rank, 3);
		rank[2].n_last = rows[i].n_last;
		rank[2].late_ns = rows[i].late_ns;
		rank[2].step_late = rows[i].is_seldom ? seldom : each_late;
		rank[0].late_ns = rows[i].other_late_ns;
		set_all(2, TP_CAT_CPU, rows[i].excess_ns);
		tp_comm_judge(rank, 3, &verdict);
		cr_expect_eq(verdict.rank != NULL, rows[i].is_accused, "row %zu", i);
	}
	tp_comm_judge(rank, 0, &verdict);
	cr_expect_null(verdict.rank);
}

/* Of ten steps of 100 ms: which ones are late, and by how much. */
Test(comm_judge, accuses_who_is_late_in_every_nth_step)
{
	const struct {
		int64_t late_ms[10];
		bool is_accused;
	} rows[] = {
		{{0, 60, 0, 0, 60, 0, 0, 60, 0, 0}, true},
		{{60, 0, 0, 70, 0, 0, 50, 0, 0, 60}, true},
		{{0, 0, 60, 0, 0, 0, 60, 0, 60, 0}, false},	/* at no even distances */
		{{0, 90, 0, 0, 20, 0, 0, 90, 0, 0}, false},	/* one much less than the others */
		{{3, 60, 1, 2, 60, 0, 20, 60, 0, 4}, true},	/* little in between says nothing */
		{{0, 0, 90, 0, 0, 0, 0, 90, 0, 0}, false},	/* twice is chance */
		{{0, 180, 0, 0, 0, 0, 0, 0, 0, 0}, false},	/* held up once */
		{{0, 0, 60, 60, 60, 0, 0, 0, 0, 0}, false},	/* once, for three steps */
		{{60, 0, 60, 0, 60, 0, 0, 0, 0, 0}, false},	/* not until the end */
		{{20, 20, 20, 0, 20, 20, 0, 20, 20, 0}, true},	/* in most */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t late[10], sum = 0;
		struct tp_comm_rank rank[3];
		struct tp_comm_verdict verdict;

		make_ranks(rank, 3);
		for (uint32_t s = 0; s < 10; s++) {
			late[s] = rows[i].late_ms[s] * MS;
			sum += late[s];
			steps[2][s].index = s;
			steps[2][s].ns[TP_CAT_OTHER] = late[s];
		}
		rank[2].n_last = 18;
		rank[2].late_ns = sum;
		rank[2].step_late = late;
		tp_comm_judge(rank, 3, &verdict);
		cr_expect_eq(verdict.rank != NULL, rows[i].is_accused, "row %zu", i);
	}
}

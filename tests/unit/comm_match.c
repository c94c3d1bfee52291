/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_match.c - tests of calls that wait for those of other ranks
 */
#include <criterion/criterion.h>

#include "merge/facts/comm/comm_match.h"

TestSuite(comm_match);

static uint32_t n_taken, taken[64][4];	/* labels by rank, plus one; 0: took no part */
static uint32_t n_alone;

static void take(void *ctx, const struct tp_comm_call *call, uint32_t n)
{
	if (n == 1) {
		n_alone++;
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		taken[n_taken][call[i].rank] = (uint32_t)call[i].label + 1;
	n_taken++;
}

static const uint32_t key[4];

Test(comm_match, what_a_rank_lacks_is_passed_over_by_the_others)
{
	struct tp_comm_match *match = tp_comm_match_new(take, NULL);
	uint32_t channel = tp_comm_match_channel(match, key, 3);
	static const uint32_t labels[3][5] = {{1, 2, 3, 4, 5}, {1, 3, 4, 5, 0}, {2, 3, 5, 0, 0}};

	for (uint32_t i = 0; i < 5; i++)
		for (uint32_t r = 0; r < 3; r++)
			if (labels[r][i]) {
				struct tp_comm_call call = {.label = labels[r][i], .rank = r};

				cr_assert(tp_comm_match_call(match, channel, r, &call));
			}
	tp_comm_match_end(match);
	/* 1: ranks 0, 1. 2: 0, 2. 3: all. 4: 0, 1. 5: all. */
	cr_assert_eq(n_taken, 5);
	for (uint32_t i = 0; i < 5; i++)
		for (uint32_t r = 0; r < 3; r++) {
			bool has = false;

			for (uint32_t k = 0; k < 5; k++)
				has |= labels[r][k] == i + 1;
			cr_expect_eq(taken[i][r], has ? i + 2 : 0, "label %u, rank %u", i + 1, r);
		}
	cr_expect_eq(n_alone, 0);
	tp_comm_match_free(match);
}

Test(comm_match, a_rank_that_never_comes_costs_bounded_memory)
{
	struct tp_comm_match *match = tp_comm_match_new(take, NULL);
	uint32_t channel = tp_comm_match_channel(match, key, 3);
	const uint32_t n = 3 * TP_COMM_WAITING;

	for (uint32_t i = 0; i < 40; i++) {
		struct tp_comm_call call = {.label = i};

		for (uint32_t r = 0; r < 2; r++)
			cr_assert(tp_comm_match_call(match, channel, r, &call));
	}
	cr_expect_eq(n_taken, 0);	/* it may still come */
	tp_comm_match_end(match);
	cr_expect_eq(n_taken, 40);
	for (uint32_t i = 0; i < n; i++) {
		struct tp_comm_call call = {.label = i};

		cr_assert(tp_comm_match_call(match, channel, 0, &call));
	}
	cr_expect_eq(n_alone, n - TP_COMM_WAITING);
	tp_comm_match_free(match);
}

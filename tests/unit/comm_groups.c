/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_groups.c - tests of groups of ranks, messages between two, what overlaps, and NCCL's own numbers
 */
#include "tests/unit/comm_rig.h"

/* ---- groups and messages ---- */

static uint8_t given_flags = TP_F_ASYNC;

/* A collective of gloo as it is recorded: 250 floats, its group, and when it was asked for. */
static void give_group(uint32_t rank, const char *name, const char *group, const char *description,
		       int32_t at, uint32_t size, int32_t peer, int64_t asked, int64_t begin, int64_t end)
{
	char shapes[64] = {TP_SHAPE_TENSOR, 6, 2, 125, 2, TP_SHAPE_GROUP};
	uint32_t n_name = (uint32_t)strlen(group), n_text = (uint32_t)strlen(description);
	struct tp_event event = fake_span(&fake, proc[rank], 3, TP_REC_RANGE, fake_text(&fake, name), begin,
					  end);

	shapes[6] = (char)(4 + n_name + 1 + n_text);
	shapes[7] = (char)(at + 1);
	shapes[8] = (char)size;
	shapes[9] = (char)(peer + 1);
	memcpy(shapes + 11, group, n_name);
	memcpy(shapes + 12 + n_name, description, n_text);
	event.shapes = fake_string(&fake, TP_STRING_SHAPES, shapes, 12 + n_name + n_text);
	event.link = (uint32_t)(begin - asked);
	event.flags = given_flags;
	tp_facts_event(facts, &event);
}

static const struct tp_comm_row *find(const char *label, enum tp_comm_kind kind)
{
	uint32_t n;
	const struct tp_comm_row *row = tp_comm_rows(comm, &n);

	for (uint32_t i = 0; i < n; i++)
		if (row[i].kind == kind && !strcmp(tp_comm_group(comm, row[i].family)->label, label))
			return &row[i];
	cr_assert_fail("no %s in %s", tp_comm_name(kind), label);
	return NULL;
}

Test(comm_groups, a_collective_of_before_the_window_is_nobodys)
{
	const struct tp_comm_row *row;

	set_up(2);
	for (uint32_t r = 0; r < 2; r++)
		give_step(r, 1, 0, 100 * MS);
	/* Rank 1 had it done before its window began. */
	given_flags |= TP_F_EARLY;
	give_group(0, "gloo:all_reduce", "0", "default_pg", 0, 2, -1, 0, 2 * MS, 5 * MS);
	given_flags = TP_F_ASYNC;
	for (uint32_t r = 0; r < 2; r++)
		give_group(r, "gloo:all_reduce", "0", "default_pg", (int)r, 2, -1, 10 * MS, (10 + r) * MS,
			   15 * MS);
	end();
	row = find("default", TP_COMM_ALL_REDUCE);
	cr_expect_eq(row->n_calls, 2);
	cr_expect_eq(row->n_matched, 1);
	cr_expect_eq(tp_comm_unmatched(comm), 0);
	tear_down();
}

Test(comm_groups, groups_of_a_mesh_are_told_apart)
{
	const struct tp_comm_row *row;

	set_up(4);
	for (uint32_t r = 0; r < 4; r++)
		give_step(r, 1, 0, 100 * MS);
	/* tp is {0,1} {2,3}, dp {0,2} {1,3}; ranks come in different orders to them. */
	for (uint32_t r = 0; r < 4; r++)
		give_group(r, "gloo:all_reduce", r < 2 ? "1" : "2", "mesh_tp", (int)r % 2, 2, -1,
			   (10 + r) * MS, (10 + r) * MS + 5, 20 * MS);
	for (uint32_t r = 0; r < 4; r++)
		give_group(r, "gloo:all_gather", r % 2 ? "4" : "3", "mesh_dp", (int)r / 2, 2, -1, 30 * MS,
			   30 * MS, 40 * MS);
	for (uint32_t r = 0; r < 4; r++)
		give_group(r, "gloo:barrier", "0", "default_pg", (int)r, 4, -1, 50 * MS, 50 * MS, 60 * MS);
	end();
	row = find("tp", TP_COMM_ALL_REDUCE);
	cr_expect_eq(row->n_calls, 4);
	cr_expect_eq(row->n_matched, 2);
	cr_expect_eq(row->n_ranks, 2);
	cr_expect_eq(row->bytes, 1000);
	cr_expect_eq(row->wait_ns, 2 * MS);	/* from asking to asking */
	row = find("dp", TP_COMM_ALL_GATHER);
	cr_expect_eq(row->n_matched, 2);
	cr_expect_eq(row->bytes, 2000);		/* of both */
	row = find("default", TP_COMM_BARRIER);
	cr_expect_eq(row->n_matched, 1);
	cr_expect_eq(row->n_ranks, 4);
	cr_expect_eq(tp_comm_n_groups(comm), 5);
	cr_expect_eq(tp_comm_unmatched(comm) + tp_comm_violations(comm), 0);
	tear_down();
}

Test(comm_groups, messages_are_matched_by_who_sent_them)
{
	const struct tp_comm_rank *rank;
	const struct tp_comm_row *row;
	uint32_t n;

	set_up(3);
	for (uint32_t r = 0; r < 3; r++)
		give_step(r, 1, 0, 100 * MS);
	/* 0 and 1 both send to 2, which receives from 1 first. */
	give_group(0, "gloo:send", "0", "default_pg", 0, 3, 2, 10 * MS, 10 * MS, 31 * MS);
	give_group(1, "gloo:send", "0", "default_pg", 1, 3, 2, 12 * MS, 12 * MS, 21 * MS);
	give_group(2, "gloo:recv", "0", "default_pg", 2, 3, 1, 15 * MS, 15 * MS, 21 * MS);
	give_group(2, "gloo:recv", "0", "default_pg", 2, 3, 0, 25 * MS, 25 * MS, 32 * MS);
	end();
	row = find("default", TP_COMM_SEND_RECV);
	cr_expect_eq(row->n_calls, 4);
	cr_expect_eq(row->n_matched, 2);
	cr_expect_eq(row->wait_ns, (3 + 15) * MS);
	cr_expect_eq(row->move.sum, (6 + 7) * MS);
	/* Who receives late keeps nobody waiting that could accuse it. */
	rank = tp_comm_ranks(comm, &n);
	cr_expect_eq(rank[2].late_ns, 0);
	cr_expect_eq(tp_comm_unmatched(comm), 0);
	tear_down();
}

Test(comm_groups, what_a_missing_rank_had_a_part_in_is_matched_without_it)
{
	const struct tp_comm_row *row;

	set_up(2);
	for (uint32_t r = 0; r < 2; r++)
		give_step(r, 1, 0, 100 * MS);
	for (uint32_t r = 0; r < 2; r++)
		give_group(r, "gloo:all_reduce", "0", "default_pg", (int)r * 2, 3, -1, 10 * MS, 10 * MS,
			   20 * MS);
	end();
	row = find("default", TP_COMM_ALL_REDUCE);
	cr_expect_eq(row->n_matched, 1);
	cr_expect_eq(tp_comm_group(comm, 0)->size, 3);
	cr_expect_eq(tp_comm_group(comm, 0)->n_members, 2);
	tear_down();
}

Test(comm_groups, whom_a_rank_waited_for_makes_it_late_elsewhere)
{
	const struct tp_comm_rank *rank;
	uint32_t n;

	set_up(4);
	for (uint32_t r = 0; r < 4; r++)
		give_step(r, 1, 0, 100 * MS);
	/* 1 is late by 30 ms in {0,1}; so both are late in {0,2} and {1,3}. */
	give_group(0, "gloo:all_reduce", "1", "mesh_tp", 0, 2, -1, 10 * MS, 10 * MS, 41 * MS);
	give_group(1, "gloo:all_reduce", "1", "mesh_tp", 1, 2, -1, 40 * MS, 40 * MS, 41 * MS);
	for (uint32_t r = 0; r < 4; r++)
		give_group(r, "gloo:all_gather", r % 2 ? "4" : "3", "mesh_dp", (int)r / 2, 2, -1,
			   r < 2 ? 42 * MS : 12 * MS, r < 2 ? 42 * MS : 12 * MS, 50 * MS);
	end();
	rank = tp_comm_ranks(comm, &n);
	cr_expect_eq(rank[0].late_ns, 1 * MS, "from the end of the one to the other");
	cr_expect_eq(rank[1].late_ns, 30 * MS + 1 * MS, "it is one time, though two wait");
	tear_down();
}

Test(comm_groups, what_overlaps_is_late_once_and_never_more_than_the_step)
{
	const struct tp_comm_rank *rank;
	uint32_t n;

	set_up(2);
	for (uint32_t s = 0; s < 2; s++)
		for (uint32_t r = 0; r < 2; r++)
			give_step(r, 1 + s, s * 40 * MS, (s + 1) * 40 * MS);
	/* Four buckets of each step are under way together; the last of the first step lies across. */
	for (uint32_t b = 0; b < 8; b++)
		for (uint32_t r = 0; r < 2; r++) {
			int64_t ask = (int64_t)(b / 4 * 40 + 10 + b % 4 + r * (b == 3 ? 35 : 20)) * MS;

			give_group(r, "gloo:all_reduce", "0", "default_pg", (int)r, 2, -1, ask, ask,
				   ask + 50 * MS);
		}
	end();
	rank = tp_comm_ranks(comm, &n);
	cr_expect_eq(rank[0].late_ns, 0);
	cr_expect_eq(rank[1].step_late[0], (40 - 10) * MS);
	cr_expect_eq(rank[1].step_late[1], (33 - 10 + 8) * MS);
	cr_expect_eq(rank[1].late_ns, rank[1].step_late[0] + rank[1].step_late[1]);
	cr_expect_eq(rank[1].n_last, 8);
	tear_down();
}

Test(comm_groups, all_that_a_rank_has_a_part_in_is_slow)
{
	const struct tp_comm_rank *rank;
	struct tp_comm_verdict verdict;
	uint32_t n;

	set_up(3);
	for (uint32_t step = 0; step < 4; step++) {
		int64_t at = step * 100 * MS;

		for (uint32_t r = 0; r < 3; r++)
			give_step(r, step, at, at + 100 * MS);
		/* A ring of messages; those from and to 2 take 20 ms, the one from 0 to 1 takes one. */
		for (uint32_t r = 0; r < 3; r++)
			give_group(r, "gloo:send", "0", "default_pg", (int)r, 3, (int)(r + 1) % 3, at + 10 * MS,
				   at + 10 * MS, at + (r ? 30 : 11) * MS);
		for (uint32_t r = 0; r < 3; r++)
			give_group(r, "gloo:recv", "0", "default_pg", (int)r, 3, (int)(r + 2) % 3, at + 10 * MS,
				   at + 10 * MS, at + (r == 1 ? 11 : 30) * MS);
	}
	end();
	rank = tp_comm_ranks(comm, &n);
	cr_expect_eq(rank[0].link_ns + rank[1].link_ns, 0);
	cr_expect_eq(rank[2].link_ns, 8 * 19 * MS);
	tp_comm_judge(rank, 3, &verdict);
	cr_assert_eq(verdict.rank, &rank[2]);
	cr_expect(verdict.is_network);
	cr_expect_str_eq(tp_comm_cause_text(&verdict), "its network");
	tear_down();
}

/* What NCCL's plugin tells: by number, whatever the order. */
static void give_coll(uint32_t rank, uint64_t hash, int32_t at, uint32_t sequence, int64_t begin)
{
	char bytes[sizeof(struct tp_coll) + 32] = {0};
	struct tp_coll coll = {.hash = hash, .rank = at, .n_ranks = 2, .root = -1, .element_bytes = 4};
	struct tp_event event;

	memcpy(bytes, &coll, sizeof(coll));
	memcpy(bytes + sizeof(coll), "AllReduce\0ncclFloat32\0", 22);
	event = fake_span(&fake, proc[rank], 0, TP_REC_COLL,
			  fake_string(&fake, TP_STRING_COLL, bytes, sizeof(coll) + 22), begin, begin + MS);
	event.link = sequence;
	event.arg = TP_ARG_COLL(4096, 0);
	tp_facts_event(facts, &event);
}

Test(comm_groups, nccl_s_own_numbers_match_collectives)
{
	const struct tp_comm_row *row;
	uint32_t n;

	set_up(2);
	/* Rank 1 lost the second. */
	for (uint32_t i = 0; i < 4; i++)
		give_coll(0, 77, 0, 100 + i, (10 + i) * MS);
	give_coll(1, 77, 1, 100, 10 * MS);
	give_coll(1, 77, 1, 102, 12 * MS);
	give_coll(1, 77, 1, 103, 13 * MS);
	end();
	row = tp_comm_rows(comm, &n);
	cr_assert_eq(n, 1);
	cr_expect_eq(row->n_calls, 7);
	cr_expect_eq(row->n_matched, 3);
	cr_expect_eq(row->bytes, 4096);
	cr_expect_eq(row->dtype, 6);
	cr_expect_eq(row->wait_ns, 0);
	cr_expect_eq(tp_comm_unmatched(comm), 1);
	tear_down();
}

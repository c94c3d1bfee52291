/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm.c - tests of collectives across ranks: matches and waits worked out by hand
 */
#include <criterion/criterion.h>

#include "merge/facts/comm/comm.h"
#include "merge/model/shapes.h"
#include "tests/unit/fake_run.h"

enum { MS = 1000000 };

static struct fake fake;
static struct tp_proc *proc[4];
static struct tp_facts *facts;
static const struct tp_comm *comm;

static void set_up(uint32_t n_ranks)
{
	fake_init(&fake);
	for (uint32_t i = 0; i < n_ranks; i++) {
		proc[i] = fake_proc(&fake, (int32_t)i);
		fake_window(&fake, proc[i], 0, 0, 1000 * MS);
	}
	facts = tp_facts_new(&fake.run);
	comm = tp_facts_want(facts, &tp_fact_comm, NULL);
}

static void end(void)
{
	tp_facts_end(facts);
	cr_expect_not(tp_comm_is_incomplete(comm));
}

static void tear_down(void)
{
	tp_facts_free(facts);
	facts = NULL;
}

static void give_step(uint32_t rank, uint32_t step, int64_t begin, int64_t end)
{
	struct tp_event event = fake_step(&fake, proc[rank], step, begin, end);

	tp_facts_event(facts, &event);
}

static void give_span(uint32_t rank, uint32_t thread, uint8_t kind, const char *name, int64_t begin,
		      int64_t end)
{
	struct tp_event event = fake_span(&fake, proc[rank], thread, kind, fake_text(&fake, name),
					  begin, end);

	if (!strncmp(name, "gloo:", 5))
		event.flags = TP_F_ASYNC;
	tp_facts_event(facts, &event);
}

/* Work on a device, asked for by the call of that number; 0: by none that is known. */
static void give_kernel(uint32_t call, const char *name, int64_t begin, int64_t end)
{
	static struct tp_queue queue = {.stream = 7};
	struct tp_event event = fake_span(&fake, proc[0], 0, TP_REC_KERNEL, fake_text(&fake, name),
					  begin, end);

	event.link = call;
	event.queue = &queue;
	tp_facts_event(facts, &event);
}

/* An all-reduce of 4 x 250 floats, asked for at `begin`. */
static void give_asked(uint32_t rank, int64_t begin)
{
	static const char shapes[] = {TP_SHAPE_TENSOR_LIST, 1, TP_SHAPE_TENSOR, 6, 2, 4, (char)0xfa, 1,
				      TP_SHAPE_NONE, TP_SHAPE_SCALAR};
	struct tp_event event = fake_span(&fake, proc[rank], 0, TP_REC_OP,
					  fake_op(&fake, "c10d::allreduce_"), begin, begin + 100);

	event.shapes = fake_string(&fake, TP_STRING_SHAPES, shapes, sizeof(shapes));
	tp_facts_event(facts, &event);
}

Test(comm, names_of_gloo_and_of_nccl)
{
	static const struct {
		const char *name;
		enum tp_comm_kind kind;
	} rows[] = {
		{"gloo:all_reduce", TP_COMM_ALL_REDUCE},
		{"gloo:all_gather", TP_COMM_ALL_GATHER},
		{"gloo:reduce_scatter", TP_COMM_REDUCE_SCATTER},
		{"gloo:barrier", TP_COMM_BARRIER},
		{"c10d::_allgather_base_", TP_COMM_ALL_GATHER},
		{"c10d::alltoall_base_", TP_COMM_ALL_TO_ALL},
		{"nccl:_all_gather_base", TP_COMM_ALL_GATHER},
		{"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", TP_COMM_ALL_REDUCE},
		{"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", TP_COMM_REDUCE_SCATTER},
		{"ncclDevKernel_Reduce_Sum_f32_RING_LL", TP_COMM_REDUCE},
		{"ncclDevKernel_SendRecv", TP_COMM_SEND_RECV},
		{"aten::reduce", TP_COMM_KINDS},
		{"gloo:other", TP_COMM_KINDS},
		{"", TP_COMM_KINDS},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(tp_comm_kind_of(rows[i].name, (uint32_t)strlen(rows[i].name)),
			     rows[i].kind, "%s", rows[i].name);
}

Test(comm, bus_factors_are_those_of_nccl_tests)
{
	cr_expect_float_eq(tp_comm_bus_factor(TP_COMM_ALL_REDUCE, 8), 1.75, 1e-9);
	cr_expect_float_eq(tp_comm_bus_factor(TP_COMM_ALL_GATHER, 8), 0.875, 1e-9);
	cr_expect_float_eq(tp_comm_bus_factor(TP_COMM_REDUCE_SCATTER, 4), 0.75, 1e-9);
	cr_expect_float_eq(tp_comm_bus_factor(TP_COMM_BROADCAST, 8), 1, 1e-9);
	cr_expect_float_eq(tp_comm_bus_factor(TP_COMM_BARRIER, 8), 0, 1e-9);
	cr_expect_float_eq(tp_comm_bus_factor(TP_COMM_ALL_REDUCE, 1), 0, 1e-9);
}

Test(comm, bytes_of_shapes)
{
	static const struct {
		const char bytes[16];
		uint32_t n;
		uint64_t want;
		uint8_t dtype;
	} rows[] = {
		{{TP_SHAPE_TENSOR, 6, 2, 3, 5}, 5, 60, 6},
		{{TP_SHAPE_TENSOR, 15, 0}, 3, 2, 15},
		{{TP_SHAPE_TENSOR_LIST, 2, TP_SHAPE_TENSOR, 6, 1, 3, TP_SHAPE_TENSOR, 6, 1, 4}, 10, 28, 6},
		/* The greater of two inputs; what is no tensor is passed over. */
		{{TP_SHAPE_NONE, TP_SHAPE_TENSOR, 4, 1, 2, TP_SHAPE_TENSOR, 0, 1, 99, TP_SHAPE_SCALAR}, 10,
		 99, 0},
		{{TP_SHAPE_TENSOR, 6, 2, 3}, 4, 0, 0},	/* cut */
		{{TP_SHAPE_TENSOR, 99, 1, 3}, 4, 0, 0},	/* a type that is not known */
		{{77}, 1, 0, 0},
		{"", 0, 0, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t dtype = 0;

		cr_expect_eq(tp_shapes_bytes(rows[i].bytes, rows[i].n, &dtype), rows[i].want, "row %zu", i);
		cr_expect_eq(dtype, rows[i].dtype, "row %zu", i);
	}
}

Test(comm, a_rank_waits_from_its_call_to_the_last_rank_s_then_bytes_move)
{
	const struct tp_comm_row *row;
	const struct tp_comm_rank *rank;
	uint32_t n;

	set_up(3);
	for (uint32_t r = 0; r < 3; r++)
		give_step(r, 7, 0, 100 * MS);
	/* Called at 10, 12 and 17 ms; gloo begins a little later, and ends at 20, 20, 21. */
	give_asked(0, 10 * MS);
	give_span(0, 3, TP_REC_RANGE, "gloo:all_reduce", 11 * MS, 20 * MS);
	give_asked(1, 12 * MS);
	give_span(1, 3, TP_REC_RANGE, "gloo:all_reduce", 13 * MS, 20 * MS);
	give_asked(2, 17 * MS);
	give_span(2, 3, TP_REC_RANGE, "gloo:all_reduce", 18 * MS, 21 * MS);
	end();

	row = tp_comm_rows(comm, &n);
	cr_assert_eq(n, 1);
	cr_expect_eq(row->kind, TP_COMM_ALL_REDUCE);
	cr_expect_eq(row->bytes, 4000);
	cr_expect_eq(row->dtype, 6);
	cr_expect_eq(row->n_calls, 3);
	cr_expect_eq(row->n_matched, 1);
	cr_expect_eq(row->n_ranks, 3);
	cr_expect_eq(row->time_ns, (10 + 8 + 4) * MS);
	cr_expect_eq(row->wait_ns, (7 + 5) * MS);
	cr_expect_eq(row->move.sum, 4 * MS);
	rank = tp_comm_ranks(comm, &n);
	cr_assert_eq(n, 3);
	cr_expect_eq(rank[0].wait_ns, 7 * MS);
	cr_expect_eq(rank[1].wait_ns, 5 * MS);
	cr_expect_eq(rank[2].wait_ns, 0);
	cr_expect_eq(rank[2].n_last, 1);
	cr_expect_eq(rank[2].late_ns, 5 * MS);	/* behind rank 1 */
	cr_expect_eq(rank[2].step_late[0], 5 * MS);
	cr_expect_eq(rank[0].n_last + rank[1].n_last, 0);
	cr_expect_eq(tp_comm_unmatched(comm) + tp_comm_violations(comm), 0);
	tear_down();
}

Test(comm, a_step_is_computing_both_communicating_or_neither)
{
	const struct tp_comm_rank *rank;
	uint32_t n;

	set_up(1);
	give_step(0, 0, 0, 100);
	give_span(0, 0, TP_REC_OP, "aten::mm", 10, 40);
	give_span(0, 0, TP_REC_OP, "aten::inner", 15, 20);	/* counted once */
	give_span(0, 3, TP_REC_RANGE, "gloo:all_reduce", 30, 60);
	give_span(0, 1, TP_REC_OP, "aten::add", 90, 130);	/* cut at the step's end */
	give_step(0, 1, 200, 300);
	give_span(0, 3, TP_REC_RANGE, "gloo:all_reduce", 250, 260);
	end();
	rank = tp_comm_ranks(comm, &n);
	cr_expect_eq(rank->n_steps, 2);
	cr_expect_eq(rank->share.compute_ns, 20 + 10);
	cr_expect_eq(rank->share.both_ns, 10);
	cr_expect_eq(rank->share.comm_ns, 20 + 10);
	cr_expect_eq(rank->share.other_ns, 10 + 30 + 90);
	tear_down();
}

/* Its kernel is NCCL's for messages, too. */
Test(comm, an_all_to_all_is_one_though_nobody_knows_its_bytes)
{
	const struct tp_comm_row *row;
	struct tp_event event;
	uint32_t n;

	set_up(1);
	give_span(0, 0, TP_REC_RANGE, "nccl:all_to_all", 100, 200);
	event = fake_span(&fake, proc[0], 0, TP_REC_CALL, fake_text(&fake, "cudaLaunchKernel"), 150, 160);
	event.link = 5;
	tp_facts_event(facts, &event);
	give_kernel(5, "ncclDevKernel_SendRecv", 300, 500);
	end();
	row = tp_comm_rows(comm, &n);
	cr_assert_eq(n, 1);
	cr_expect_eq(row->kind, TP_COMM_ALL_TO_ALL);
	cr_expect_eq(row->bytes, 0);
	tear_down();
}

/* A file may have a device's work without telling of the device. */
Test(comm, a_device_computes_beside_gloo_whatever_the_host_does)
{
	const struct tp_comm_share *share;
	uint32_t n;

	for (uint32_t is_told = 0; is_told < 2; is_told++) {
		set_up(1);
		proc[0]->n_devices = is_told;
		give_step(0, 0, 0, 100);
		give_span(0, 0, TP_REC_OP, "aten::mm", 10, 90);
		give_kernel(0, "gemm", 20, 50);
		give_span(0, 3, TP_REC_RANGE, "gloo:all_reduce", 40, 70);
		end();
		share = &tp_comm_ranks(comm, &n)->share;
		cr_expect_eq(share->compute_ns, 20);
		cr_expect_eq(share->both_ns, 10);
		cr_expect_eq(share->comm_ns, 20);
		cr_expect_eq(share->other_ns, 50);
		tear_down();
	}
}

Test(comm, nccl_kernels_are_matched_within_a_window_and_sized_by_their_range)
{
	static const char shapes[] = {TP_SHAPE_TENSOR, 15, 1, 100};
	static struct tp_queue queue = {.stream = 7};
	static struct tp_device device;
	const struct tp_comm_row *row;
	uint32_t n;

	set_up(2);
	for (uint32_t r = 0; r < 2; r++) {
		proc[r]->device = &device;
		proc[r]->n_devices = 1;
	}
	for (uint32_t r = 0; r < 2; r++) {
		struct tp_event event = fake_span(&fake, proc[r], 0, TP_REC_RANGE,
						  fake_text(&fake, "nccl:all_reduce"), 100, 200);

		event.shapes = fake_string(&fake, TP_STRING_SHAPES, shapes, sizeof(shapes));
		tp_facts_event(facts, &event);
		event = fake_span(&fake, proc[r], 0, TP_REC_CALL, fake_text(&fake, "cudaLaunchKernel"), 150,
				  160);
		event.link = 5;
		tp_facts_event(facts, &event);
	}
	for (uint32_t r = 0; r < 2; r++) {
		struct tp_event event = fake_span(&fake, proc[r], 0, TP_REC_KERNEL,
						  fake_text(&fake, "ncclKernel_AllReduce_RING_LL_Sum_half"),
						  300 + r * 50, 500);

		event.link = 5;
		event.queue = &queue;
		tp_facts_event(facts, &event);
	}
	end();
	row = tp_comm_rows(comm, &n);
	cr_assert_eq(n, 1);
	cr_expect(row->is_device);
	cr_expect_eq(row->bytes, 200);
	cr_expect_eq(row->n_matched, 1);
	cr_expect_eq(row->wait_ns, 50);
	cr_expect_eq(row->move.sum, 150);
	tear_down();
}

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

Test(comm, a_collective_of_before_the_window_is_nobodys)
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

Test(comm, groups_of_a_mesh_are_told_apart)
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

Test(comm, messages_are_matched_by_who_sent_them)
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

Test(comm, what_a_missing_rank_had_a_part_in_is_matched_without_it)
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

Test(comm, whom_a_rank_waited_for_makes_it_late_elsewhere)
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

Test(comm, what_overlaps_is_late_once_and_never_more_than_the_step)
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

Test(comm, all_that_a_rank_has_a_part_in_is_slow)
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

Test(comm, nccl_s_own_numbers_match_collectives)
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

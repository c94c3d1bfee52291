/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm.c - tests of collectives across ranks: matches and waits worked out by hand
 */
#include "tests/unit/comm_rig.h"

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

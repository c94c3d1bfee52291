/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_events.c - events of NCCL as records: when they are made, what becomes of handles that are
 * over, of operations after their window, and of communicators that go
 */
#include "probe_rig.h"

#include <sys/wait.h>

#include "runtime/probe/nccl/nccl_comm.h"
#include "runtime/probe/nccl/nccl_events.h"
#include "runtime/probe/nccl/nccl_pool.h"
#include "tests/fakes/nccl_plugin.h"

enum { QUIET = 1000, FOR_EVER = 1ull << 40 };
static uint32_t near_comm, far_comm;
static int mask;

static uint32_t add(uint64_t hash, int n_nodes)
{
	struct tp_nccl_who who = {.is = {hash, 1, 4, n_nodes, 6}, .name = "c"};

	return tp_nccl_comm_add(&who, &mask);
}

static void set_up(void)
{
	rig_open_window("nccl-test");
	tp_nccl_events_init();
	cr_assert_eq(tp_nccl_pool_init(), 0);
	near_comm = add(0x11, 1);
	far_comm = add(0x22, 2);
	tp_nccl_events_arm(true);
}
TestSuite(nccl_events, .init = set_up, .fini = tear_down);

static uint64_t start_coll(uint32_t comm, uint64_t parent)
{
	struct nccl_descr_v6 descr = {.type = NCCL_COLL, .parent = (void *)parent, .rank = 1};

	descr.coll.seq = 9;
	descr.coll.func = "AllReduce";
	descr.coll.datatype = "ncclFloat32";
	descr.coll.algo = "RING";
	descr.coll.proto = "LL";
	descr.coll.count = 10;
	return tp_nccl_start(6, comm, &descr);
}

static uint64_t start_op(uint64_t parent, int pid)
{
	struct nccl_descr_v6 descr = {.type = NCCL_PROXY_OP, .parent = (void *)parent, .rank = 1};

	descr.op.pid = pid;
	descr.op.peer = 2;
	return tp_nccl_start(6, pid == getpid() ? far_comm : 0xdead1000, &descr);
}

static uint64_t start_step(uint64_t parent)
{
	struct nccl_descr_v6 descr = {.type = NCCL_PROXY_STEP, .parent = (void *)parent};

	return tp_nccl_start(6, far_comm, &descr);
}

static void tick(void)
{
	tp_nccl_events_tick(FOR_EVER + tp_clock_now(), QUIET);
}

static bool settle(uint64_t end, bool is_last)
{
	struct tp_nccl_settling is = {.now = FOR_EVER + tp_clock_now(), .end = end, .quiet = QUIET,
				      .is_last = is_last};

	return tp_nccl_events_settle(&is);
}

Test(nccl_events, within_a_host_a_collective_is_recorded_at_once)
{
	uint64_t handle = start_coll(near_comm, 0);

	tp_nccl_stop(handle);
	collect();
	cr_assert_eq(got.n, 1);
	cr_expect_eq(got.rec[0].kind, TP_REC_COLL);
	cr_expect_eq(got.rec[0].flags, TP_F_ENQUEUED);
	cr_expect_eq(got.rec[0].link, 9);
	cr_expect_eq(TP_ARG_COLL_BYTES(got.rec[0].arg), 40);
	/* Over: stopped again, or as a parent, it is nobody. */
	tp_nccl_stop(handle);
	tp_nccl_stop(0);
	tp_nccl_state(handle, NCCL_STEP_SEND_WAIT, NULL);
	tick();
	collect();
	cr_expect_eq(got.n, 0);
}

Test(nccl_events, between_hosts_it_ends_with_its_last_operation)
{
	union nccl_state_args args = {.step = {4096}};
	uint64_t coll = start_coll(far_comm, 0), op, other, step;

	op = start_op(coll, getpid());
	other = start_op(coll, getpid());
	tp_nccl_stop(coll);
	step = start_step(op);
	tp_nccl_state(step, NCCL_STEP_SEND_GPU_WAIT, (void *)&args);
	tp_nccl_state(step, NCCL_STEP_SEND_PEER_WAIT, (void *)&args);
	tp_nccl_state(step, NCCL_STEP_SEND_WAIT, (void *)&args);
	tp_nccl_stop(step);
	tp_nccl_stop(op);
	tick();
	collect();
	cr_assert_eq(got.n, 1);
	cr_expect_eq(got.rec[0].kind, TP_REC_XFER);
	cr_expect_eq(got.rec[0].link, 9);
	cr_expect_eq(TP_ARG_XFER_BYTES(got.rec[0].arg), 4096);
	cr_expect_gt(got.rec[0].arg >> 40, 0);
	tp_nccl_stop(other);
	collect();
	cr_assert_eq(got.n, 1);
	uint64_t end = got.rec[0].time + tp_rec_len(&got.rec[0]);

	tick();
	collect();
	cr_assert_eq(got.n, 1);
	cr_expect_eq(got.rec[0].kind, TP_REC_COLL);
	cr_expect_eq(got.rec[0].flags, TP_F_ASYNC);
	cr_expect_eq(got.rec[0].time + tp_rec_len(&got.rec[0]), end);
	/* Its operations come too late then, and are counted. */
	tp_nccl_stop(start_op(coll, getpid()));

	struct tp_nccl_counts counts;

	tp_nccl_events_counts(&counts);
	cr_expect_eq(counts.late_ops, 1);
}

Test(nccl_events, handles_of_other_processes_mean_nothing)
{
	uint64_t op = start_op(0x7f0012345673, getpid() + 1);

	cr_expect_neq(op, 0);
	cr_expect_eq(start_step(0x7f0012345673), 0);
	tp_nccl_stop(0x7f0012345673);
	tp_nccl_stop(op);
	collect();
	cr_assert_eq(got.n, 1);
	cr_expect_eq(got.rec[0].link, TP_NO_SEQ);
}

Test(nccl_events, what_began_in_a_window_belongs_to_it_as_a_whole)
{
	uint64_t coll = start_coll(far_comm, 0), op = start_op(coll, getpid()), late, end;

	tp_nccl_stop(coll);
	end = tp_clock_now();
	tp_nccl_events_over(tp_clock_now());
	tp_nccl_events_arm(false);
	cr_expect(!settle(end, false));
	cr_expect_eq(start_coll(far_comm, 0), 0);
	late = start_op(coll, getpid());
	cr_expect_neq(late, 0);
	tp_nccl_stop(op);
	collect();
	cr_expect_eq(got.n, 0);
	tp_nccl_stop(late);
	cr_expect(settle(end, false));
	collect();
	cr_assert_eq(got.n, 3);
	for (uint32_t i = 0; i < 3; i++)
		cr_expect(got.rec[i].flags & TP_F_AFTER);
	/* The window is done: nothing is taken any more. */
	cr_expect_eq(start_op(coll, getpid()), 0);
}

Test(nccl_events, what_does_not_end_is_given_up)
{
	uint64_t coll = start_coll(far_comm, 0), op = start_op(coll, getpid()), end;
	struct tp_nccl_counts counts;

	start_step(op);
	tp_nccl_stop(coll);
	end = tp_clock_now();
	tp_nccl_events_over(end);
	tp_nccl_events_arm(false);
	cr_expect(!settle(end, false));
	cr_expect(settle(end, true));
	collect();
	/* That the collective was enqueued is known; that it has ended is not. */
	cr_assert_eq(got.n, 2);
	cr_expect_eq(got.rec[1].flags & TP_F_OPEN, TP_F_OPEN);
	tp_nccl_events_counts(&counts);
	cr_expect_gt(counts.unfinished, 0);
	tp_nccl_stop(op);
	for (uint32_t at = 0; at < tp_nccl_pool_used(); at++)
		cr_expect(!tp_nccl_pool_is_live(at));
}

Test(nccl_events, a_communicator_goes_with_all_that_was_under_way)
{
	uint64_t coll = start_coll(far_comm, 0), op = start_op(coll, getpid()), step = start_step(op);

	tp_nccl_events_end_of(far_comm);
	tp_nccl_comm_remove(far_comm);
	collect();
	cr_expect_eq(got.n, 2);
	tp_nccl_stop(step);
	tp_nccl_stop(op);
	tp_nccl_stop(coll);
	tick();
	collect();
	cr_expect_eq(got.n, 0);
}

Test(nccl_events, a_pool_that_is_empty_costs_records_not_the_run)
{
	uint64_t handle = 0;
	struct tp_nccl_counts counts;

	for (uint32_t i = 0; i < TP_NCCL_ENTRIES + 10; i++)
		handle = start_coll(far_comm, 0);
	cr_expect_eq(handle, 0);
	tp_nccl_events_counts(&counts);
	cr_expect_eq(counts.no_entry, 10);
	tp_nccl_events_end_of(far_comm);
	cr_expect_neq(start_coll(near_comm, 0), 0);
}

Test(nccl_events, masks_are_written_at_the_edges)
{
	int other = 5;
	struct tp_nccl_who who = {.is = {0x33, 0, 2, 1, 6}};
	uint32_t at;

	cr_expect_eq(mask, 0);
	tp_nccl_comm_set_mask(TP_NCCL_WANTED);
	cr_expect_eq(mask, TP_NCCL_WANTED);
	at = tp_nccl_comm_add(&who, &other);
	cr_expect_eq(other, TP_NCCL_WANTED);
	/* Its library may be gone after its last one. */
	tp_nccl_comm_remove(at);
	cr_expect_eq(other, 0);
	other = 5;
	tp_nccl_comm_set_mask(0);
	cr_expect(mask == 0 && other == 5);
}

Test(nccl_events, a_child_of_fork_forgets)
{
	uint64_t handle = start_coll(far_comm, 0);
	pid_t child = fork();
	int status;

	if (!child) {
		tp_nccl_comm_forked();
		tp_nccl_pool_forked();
		tp_nccl_events_init();
		tp_nccl_stop(handle);
		_exit(start_coll(far_comm, 0) != 0 || tp_nccl_pool_used() != 0);
	}
	waitpid(child, &status, 0);
	cr_expect_eq(status, 0);
}

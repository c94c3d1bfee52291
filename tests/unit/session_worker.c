/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_worker.c - sessions of worker processes: they follow the windows of their rank
 *
 * The rank is this process, workers are children of fork: they are told what to do, and asked
 * what they see, through pipes. The expectations of a child are its exit status.
 */
#include <criterion/criterion.h>

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "runtime/engine/worker.h"
#include "runtime/probe/stack/stack_tree.h"
#include "tests/unit/session_rig.h"

TestSuite(session_worker, .init = rig_set_up, .fini = rig_tear_down, .timeout = 120);

static int to_worker[2], from_worker[2];

static void say(int fd)
{
	if (write(fd, "x", 1) != 1)
		_exit(99);
}

static void hear(int fd)
{
	char c;

	if (read(fd, &c, 1) != 1)
		_exit(98);
}

/* Forks as the product does. 0 in the child, which may call join(). */
static pid_t fork_worker(void)
{
	pid_t pid;

	cr_assert(pipe(to_worker) == 0 && pipe(from_worker) == 0);
	tp_session_before_fork();
	pid = fork();
	tp_session_after_fork(pid == 0);
	if (pid == 0)
		close(to_worker[1]);
	return pid;
}

/* A worker of a loader, whose rank records: 0. */
static int join(void)
{
	tp_worker_is_loader();
	if (!tp_worker_look(false))
		return 90;
	tp_worker_join();
	return tp_session_open(&rig_config, rig_probes, "file:/x/train.py") ? 91 : 0;
}

static int end_of(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Waits until the drain thread has looked at the rank. */
static void await_armed(bool is_armed)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	while (tp_session_is_armed() != is_armed)
		nanosleep(&pause, NULL);
}

static struct rig_trace *worker_window(uint32_t worker, uint32_t window)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/rank0.worker%u.%u.tpt", rig_config.dir, worker, window);
	return rig_read_trace(path, UINT64_MAX);
}

static bool exists(const char *name)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/%s", rig_config.dir, name);
	return access(path, F_OK) == 0;
}

Test(session_worker, records_in_the_windows_of_its_rank_and_nowhere_else)
{
	const struct rig_trace *trace;
	pid_t pid;

	cr_assert_eq(rig_open("wait=1,warmup=1,active=2,repeat=2"), 0);
	pid = fork_worker();
	if (pid == 0) {
		int err = join();

		rig_op("outside", 0, 0);
		say(from_worker[1]);		/* step 0 */
		await_armed(true);
		rig_op("warm-up", 0, 0);
		say(from_worker[1]);		/* step 1 */
		hear(to_worker[0]);
		rig_op("first", 0, 0);
		say(from_worker[1]);		/* steps 2 and 3 */
		await_armed(false);
		say(from_worker[1]);		/* steps 4 and 5 */
		hear(to_worker[0]);
		rig_op("second", 0, 0);
		tp_session_close("_exit");
		_exit(err);
	}
	hear(from_worker[0]);
	rig_run_steps(0, 1);
	hear(from_worker[0]);
	rig_run_steps(1, 1);
	say(to_worker[1]);
	hear(from_worker[0]);
	rig_run_steps(2, 2);
	hear(from_worker[0]);
	rig_run_steps(4, 2);
	say(to_worker[1]);
	cr_expect_eq(end_of(pid), 0);
	rig_run_steps(6, 3);
	tp_session_close("exit");

	trace = worker_window(1, 0);
	cr_assert(trace->is_whole);
	cr_expect_eq(rig_count(trace, NULL, TP_REC_OP, 0), 1);
	cr_expect_eq(rig_count(trace, "first", TP_REC_OP, 0), 1);
	cr_expect_eq(rig_total(trace, "begin"), rig_total(rig_window(0), "begin"));
	cr_expect_eq(rig_total(trace, "end"), rig_total(rig_window(0), "end"));
	cr_expect_eq(rig_total(trace, "first_step"), 2);
	cr_expect_eq(rig_total(trace, "steps"), 2);
	cr_expect_not_null(strstr(trace->meta, "worker=1\n"));
	cr_expect_not_null(strstr(trace->meta, "parent_pid="));
	trace = worker_window(1, 1);
	cr_expect_eq(rig_count(trace, NULL, TP_REC_OP, 0), 1);
	cr_expect_eq(rig_count(trace, "second", TP_REC_OP, 0), 1);
	cr_expect_eq(rig_total(trace, "begin"), rig_total(rig_window(1), "begin"));
	cr_expect_not(exists("rank0.worker1.steps"));
}

Test(session_worker, leaves_no_file_of_a_window_in_which_nothing_happened)
{
	pid_t pid;

	cr_assert_eq(rig_open("wait=0,warmup=0,active=1,repeat=0"), 0);
	pid = fork_worker();
	if (pid == 0) {
		int err = join();

		say(from_worker[1]);
		hear(to_worker[0]);
		tp_session_close("_exit");
		_exit(err);
	}
	hear(from_worker[0]);
	rig_run_steps(0, 3);
	say(to_worker[1]);
	cr_expect_eq(end_of(pid), 0);
	for (uint32_t w = 0; w < 4; w++)
		cr_expect_not(worker_window(1, w)->is_there, "window %u", w);
	cr_expect_not(exists("rank0.worker1.3.tpt.part"));
}

Test(session_worker, has_a_number_that_no_other_one_has)
{
	cr_assert_eq(rig_open("always"), 0);
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork_worker();

		if (pid == 0) {
			int err = join();

			rig_op("work", 0, 0);
			tp_session_close("_exit");
			_exit(err ? err : (int)tp_worker_number());
		}
		cr_expect_eq(end_of(pid), i + 1);
		cr_expect_eq(rig_count(worker_window((uint32_t)i + 1, 0), "work", TP_REC_OP, 0), 1);
	}
}

Test(session_worker, joins_the_rank_of_a_worker_that_forked_it)
{
	pid_t pid;

	cr_assert_eq(rig_open("always"), 0);
	pid = fork_worker();
	if (pid == 0) {
		int err = join();
		pid_t inner;

		rig_op("work", 0, 0);
		tp_session_before_fork();
		inner = fork();
		tp_session_after_fork(inner == 0);
		if (inner == 0) {
			err = join();
			rig_op("inner work", 0, 0);
			tp_session_close("_exit");
			_exit(err ? err : (int)tp_worker_number());
		}
		err = err ? err : end_of(inner);
		tp_session_close("_exit");
		_exit(err);
	}
	cr_expect_eq(end_of(pid), 2);
	cr_expect_eq(rig_count(worker_window(2, 0), "inner work", TP_REC_OP, 0), 1);
}

Test(session_worker, ends_its_window_when_its_rank_is_gone)
{
	pid_t rank = fork(), worker;
	const struct rig_trace *trace;

	/* A rank that is killed, between this process and the worker. */
	if (rank == 0) {
		if (rig_open("always"))
			_exit(1);
		worker = fork_worker();
		if (worker == 0) {
			int err = join();

			rig_op("work", 0, 0);
			say(from_worker[1]);
			await_armed(false);
			/* Its file is whole before it ends itself. */
			while (!worker_window(1, 0)->is_whole)
				usleep(1000);
			tp_session_close("_exit");
			_exit(err);
		}
		hear(from_worker[0]);
		raise(SIGKILL);
	}
	end_of(rank);
	for (int i = 0; i < 3000 && !worker_window(1, 0)->is_whole; i++)
		usleep(10000);
	trace = worker_window(1, 0);
	cr_expect(trace->is_whole);
	cr_expect_eq(rig_count(trace, "work", TP_REC_OP, 0), 1);
}

Test(session_worker, that_trains_has_a_schedule_of_its_own)
{
	struct tp_ledger_row row[64];
	char path[600];
	pid_t pid;

	cr_assert_eq(rig_open("wait=1,warmup=0,active=2,repeat=1"), 0);
	rig_run_steps(0, 1);
	pid = fork_worker();
	if (pid == 0) {
		int err = join();

		rig_op("work", 0, 0);
		rig_step();			/* not yet: only the rank's steps count */
		tp_session_lead(tp_clock_now());
		rig_run_steps(0, 5);
		tp_session_close("exit");
		_exit(err);
	}
	cr_expect_eq(end_of(pid), 0);
	cr_expect_eq(rig_count(worker_window(1, 0), "work", TP_REC_OP, 0), 1);
	cr_expect_eq(rig_count(worker_window(1, 0), NULL, TP_REC_STEP, 0), 0);
	cr_expect_str_eq(rig_steps_in(worker_window(1, 1)), "1 2");
	snprintf(path, sizeof(path), "%s/rank0.worker1.steps", rig_config.dir);
	cr_expect_eq(rig_read_ledger(path, row, 64), 5);
}

Test(session_worker, is_none_while_no_rank_records)
{
	pid_t pid = fork_worker();

	if (pid == 0) {
		bool is_good = !tp_worker_number();

		for (int i = 0; i < 100; i++) {
			is_good &= join() == 90;
			usleep(1000);
		}
		_exit(!is_good);
	}
	cr_expect_eq(end_of(pid), 0);

	/* Another child than a loader's worker joins inside windows only. */
	cr_assert_eq(rig_open("wait=1,warmup=0,active=1,repeat=1"), 0);
	pid = fork_worker();
	if (pid == 0) {
		bool is_good = !tp_worker_look(false);

		say(from_worker[1]);
		hear(to_worker[0]);
		is_good &= tp_worker_look(false);
		_exit(!is_good);
	}
	hear(from_worker[0]);
	rig_run_steps(0, 1);
	say(to_worker[1]);
	cr_expect_eq(end_of(pid), 0);
}

Test(session_worker, finds_its_rank_by_the_ring_that_it_holds_open)
{
	pid_t pid;

	/* Forked before its parent records: nothing is inherited. */
	pid = fork_worker();
	if (pid == 0) {
		int err;

		hear(to_worker[0]);
		do
			err = join();
		while (err == 90);
		rig_op("work", 0, 0);
		tp_session_close("_exit");
		_exit(err);
	}
	cr_assert_eq(rig_open("always"), 0);
	say(to_worker[1]);
	cr_expect_eq(end_of(pid), 0);
	cr_expect_eq(rig_count(worker_window(1, 0), "work", TP_REC_OP, 0), 1);
}

/* ---- stacks ---- */

enum { STEPS = 40, STEP_MS = 12, PAUSE_US = 100 };

/* An allocation that names its stack, which is the same each time. */
static void put_with_stack(void)
{
	const uint64_t now = tp_clock_now();
	uint32_t generation;
	struct tp_stack_tree *tree = tp_stack_tree(now, &generation);
	const uint32_t stack = tp_stack_tree_child(tree, 0, TP_FRAME_EXACT, 0, 0x7fff1000, now);
	struct tp_rec *rec = tp_ring_reserve();

	if (!rec)
		return;
	*rec = (struct tp_rec){.time = now, .kind = TP_REC_HEAPALLOC, .link = stack, .arg = 1};
	tp_ring_commit();
}

/* Puts such records until it is told to end, whenever it may; returns how many. */
static uint32_t put_until_told(void)
{
	struct pollfd told = {.fd = to_worker[0], .events = POLLIN};
	uint32_t n = 0;

	while (!poll(&told, 1, 0)) {
		if (tp_session_is_armed()) {
			put_with_stack();
			n++;
		}
		usleep(PAUSE_US);
	}
	return n;
}

static bool has_stack(const struct rig_trace *trace, uint32_t stack)
{
	for (uint32_t i = 0; i < trace->n; i++)
		if (trace->rec[i].kind == TP_REC_FRAME && trace->rec[i].link == stack)
			return true;
	return false;
}

/* Of all windows of the worker: records that name a stack, and those whose stack is not in their file. */
static uint32_t count_stacks(uint32_t *n_unknown)
{
	uint32_t n = 0;

	*n_unknown = 0;
	for (uint32_t window = 0; window <= STEPS; window++) {
		const struct rig_trace *trace = worker_window(1, window);

		for (uint32_t i = 0; i < trace->n; i++) {
			if (trace->rec[i].kind != TP_REC_HEAPALLOC)
				continue;
			n++;
			*n_unknown += !has_stack(trace, trace->rec[i].link);
		}
	}
	return n;
}

/* A worker looks at its rank now and then: windows begin in between, while it records. */
static void check_stacks(const char *schedule, bool has_gaps)
{
	uint32_t *n_put = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint32_t n, n_unknown;
	pid_t pid;

	cr_assert_eq(rig_open(schedule), 0);
	pid = fork_worker();
	if (pid == 0) {
		int err = join();

		say(from_worker[1]);
		await_armed(true);
		*n_put = put_until_told();
		tp_session_close("_exit");
		_exit(err);
	}
	hear(from_worker[0]);
	for (int i = 0; i < STEPS; i++) {
		usleep(STEP_MS * 1000);
		rig_step();
	}
	say(to_worker[1]);
	cr_expect_eq(end_of(pid), 0);
	n = count_stacks(&n_unknown);
	cr_expect_gt(n, STEPS);
	cr_expect_eq(n_unknown, 0, "%s: the stacks of %u of %u records are not in their files", schedule,
		     n_unknown, n);
	if (!has_gaps)
		cr_expect_eq(n, *n_put, "%s: each record is in one file", schedule);
}

Test(session_worker, has_its_stacks_in_each_file_when_windows_follow_on_each_other)
{
	check_stacks("wait=0,warmup=0,active=1,repeat=0", false);
}

Test(session_worker, has_its_stacks_in_each_file_when_windows_have_a_warm_up)
{
	check_stacks("wait=0,warmup=1,active=1,repeat=0", true);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The flight recorder: the last steps are in a window when it is fired, and in none when it is not. */
#include <criterion/criterion.h>

#include <signal.h>
#include <sys/wait.h>

#include "tests/unit/session_rig.h"

TestSuite(session_recorder, .init = rig_set_up, .fini = rig_tear_down, .timeout = 60);

static const char *const never = "wait=100000,warmup=0,active=1";

static void open_with(uint64_t n_steps, const char *schedule)
{
	rig_config.recorder_steps = n_steps;
	cr_assert_eq(rig_open(schedule), 0);
	tp_session_epoch(tp_clock_now());
}

static const struct rig_trace *written(uint32_t window)
{
	cr_assert(rig_await_written(window + 1));
	return rig_window(window);
}

Test(session_recorder, writes_the_last_steps_when_it_is_fired)
{
	const struct rig_trace *trace;

	open_with(3, never);
	cr_expect_eq(tp_session_level(), TP_LEVEL_RECORDER);
	cr_expect(!tp_session_is_armed());
	rig_run_steps(0, 10);
	cr_expect(tp_session_fire("a test"));
	trace = written(0);
	cr_assert(trace->is_whole);
	cr_expect_str_eq(rig_steps_in(trace), "7 8 9");
	cr_expect_eq(rig_count(trace, NULL, TP_REC_STEP, 0), 3);
	cr_expect_not_null(strstr(trace->meta, "opened_by=recorder\nopened_why=a test\n"), "%s", trace->meta);
	cr_expect_not_null(strstr(trace->meta, "first_step=7\n"));
	cr_expect_eq(rig_total(trace, "steps"), 3);
	cr_expect_eq(rig_total(trace, "late"), 0);
}

Test(session_recorder, writes_nothing_when_it_is_not)
{
	open_with(3, never);
	rig_run_steps(0, 10);
	tp_session_close("exit");
	cr_expect(!rig_window(0)->is_there);
}

Test(session_recorder, writes_what_came_since_when_it_is_fired_again)
{
	open_with(4, never);
	rig_run_steps(0, 5);
	cr_expect(tp_session_fire("once"));
	cr_expect(!tp_session_fire("nothing new"));
	rig_run_steps(5, 2);
	cr_expect(tp_session_fire("twice"));
	cr_expect_str_eq(rig_steps_in(written(0)), "1 2 3 4");
	cr_expect_str_eq(rig_steps_in(written(1)), "5 6");
}

Test(session_recorder, writes_at_an_end_that_is_none_of_a_good_run)
{
	open_with(2, never);
	rig_run_steps(0, 6);
	tp_session_fail("exit", 7);
	cr_expect_str_eq(rig_steps_in(rig_window(0)), "4 5");
	cr_expect_not_null(strstr(rig_window(0)->meta, "opened_why=the program ended with status 7\n"));
}

Test(session_recorder, stands_beside_the_windows_of_the_schedule)
{
	open_with(5, "wait=4,warmup=1,active=2,repeat=1,per=run");
	rig_run_steps(0, 3);
	cr_expect(tp_session_fire("before"));
	rig_run_steps(3, 3);
	cr_expect_eq(tp_session_level(), TP_LEVEL_WINDOW);
	cr_expect(!tp_session_fire("inside"));
	rig_run_steps(6, 3);
	cr_expect_eq(tp_session_level(), TP_LEVEL_RECORDER);
	cr_expect(tp_session_fire("after"));
	cr_expect_str_eq(rig_steps_in(written(0)), "0 1 2");
	cr_expect_str_eq(rig_steps_in(written(1)), "5 6");
	cr_expect_not_null(strstr(rig_window(1)->meta, "opened_by=schedule\n"));
	cr_expect_str_eq(rig_steps_in(written(2)), "7 8");
}

/* Its own level: only sources that say so are armed for it. */
Test(session_recorder, arms_what_is_for_it)
{
	open_with(5, "wait=2,warmup=0,active=1,repeat=1,per=run");
	rig_run_steps(0, 2);
	cr_expect_str_eq(rig_told_in_order(), "open arm ");
	rig_run_steps(2, 1);
	cr_expect_not_null(strstr(rig_told_in_order(), "open arm disarm "));
}

static uint32_t put_ops(uint32_t n)
{
	uint32_t n_put = 0;

	for (uint32_t i = 0; i < n; i++)
		n_put += rig_op("x", 0, i) != 0;
	return n_put;
}

/* What does not fit makes room, is counted as that, and nothing is lost. */
Test(session_recorder, gives_up_the_oldest_steps_of_a_small_ring)
{
	const struct rig_trace *trace;
	uint32_t n_put = 0;

	rig_config.buffer_bytes = 1 << 20;	/* 14 chunks */
	open_with(100, never);
	for (uint32_t s = 0; s < 60; s++) {
		n_put += put_ops(1000);
		rig_step();
		usleep(1000);
	}
	cr_expect_eq(n_put, 60000);
	cr_expect_eq(tp_ring_dropped(), 0);
	cr_expect(tp_session_fire("a test"));
	trace = written(0);
	cr_expect_gt(rig_count(trace, "x", TP_REC_OP, 0), 3000);
	cr_expect_gt(rig_total(trace, "recorder.overwritten"), 30000);
	cr_expect_leq(rig_total(trace, "recorder.overwritten") + trace->n, 60000 + 60);
	cr_expect_eq(rig_total(trace, "dropped"), 0);
}

/* A step that is greater than the ring keeps its newest part. */
Test(session_recorder, gives_up_the_older_part_of_a_great_step)
{
	rig_config.buffer_bytes = 1 << 20;
	open_with(4, never);
	for (uint32_t i = 0; i < 60; i++) {
		cr_expect_eq(put_ops(1000), 1000);
		usleep(1000);
	}
	cr_expect(tp_session_fire("a test"));
	cr_expect_gt(rig_count(written(0), "x", TP_REC_OP, 0), 500);
	cr_expect_eq(tp_ring_dropped(), 0);
}

/* What nobody wants any more is no loss, and not counted as overwritten. */
Test(session_recorder, forgets_old_steps_without_a_count)
{
	rig_config.buffer_bytes = 1 << 20;
	open_with(2, never);
	for (uint32_t s = 0; s < 200; s++) {
		cr_expect_eq(put_ops(500), 500);
		rig_step();
		usleep(300);
	}
	cr_expect_eq(tp_ring.head->recorder_overwritten, 0);
	cr_expect_eq(tp_ring_dropped(), 0);
}

/* As a reader of the dead sees it. */
Test(session_recorder, leaves_the_last_steps_in_the_ring_of_a_killed_process)
{
	struct tp_ring_head *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
					   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct tp_ring_head head;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		open_with(3, never);
		rig_run_steps(0, 10);
		memcpy(shared, tp_ring.head, sizeof(*shared));
		kill(getpid(), SIGKILL);
	}
	waitpid(pid, &status, 0);
	cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	head = *shared;
	cr_expect_eq(head.windows_begun, 0);
	tp_ring_head_take_recorder(&head);
	cr_expect_eq(head.windows_begun, 1);
	cr_expect_neq(head.windows[0].begin, 0);
	cr_expect_eq(head.windows[0].end, 0);
	cr_expect_eq(head.windows[0].opened_by, TP_OPENED_RECORDER);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_words.c - tests of children that no fork handler told of: raw clone(2), _Fork. What they do
 * with the memory that they have of their parent is nothing to the parent's ring, and harms nobody.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "runtime/base/log.h"
#include "runtime/engine/facts.h"
#include "tests/unit/ring_bag.h"
#include "tests/unit/session_rig.h"

/* A child without handlers; runs `child`, gives its exit status, or -1. */
static int in_stranger(int (*child)(void))
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	int status;

	if (pid == 0) {
		alarm(20);
		syscall(SYS_exit_group, child());
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

TestSuite(own_words_ring, .init = set_up, .fini = tear_down);

static int put_many(void)
{
	for (uint64_t i = 0; i < 5000; i++)
		if (rig_put(1, 1000000 + i))
			return 1;
	tp_ring_span_begin(TP_REC_RANGE, 9, 9);
	tp_ring_span_end(0);
	return 0;
}

Test(own_words_ring, a_stranger_puts_nothing_into_its_parents_ring)
{
	struct bag *bag = new_bag();
	uint32_t depth;

	cr_assert_eq(rig_open_ring(MIB), 0);
	for (uint64_t i = 0; i < 100; i++)
		rig_put(1, i);
	depth = tp_ring_span_begin(TP_REC_RANGE, 21, 500);
	cr_expect_eq(in_stranger(put_many), 0);
	cr_expect_eq(tp_ring_slot()->depth, depth + 1);
	cr_expect_eq(tp_ring_slot()->open[0].name, 21);
	for (uint64_t i = 100; i < 200; i++)
		rig_put(1, i);
	take_all(bag);
	cr_expect_eq(bag->n, 200);
	cr_expect_eq(bag->n_bad + bag->n_out_of_order, 0);
	cr_expect_eq(tp_ring_dropped(), 0, "what it did not record was not the parent's either");
}

TestSuite(own_words, .init = rig_set_up, .fini = rig_tear_down);

static int do_all(void)
{
	uint32_t id = tp_intern_text("a name of the stranger's");

	rig_op("aten::strange", 0, 1);
	for (int i = 0; i < 50; i++)
		rig_step();
	tp_session_epoch(tp_clock_now());
	tp_facts_add("stranger", "yes");
	return (tp_session_is_open() ? 1 : 0) | (tp_session_is_armed() ? 2 : 0) | (id ? 4 : 0) |
	       (rig_open("always") != -ECHILD ? 8 : 0);
}

static int end(void)
{
	/* Its parent's number, when it is the first of a pid namespace: see hook_proc.c. */
	tp_session_close("exit");
	return 0;
}

Test(own_words, a_stranger_takes_no_step_and_no_name_and_closes_nothing)
{
	uint64_t names_used, steps;

	cr_assert_eq(rig_open("always"), 0);
	rig_op("aten::add", 0, 1);
	rig_step();
	names_used = tp_ring.head->names_used;
	steps = tp_ring.head->steps_done;
	cr_expect_eq(in_stranger(do_all), 0);
	cr_expect_eq(in_stranger(end), 0);
	cr_expect_eq(tp_ring.head->names_used, names_used);
	cr_expect_eq(tp_ring.head->steps_done, steps);
	cr_expect_null(strstr(tp_ring.head->meta, "stranger"));
	cr_expect_not(tp_ring.head->is_closed);
	cr_expect(tp_session_is_open() && tp_session_is_armed());
	cr_expect_eq(access(tp_ring.path, F_OK), 0);
}

static int fork_on(void)
{
	int status;
	pid_t pid;

	tp_session_before_fork();
	pid = fork();
	tp_session_after_fork(pid == 0);
	if (pid == 0)
		_exit(rig_open("always") != -ECHILD || tp_session_is_armed());
	return waitpid(pid, &status, 0) != pid || status;
}

Test(own_words, what_a_stranger_forks_is_a_stranger)
{
	cr_assert_eq(rig_open("always"), 0);
	cr_expect_eq(in_stranger(fork_on), 0);
	cr_expect(tp_session_is_open());
}

Test(own_words, a_child_of_fork_records_for_itself)
{
	int status;
	pid_t pid;

	cr_assert_eq(rig_open("always"), 0);
	tp_session_before_fork();
	pid = fork();
	tp_session_after_fork(pid == 0);
	if (pid == 0) {
		snprintf(rig_config.dir, sizeof(rig_config.dir), "%s/child", rig_dir);
		if (rig_open("always"))
			_exit(1);
		rig_op("aten::add", 0, 1);
		tp_session_close("_exit");
		_exit(tp_ring_dropped() != 0);
	}
	waitpid(pid, &status, 0);
	cr_expect_eq(status, 0);
	cr_expect(tp_session_is_open() && tp_session_is_armed());
}

static struct tp_spin lock = {.rank = TP_LOCK_OWNER};

static int take_lock(void)
{
	tp_spin_lock(&lock);
	tp_spin_unlock(&lock);
	return 0;
}

Test(own_words, a_stranger_waits_for_no_lock_of_a_thread_that_it_does_not_have)
{
	cr_assert_eq(rig_open("always"), 0);
	tp_spin_lock(&lock);
	cr_expect_eq(in_stranger(take_lock), 0);
	tp_spin_unlock(&lock);
}

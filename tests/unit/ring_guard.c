/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_guard.c - SIGBUS while a session is open: of the ring's pages it is mended, any other is the program's
 *
 * That the ring is cut at any moment is tests/stress/cut.c.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <sys/wait.h>

#include "tests/unit/session_rig.h"

TestSuite(ring_guard, .init = rig_set_up, .fini = rig_tear_down);

static bool is_default(void)
{
	struct sigaction now;

	return !sigaction(SIGBUS, NULL, &now) && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL;
}

/* A page of the program's own behind the end of its file. */
static volatile char *map_missing(void)
{
	char path[300];
	volatile char *page;
	int fd;

	snprintf(path, sizeof(path), "%s/own", rig_dir);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return page;
}

static void open_guarded(void)
{
	cr_assert_eq(rig_open("always"), 0);
	cr_assert(AWAIT(!is_default()));
}

/* The status of a child that has a session of its own, and does that. */
static int status_of(void (*what)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		snprintf(rig_config.dir, sizeof(rig_config.dir), "%s/child%d", rig_dir, getpid());
		open_guarded();
		what();
		_exit(7);
	}
	waitpid(pid, &status, 0);
	return status;
}

static void touch_missing(void)
{
	*map_missing() = 1;
}

static void send_itself(void)
{
	kill(getpid(), SIGBUS);
}

static void touch_ring(void)
{
	if (truncate(tp_ring.path, 4096))
		_exit(3);
	tp_ring.chunks[0].rec[0].time = 5;
	if (tp_ring.chunks[0].rec[0].time != 5 || !tp_ring_is_cut() || tp_ring.head->magic != TP_RING_MAGIC)
		_exit(4);
	tp_session_close("exit");
	_exit(is_default() ? 0 : 5);
}

Test(ring_guard, mends_a_page_of_the_ring_and_nothing_else)
{
	int status = status_of(touch_ring);

	cr_expect_eq(status, 0, "%x", status);
	status = status_of(touch_missing);
	cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS, "%x", status);
	status = status_of(send_itself);
	cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS, "%x", status);
}

static void handle_and_leave(int number)
{
	_exit(9);
}

static void handle_later(void)
{
	signal(SIGBUS, handle_and_leave);
	touch_missing();
}

Test(ring_guard, leaves_a_handler_of_the_program_alone)
{
	struct sigaction now;
	int status = status_of(handle_later);

	cr_expect_eq(WEXITSTATUS(status), 9, "%x", status);
	signal(SIGBUS, handle_and_leave);
	cr_assert_eq(rig_open("always"), 0);
	rig_run_steps(0, 3);
	tp_ring_ring_bell();
	tp_session_close("exit");
	sigaction(SIGBUS, NULL, &now);
	cr_expect_eq(now.sa_handler, handle_and_leave);
}

static void ask_default(void)
{
	pid_t pid;
	int status = 0;

	tp_session_before_fork();
	pid = fork();
	tp_session_after_fork(pid == 0);
	if (!pid)
		_exit(is_default() ? 0 : 6);
	waitpid(pid, &status, 0);
	if (status)
		_exit(6);
	tp_session_close("exit");
	_exit(is_default() ? 0 : 5);
}

Test(ring_guard, gives_the_default_action_back_to_children_and_at_the_end)
{
	int status = status_of(ask_default);

	cr_expect_eq(status, 0, "%x", status);
}

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

static struct sigaction first;	/* the program's, when the session was opened */
static void *volatile missing;

static bool is_as_before(void)
{
	struct sigaction now;

	return !sigaction(SIGBUS, NULL, &now) && now.sa_sigaction == first.sa_sigaction;
}

/* Not where nothing of ours may take the place of what is there. */
static void open_guarded(void)
{
	sigaction(SIGBUS, NULL, &first);
	cr_assert_eq(rig_open("always"), 0);
	cr_assert(first.sa_handler == SIG_IGN || first.sa_flags & (int)SA_RESETHAND ||
		  AWAIT(!is_as_before()));
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

/* A page of the program's own behind the end of its file. */
static void touch_missing(void)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s/own", rig_dir);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	missing = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	*(volatile char *)missing = 1;
}

static void send_itself(void)
{
	kill(getpid(), SIGBUS);
}

static void touch_ring(void)
{
	volatile uint64_t *time = &tp_ring.chunks[0].rec[0].time;
	bool is_kept = false;

	if (truncate(tp_ring.path, 4096))
		_exit(3);
	/* The drain thread may meet the cut at once, and covers what is behind it anew. */
	for (int i = 0; i < 100 && !is_kept; i++) {
		*time = 5;
		is_kept = *time == 5;
	}
	if (!is_kept)
		_exit(4);
	/* Unless it has ended recording for that, and nothing of the ring is left. */
	if ((!tp_ring_is_cut() || tp_ring.head->magic != TP_RING_MAGIC) && !AWAIT(!tp_session_is_open()))
		_exit(6);
	tp_session_close("exit");
	_exit(is_as_before() ? 0 : 5);
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

static void leave_with_address(int number, siginfo_t *info, void *context)
{
	_exit(info->si_addr == missing && context ? 8 : 6);
}

/* Installed, and the drain has looked since; then it is called. */
static void use_later(const struct sigaction *action, struct sigaction *earlier)
{
	sigaction(SIGBUS, action, earlier);
	tp_ring_ring_bell();
	usleep(20000);
	touch_missing();
}

static void handle_later(void)
{
	use_later(&(struct sigaction){.sa_handler = handle_and_leave}, NULL);
}

static struct sigaction earlier;
static int n_chained;

static void call_earlier(int number, siginfo_t *info, void *context)
{
	if (n_chained++)
		_exit(5);
	earlier.sa_sigaction(number, info, context);
}

static void handle_chained(void)
{
	use_later(&(struct sigaction){.sa_sigaction = call_earlier, .sa_flags = SA_SIGINFO}, &earlier);
}

Test(ring_guard, comes_before_the_handler_that_was_there_and_leaves_a_later_one)
{
	static const struct {
		int flags;
		void (*what)(void);
		int wanted;
	} row[] = {
		{0, touch_missing, 9}, {SA_SIGINFO, touch_missing, 8}, {SA_NODEFER, send_itself, 9},
		{0, touch_ring, 0}, {SA_SIGINFO | SA_ONSTACK, touch_ring, 0},
		{SA_SIGINFO | (int)SA_RESETHAND, touch_missing, 8}, {SA_SIGINFO, handle_later, 9},
		{SA_SIGINFO, handle_chained, 8},
	};
	int status = status_of(handle_later);

	cr_expect_eq(WEXITSTATUS(status), 9, "%x", status);
	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct sigaction action = {.sa_handler = handle_and_leave, .sa_flags = row[i].flags};

		if (row[i].flags & SA_SIGINFO)
			action.sa_sigaction = leave_with_address;
		sigaction(SIGBUS, &action, NULL);
		status = status_of(row[i].what);
		cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == row[i].wanted, "%u: %x", i, status);
	}
}

static void leave_as_before(void)
{
	_exit(is_as_before() ? 0 : 6);
}

Test(ring_guard, leaves_an_ignored_signal_ignored)
{
	int status;

	signal(SIGBUS, SIG_IGN);
	status = status_of(leave_as_before);
	cr_expect_eq(status, 0, "%x", status);
}

static void fork_and_leave(void)
{
	int status = 0;
	pid_t pid;

	tp_session_before_fork();
	pid = fork();
	tp_session_after_fork(pid == 0);
	if (!pid)
		leave_as_before();
	waitpid(pid, &status, 0);
	tp_session_close("exit");
	_exit(status || !is_as_before());
}

Test(ring_guard, gives_children_and_the_program_in_the_end_what_was_there)
{
	int status = status_of(fork_and_leave);

	cr_expect_eq(status, 0, "%x", status);
	signal(SIGBUS, handle_and_leave);
	status = status_of(fork_and_leave);
	cr_expect_eq(status, 0, "%x", status);
}

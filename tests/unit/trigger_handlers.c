/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trigger_handlers.c - what becomes of the program's own handler of the signal that triggers
 */
#include "tests/unit/trigger_rig.h"

TestSuite(trigger_handlers, .init = rig_set_up, .fini = rig_tear_down, .timeout = 120);

static uint32_t n_heard, n_infos;

static void on_guest_signal(int number)
{
	n_heard++;
}

static void on_guest_info(int number, siginfo_t *info, void *context)
{
	n_infos += info && info->si_pid == getpid();
}

static bool is_default(int number)
{
	struct sigaction now;

	return !sigaction(number, NULL, &now) && !(now.sa_flags & SA_SIGINFO) &&
	       now.sa_handler == SIG_DFL;
}

Test(trigger_handlers, calls_the_handler_that_was_there_and_gives_it_back)
{
	const struct sigaction guest = {.sa_sigaction = on_guest_info, .sa_flags = SA_SIGINFO};
	struct sigaction now;

	sigaction(SIGUSR2, &guest, NULL);
	choose(2, 1);
	cr_assert_eq(rig_open("trigger"), 0);
	kill(getpid(), SIGUSR2);
	cr_expect_eq(n_infos, 1);
	sigaction(SIGUSR2, NULL, &now);
	cr_expect_neq(now.sa_sigaction, on_guest_info);
	cr_expect_not(now.sa_flags & SA_RESTART, "as the guest's");
	tp_session_close("exit");
	sigaction(SIGUSR2, NULL, &now);
	cr_expect_eq(now.sa_sigaction, on_guest_info);
}

Test(trigger_handlers, comes_before_a_handler_that_was_installed_later)
{
	struct sigaction now;
	uint64_t n;

	choose(2, 0);
	cr_assert_eq(rig_open("trigger"), 0);
	signal(SIGUSR2, on_guest_signal);
	do {
		usleep(1000);
		sigaction(SIGUSR2, NULL, &now);
	} while (now.sa_handler == on_guest_signal);
	kill(getpid(), SIGUSR2);
	cr_expect_eq(n_heard, 1);
	for (n = 0; !is_there("rank0.0.tpt") && n < 60000; n++) {
		rig_step();
		usleep(1000);
	}
	cr_expect_lt(n, 60000, "and the window opens");
	tp_session_close("exit");
}

static struct sigaction earlier;

static void on_chained(int number)
{
	n_heard++;
	earlier.sa_sigaction(number, NULL, NULL);
}

Test(trigger_handlers, goes_round_in_no_circle_with_a_handler_that_calls_the_one_before)
{
	const struct sigaction guest = {.sa_handler = on_chained};
	struct sigaction now;

	choose(2, 1);
	cr_assert_eq(rig_open("trigger"), 0);
	sigaction(SIGUSR2, &guest, &earlier);
	do {
		usleep(1000);
		sigaction(SIGUSR2, NULL, &now);
	} while (now.sa_handler == on_chained);
	kill(getpid(), SIGUSR2);
	cr_expect_eq(n_heard, 1);
}

Test(trigger_handlers, takes_a_signal_that_would_have_killed_and_leaves_children_alone)
{
	int status;
	pid_t pid;

	choose(2, 1);
	cr_expect(is_default(SIGUSR2));
	cr_assert_eq(rig_open("trigger"), 0);
	kill(getpid(), SIGUSR2);
	tp_session_before_fork();
	pid = fork();
	tp_session_after_fork(pid == 0);
	if (!pid) {
		kill(getpid(), SIGUSR2);	/* of a data loader: it lives */
		_exit(tp_trigger_look(tp_clock_mono_ns()) == UINT64_MAX ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	cr_expect_eq(status, 0, "%x", status);
	tp_session_close("exit");
	cr_expect(is_default(SIGUSR2));
}

Test(trigger_handlers, does_not_end_a_launcher)
{
	static struct tp_config none;

	tp_trigger_shield(NULL);
	tp_trigger_shield(&none);
	cr_expect(is_default(SIGUSR2));
	choose(2, 1);
	tp_trigger_shield(&rig_config);
	kill(getpid(), SIGUSR2);
	cr_expect_not(is_default(SIGUSR2));
	signal(SIGUSR2, SIG_IGN);
	tp_trigger_shield(&rig_config);
	cr_expect_eq(signal(SIGUSR2, SIG_DFL), SIG_IGN, "a program's choice stays");
}

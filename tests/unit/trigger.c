/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trigger.c - a signal to one rank: which steps the ranks record then
 */
#include "runtime/base/log.h"
#include "tests/unit/trigger_rig.h"

TestSuite(trigger, .init = rig_set_up, .fini = rig_tear_down, .timeout = 120);

Test(trigger, opens_the_same_steps_on_all_ranks)
{
	pid_t pid[RANKS];
	uint64_t first = 0;

	choose(5, 0);
	shared->n_ranks = RANKS;
	for (int i = 0; i < RANKS; i++)
		pid[i] = start_rank(i, "trigger", i == 2 ? 7 : 0);
	for (int i = 0; i < RANKS; i++)
		cr_assert(await_steps(i, 30));
	kill(pid[1], SIGUSR2);
	for (int i = 0; i < RANKS; i++) {
		char name[32];

		snprintf(name, sizeof(name), "rank%d.0.tpt", i);
		cr_assert(await_file(name), "%s", name);
	}
	stop(pid, RANKS);
	for (int i = 0; i < RANKS; i++) {
		const struct rig_trace *trace = window_of(i, 0);

		if (!i)
			first = rig_total(trace, "first_step");
		cr_expect_geq(first, 30);
		cr_expect_eq(rig_total(trace, "first_step"), first, "rank %d", i);
		cr_expect_eq(rig_total(trace, "steps"), 5);
		cr_expect_eq(rig_count(trace, "step", TP_REC_STEP, 0), 5);
		cr_expect_eq(rig_total(trace, "trigger.windows"), 1);
		cr_expect_eq(rig_total(trace, "trigger.late"), 0);
		cr_expect_not_null(strstr(trace->meta, "opened_by=trigger\n"));
		cr_expect_not_null(strstr(trace->meta, "SCHEDULE=trigger\n"));
	}
	cr_expect(is_there("trigger.0"));
	cr_expect_not(is_there("trigger.1"));
}

Test(trigger, is_one_when_several_ranks_get_it_and_another_one_after_its_window)
{
	pid_t pid[RANKS];

	/* For a busy machine: the last rank hears of its signal inside of the window, and of the
	 * window before it begins. */
	choose(200, 200);
	shared->n_ranks = RANKS;
	for (int i = 0; i < RANKS; i++)
		pid[i] = start_rank(i, "trigger", 0);
	for (int i = 0; i < RANKS; i++)
		cr_assert(await_steps(i, 30));
	for (int i = 0; i < RANKS; i++)
		kill(pid[i], SIGUSR2);
	cr_assert(await_file("rank0.0.tpt") && await_file("rank1.0.tpt") &&
		  await_file("rank2.0.tpt"));
	cr_expect_not(is_there("trigger.1"));
	kill(pid[0], SIGUSR2);
	cr_assert(await_file("rank0.1.tpt") && await_file("rank1.1.tpt") &&
		  await_file("rank2.1.tpt"));
	stop(pid, RANKS);
	for (int w = 0; w < 2; w++)
		for (int i = 1; i < RANKS; i++)
			cr_expect_eq(rig_total(window_of(i, w), "first_step"),
				     rig_total(window_of(0, w), "first_step"),
				     "window %d, rank %d: %lu", w, i,
				     rig_total(window_of(i, w), "first_step"));
}

Test(trigger, stands_beside_the_windows_of_the_schedule)
{
	pid_t pid[1];

	choose(2, 0);
	pid[0] = start_rank(0, "wait=5,warmup=1,active=3,repeat=1,per=run", 0);
	cr_assert(await_file("rank0.0.tpt"));
	kill(pid[0], SIGUSR2);
	cr_assert(await_file("rank0.1.tpt"));
	stop(pid, 1);
	cr_expect_eq(rig_total(window_of(0, 0), "first_step"), 6);
	cr_expect_eq(rig_total(window_of(0, 0), "steps"), 3);
	cr_expect_not_null(strstr(window_of(0, 0)->meta, "opened_by=schedule\n"));
	cr_expect_eq(rig_total(window_of(0, 1), "steps"), 2);
	cr_expect_not_null(strstr(window_of(0, 1)->meta, "opened_by=trigger\n"));
}

/* What a run that ends after 3 steps says on its standard error, when `act` is what came before. */
static const char *last_words(uint32_t ahead, void (*act)(void))
{
	static char said[2000];
	size_t n = 0;
	ssize_t got;
	int out[2];

	choose(2, ahead);
	cr_assert_eq(pipe(out), 0);
	rig_config.log = TP_LOG_WARN;
	tp_log_set_fd(out[1]);
	cr_assert_eq(rig_open("trigger"), 0);
	rig_run_steps(0, 3);
	act();
	tp_session_close("exit");
	tp_log_set_fd(-1);
	close(out[1]);
	while ((got = read(out[0], said + n, sizeof(said) - 1 - n)) > 0)
		n += (size_t)got;
	close(out[0]);
	said[n] = '\0';
	return said;
}

static void ask_by_signal(void)
{
	kill(getpid(), SIGUSR2);
	cr_assert(await_file("trigger.0"));
}

static void ask_by_another_rank(void)
{
	char text[160];

	snprintf(text, sizeof(text), "trainprof trigger 50 52 1 %lu %d\n", tp_clock_real_ns(),
		 getpid() + 1);
	put_whole("trigger.0", text, 0644);
	cr_assert(AWAIT(!tp_session_is_asked_over()));
}

static void ask_and_end(void)
{
	kill(getpid(), SIGUSR2);
}

static void ask_nobody(void)
{
}

Test(trigger, says_at_the_end_which_window_did_not_come)
{
	cr_expect_not_null(strstr(last_words(40, ask_by_signal),
				  "steps 44 to 45 were to be recorded, as a signal asked, and the run "
				  "ended after 3 steps"));
}

Test(trigger, answers_a_signal_that_is_the_last_thing_before_the_end)
{
	/* Whether it was looked at or not. */
	cr_expect_not_null(strstr(last_words(40, ask_and_end), "no window was opened for a signal"));
}

Test(trigger, leaves_it_to_the_rank_that_asked_to_say_so)
{
	cr_expect_null(strstr(last_words(40, ask_by_another_rank), "signal asked"));
}

Test(trigger, says_nothing_at_the_end_when_nobody_asked)
{
	cr_expect_null(strstr(last_words(40, ask_nobody), "signal asked"));
}

/* The others were asked while this one had been there already, or had not begun. */
Test(trigger, says_what_came_too_late)
{
	char text[160];
	pid_t pid[1];

	choose(2, 0);
	pid[0] = start_rank(0, "trigger", 0);
	cr_assert(await_steps(0, 20));
	snprintf(text, sizeof(text), "trainprof trigger 5 8 1 %lu 77\n", tp_clock_real_ns());
	put_whole("trigger.0", text, 0644);
	snprintf(text, sizeof(text), "trainprof trigger 6 100000000 1 %lu 77\n", tp_clock_real_ns());
	put_whole("trigger.1", text, 0644);
	cr_assert(await_steps(0, shared->steps[0] + 2000));
	stop(pid, 1);
	cr_expect_eq(rig_total(window_of(0, 0), "trigger.windows"), 2);
	cr_expect_eq(rig_total(window_of(0, 0), "trigger.missed"), 1);
	cr_expect_eq(rig_total(window_of(0, 0), "trigger.late"), 1);
	cr_expect_gt(rig_total(window_of(0, 0), "first_step"), 20);
}

Test(trigger, passes_over_proposals_of_older_runs_and_what_is_none)
{
	pid_t pid[1];

	choose(2, 0);
	put_whole("trigger.0", "trainprof trigger 50 60 1 1234567890 77\n", 0644);
	put_whole("trigger.1", "", 0644);
	put_whole("trigger.2", "trainprof trigger 50 40 1 99999999999999999999 77\n", 0644);
	put_whole("trigger.restart1.0", "trainprof trigger 50 60 1 18000000000000000000 77\n", 0644);
	pid[0] = start_rank(0, "trigger", 0);
	cr_assert(await_steps(0, 100));
	kill(pid[0], SIGUSR2);
	cr_assert(await_file("rank0.0.tpt"));
	stop(pid, 1);
	cr_expect(is_there("trigger.3"));
	cr_expect_eq(rig_total(window_of(0, 0), "steps"), 2);
	cr_expect_eq(rig_total(window_of(0, 0), "trigger.windows"), 1);
}

Test(trigger, is_looked_for_less_often_in_great_jobs)
{
	static const struct tp_trigger_ops ops = {tp_session_steps, tp_ring_step, tp_session_ask,
						  tp_session_is_asked_over, tp_session_stop,
						  tp_session_fire};
	static const struct {
		int world;
		uint64_t ms;
	} rows[] = {{1, 100}, {8, 100}, {64, 100}, {512, 800}, {100000, 5000}};

	choose(2, 0);
	cr_assert_eq(rig_open_ring(4 << 20), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct tp_rank rank = {.rank = 0, .world_size = rows[i].world};

		tp_trigger_open(&rig_config, &rank, rig_dir, &ops);
		cr_expect_eq(tp_trigger_look(tp_clock_mono_ns()), rows[i].ms * 1000000, "%d ranks",
			     rows[i].world);
	}
	tp_trigger_close();
	tp_ring_close();
}

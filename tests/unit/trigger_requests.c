/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trigger_requests.c - windows that a request asks for, or what the run shows
 */
#include "runtime/engine/trigger/request.h"
#include "tests/unit/trigger_rig.h"

TestSuite(trigger_requests, .init = rig_set_up, .fini = rig_tear_down, .timeout = 120);

static void ask(const char *id, const char *command, mode_t mode)
{
	char text[600];

	snprintf(text, sizeof(text), "trainprof control %s %s\n", id, command);
	put_whole("control", text, mode);
}

/* The answers so far, once there are `n_lines`; "": there were not, in a minute. */
static const char *answers(const char *id, int n_lines)
{
	static char text[TP_ANSWER_BYTES];
	char path[600];

	snprintf(path, sizeof(path), "%s/control.%s", rig_config.dir, id);
	for (int i = 0; i < 60000; i++) {
		FILE *file = fopen(path, "r");
		size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
		int n_got = 0;

		if (file)
			fclose(file);
		text[n] = '\0';
		for (size_t k = 0; k < n; k++)
			n_got += text[k] == '\n';
		if (n_got >= n_lines)
			return text;
		usleep(1000);
	}
	return "";
}

Test(trigger_requests, opens_the_window_of_a_request_on_all_ranks_and_one_of_them_answers)
{
	pid_t pid[RANKS];
	uint64_t first;

	choose(4, 0);
	shared->n_ranks = RANKS;
	for (int i = 0; i < RANKS; i++)
		pid[i] = start_rank(i, "trigger", 0);
	for (int i = 0; i < RANKS; i++)
		cr_assert(await_steps(i, 30));
	ask("a-1", "window=7", 0644);
	cr_expect(strstr(answers("a-1", 2), "\ndone window opened at step "), "%s", answers("a-1", 2));
	for (int i = 0; i < RANKS; i++) {
		char name[32];

		snprintf(name, sizeof(name), "rank%d.0.tpt", i);
		cr_assert(await_file(name), "%s", name);
	}
	ask("a-2", "status", 0600);
	cr_expect(strstr(answers("a-2", 2), "windows requested so far: 1\n"), "%s", answers("a-2", 2));
	stop(pid, RANKS);
	first = rig_total(window_of(0, 0), "first_step");
	for (int i = 0; i < RANKS; i++) {
		cr_expect_eq(rig_total(window_of(i, 0), "first_step"), first);
		cr_expect_eq(rig_total(window_of(i, 0), "steps"), 7);
		cr_expect_not_null(strstr(window_of(i, 0)->meta, "opened_why=a request came\n"));
	}
	cr_expect_not(is_there("control"), "taken away");
}

Test(trigger_requests, stops_the_schedule_for_a_request_on_all_ranks_at_the_same_step)
{
	pid_t pid[RANKS];

	choose(4, 0);
	shared->n_ranks = RANKS;
	for (int i = 0; i < RANKS; i++)
		pid[i] = start_rank(i, "wait=2,warmup=0,active=30,repeat=0,per=run", 0);
	for (int i = 0; i < RANKS; i++)
		cr_assert(await_steps(i, 40));
	ask("b", "stop", 0644);
	cr_expect(strstr(answers("b", 1), "done from step "), "%s", answers("b", 1));
	cr_assert(await_steps(0, shared->steps[0] + 2000));
	stop(pid, RANKS);
	for (int w = 0; w < 200; w++) {
		char name[32];

		snprintf(name, sizeof(name), "rank0.%d.tpt", w);
		if (!is_there(name)) {
			cr_expect(w > 0 && w < 60, "%d windows", w);
			break;
		}
		for (int i = 1; i < RANKS; i++)
			cr_expect_eq(rig_total(window_of(i, w), "steps"),
				     rig_total(window_of(0, w), "steps"), "window %d", w);
	}
}

Test(trigger_requests, says_why_a_request_is_not_followed)
{
	pid_t pid[1];

	choose(4, 1000000);
	pid[0] = start_rank(0, "trigger", 0);
	cr_assert(await_steps(0, 20));
	ask("c-1", "window=2", 0644);
	cr_expect(strstr(answers("c-1", 1), "will be recorded"), "%s", answers("c-1", 1));
	ask("c-2", "window=2", 0644);
	cr_expect(strstr(answers("c-2", 1), "refused the window of steps "), "%s", answers("c-2", 1));
	stop(pid, 1);
	cr_expect(strstr(answers("c-1", 2), "refused the run ended after "), "%s", answers("c-1", 2));
}

Test(trigger_requests, takes_no_request_that_others_may_have_written)
{
	static const struct {
		const char *what;
		mode_t mode;
	} rows[] = {
		{"loose modes", 0666}, {"a group's", 0664}, {"a FIFO", 0644}, {"a link", 0644},
		{"two names", 0644},
	};
	char path[600], other[610];

	snprintf(path, sizeof(path), "%s/control", rig_config.dir);
	snprintf(other, sizeof(other), "%s.other", path);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tp_request request;
		struct tp_folder folder;

		ask("d", "window=2", rows[i].mode);
		if (!strcmp(rows[i].what, "a FIFO")) {
			unlink(path);
			cr_assert_eq(mkfifo(path, 0600), 0);
		} else if (!strcmp(rows[i].what, "a link")) {
			cr_assert_eq(rename(path, other), 0);
			cr_assert_eq(symlink("control.other", path), 0);
		} else if (!strcmp(rows[i].what, "two names")) {
			cr_assert_eq(link(path, other), 0);
		}
		cr_assert_eq(tp_folder_open(&folder, rig_config.dir), 0);
		cr_expect_not(tp_request_take(&folder, &request), "%s", rows[i].what);
		cr_expect(is_there("control"), "%s stays", rows[i].what);
		unlink(path);
		unlink(other);
		ask("d", "window=2", 0644);
		cr_expect(tp_request_take(&folder, &request));
		cr_expect_not(is_there("control"));
		cr_expect_not(tp_request_take(&folder, &request), "once");
		tp_folder_close(&folder);
	}
}

/* ---- what the run shows ---- */

Test(trigger_requests, opens_a_window_for_a_slow_step_and_no_more_than_the_limit)
{
	const char *why;
	double ratio = 0;
	uint64_t n = 0;

	choose(2, 0);
	rig_config.trigger.signal = 0;
	rig_config.trigger.slow = 5000;
	rig_config.trigger.limit = 1;
	cr_assert_eq(rig_open("trigger"), 0);
	for (; n < 60000 && !is_there("rank0.0.tpt"); n++) {
		rig_step();
		usleep(n % 300 == 299 ? 100000 : 1000);
	}
	cr_assert(is_there("rank0.0.tpt"));
	cr_expect_eq(rig_total(window_of(0, 0), "steps"), 2);
	why = strstr(window_of(0, 0)->meta, "opened_why=step ");
	cr_assert_not_null(why);
	cr_expect_eq(sscanf(why, "opened_why=step %*u took %lf times the running median\n", &ratio), 1);
	cr_expect_geq(ratio, 5);
	for (n = 0; n < 1000; n++) {
		rig_step();
		usleep(n % 300 == 299 ? 100000 : 1000);
	}
	tp_session_close("exit");
	cr_expect_not(is_there("rank0.1.tpt"));
}

Test(trigger_requests, opens_a_window_when_memory_reaches_its_limit)
{
	uint64_t n = 0;

	choose(2, 0);
	rig_config.trigger.signal = 0;
	rig_config.trigger.mem = 1 << 20;	/* any process has that */
	rig_config.trigger.limit = 1;
	cr_assert_eq(rig_open("trigger"), 0);
	for (; n < 60000 && !is_there("rank0.0.tpt"); n++) {
		rig_step();
		usleep(1000);
	}
	tp_session_close("exit");
	cr_expect_not_null(strstr(window_of(0, 0)->meta, "opened_why=memory of the process reached 1 MiB\n"));
}

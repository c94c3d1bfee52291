/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trigger.c - a signal to one rank: which steps the ranks record then, and what becomes of the
 * program's own handler of that signal
 *
 * Ranks are children of fork that step until they are told to stop.
 */
#include <criterion/criterion.h>

#include <signal.h>
#include <sys/wait.h>

#include "runtime/base/log.h"
#include "runtime/engine/trigger/request.h"
#include "runtime/engine/trigger/trigger.h"
#include "tests/unit/session_rig.h"

TestSuite(trigger, .init = rig_set_up, .fini = rig_tear_down, .timeout = 120);

enum { RANKS = 3, STEP_US = 1000 };

static struct {
	uint64_t steps[RANKS];
	uint32_t n_ranks, is_over;
} *shared;

static void set_number(const char *name, int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", value);
	setenv(name, text, 1);
}

static void choose(uint32_t steps, uint32_t ahead)
{
	rig_config.trigger = (struct tp_trigger_spec){.signal = SIGUSR2, .steps = steps, .ahead = ahead,
						     .has_control = true};
	if (!shared)
		shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* As a collective does: nobody is more than a step ahead. */
static bool is_ahead(uint64_t step)
{
	for (uint32_t i = 0; i < shared->n_ranks; i++)
		if (__atomic_load_n(&shared->steps[i], __ATOMIC_ACQUIRE) < step &&
		    !__atomic_load_n(&shared->is_over, __ATOMIC_ACQUIRE))
			return true;
	return false;
}

/* A rank that trains until it is told to stop; every `slow`th of its steps takes longer. */
static pid_t start_rank(int rank, const char *schedule, uint32_t slow)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	set_number("RANK", rank);
	set_number("WORLD_SIZE", RANKS);
	set_number("LOCAL_WORLD_SIZE", RANKS);
	if (rig_open(schedule))
		_exit(2);
	for (uint64_t step = 0; !__atomic_load_n(&shared->is_over, __ATOMIC_ACQUIRE); step++) {
		while (is_ahead(step))
			usleep(100);
		rig_step();
		__atomic_store_n(&shared->steps[rank], step + 1, __ATOMIC_RELEASE);
		usleep(slow && step % slow == 0 ? 20 * STEP_US : STEP_US);
	}
	tp_session_close("exit");
	_exit(0);
}

static bool await_steps(int rank, uint64_t n)
{
	for (int i = 0; i < 60000; i++) {
		if (__atomic_load_n(&shared->steps[rank], __ATOMIC_ACQUIRE) >= n)
			return true;
		usleep(1000);
	}
	return false;
}

static bool await_file(const char *name)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/%s", rig_config.dir, name);
	for (int i = 0; i < 60000; i++) {
		if (!access(path, F_OK))
			return true;
		usleep(1000);
	}
	return false;
}

static bool is_there(const char *name)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/%s", rig_config.dir, name);
	return !access(path, F_OK);
}

static void stop(const pid_t *pid, int n)
{
	__atomic_store_n(&shared->is_over, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < n; i++) {
		int status;

		waitpid(pid[i], &status, 0);
		cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "rank %d: %x", i, status);
	}
}

static const struct rig_trace *window_of(int rank, int window)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/rank%d.%d.tpt", rig_config.dir, rank, window);
	return rig_read_trace(path, UINT64_MAX);
}

static void propose(const char *name, const char *text)
{
	char path[600], draft[610];
	FILE *file;

	mkdir(rig_config.dir, 0755);
	snprintf(path, sizeof(path), "%s/%s", rig_config.dir, name);
	snprintf(draft, sizeof(draft), "%s.draft", path);
	file = fopen(draft, "w");
	cr_assert_not_null(file);
	fputs(text, file);
	fclose(file);
	/* Whole, as a rank's: an empty one is passed over for good. */
	cr_assert_eq(rename(draft, path), 0);
}

/* ---- windows ---- */

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
	propose("trigger.0", text);
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
	propose("trigger.0", text);
	snprintf(text, sizeof(text), "trainprof trigger 6 100000000 1 %lu 77\n", tp_clock_real_ns());
	propose("trigger.1", text);
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
	propose("trigger.0", "trainprof trigger 50 60 1 1234567890 77\n");
	propose("trigger.1", "");
	propose("trigger.2", "trainprof trigger 50 40 1 99999999999999999999 77\n");
	propose("trigger.restart1.0", "trainprof trigger 50 60 1 18000000000000000000 77\n");
	pid[0] = start_rank(0, "trigger", 0);
	cr_assert(await_steps(0, 100));
	kill(pid[0], SIGUSR2);
	cr_assert(await_file("rank0.0.tpt"));
	stop(pid, 1);
	cr_expect(is_there("trigger.3"));
	cr_expect_eq(rig_total(window_of(0, 0), "steps"), 2);
	cr_expect_eq(rig_total(window_of(0, 0), "trigger.windows"), 1);
}

/* ---- requests ---- */

static void ask(const char *id, const char *command, mode_t mode)
{
	char path[600], draft[610];
	FILE *file;

	mkdir(rig_config.dir, 0755);
	snprintf(path, sizeof(path), "%s/control", rig_config.dir);
	snprintf(draft, sizeof(draft), "%s.draft", path);
	file = fopen(draft, "w");
	cr_assert_not_null(file);
	fprintf(file, "trainprof control %s %s\n", id, command);
	fclose(file);
	chmod(draft, mode);
	cr_assert_eq(rename(draft, path), 0);
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

Test(trigger, opens_the_window_of_a_request_on_all_ranks_and_one_of_them_answers)
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

Test(trigger, stops_the_schedule_for_a_request_on_all_ranks_at_the_same_step)
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

Test(trigger, says_why_a_request_is_not_followed)
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

Test(trigger, takes_no_request_that_others_may_have_written)
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

Test(trigger, opens_a_window_for_a_slow_step_and_no_more_than_the_limit)
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

Test(trigger, opens_a_window_when_memory_reaches_its_limit)
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

/* ---- the program's own handler ---- */

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

Test(trigger, calls_the_handler_that_was_there_and_gives_it_back)
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

Test(trigger, comes_before_a_handler_that_was_installed_later)
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

Test(trigger, goes_round_in_no_circle_with_a_handler_that_calls_the_one_before)
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

Test(trigger, takes_a_signal_that_would_have_killed_and_leaves_children_alone)
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

Test(trigger, does_not_end_a_launcher)
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.c - messages are one line each and never do harm, whoever reads them or does not
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/log.h"

static int out[2];
static char got[4096];

/* Standard error becomes a pipe that we read. */
static void set_up(void)
{
	cr_assert_eq(pipe2(out, O_NONBLOCK | O_CLOEXEC), 0);
	dup2(out[1], STDERR_FILENO);
}

TestSuite(log, .init = set_up);

static const char *read_back(void)
{
	ssize_t n = read(out[0], got, sizeof(got) - 1);

	got[n > 0 ? n : 0] = '\0';
	return got;
}

Test(log, says_one_line_with_the_rank_when_it_is_known)
{
	tp_warn("cannot open '%s': %s; tracing stops", "a b", "No space left on device");
	cr_assert_str_eq(read_back(),
			 "trainprof: cannot open 'a b': No space left on device; "
			 "tracing stops\n");
	tp_log_set_rank(3);
	tp_warn("%d", 1);
	cr_assert_str_eq(read_back(), "trainprof: rank 3: 1\n");
}

Test(log, says_what_the_level_lets_through)
{
	tp_info("no");
	cr_assert_str_eq(read_back(), "");
	tp_log_set_level(TP_LOG_DEBUG);
	tp_info("a");
	tp_debug("b");
	cr_assert_str_eq(read_back(), "trainprof: a\ntrainprof: b\n");
	tp_log_set_level(TP_LOG_QUIET);
	tp_warn("no");
	tp_log(TP_LOG_QUIET, "no");
	cr_assert_str_eq(read_back(), "");
	cr_assert_eq(tp_log_level(), TP_LOG_QUIET);
}

Test(log, says_a_thing_once_for_each_place)
{
	for (int i = 0; i < 3; i++) {
		tp_warn_once("here");
		tp_warn_once("there");
	}
	cr_assert_str_eq(read_back(), "trainprof: here\ntrainprof: there\n");
}

Test(log, keeps_a_message_on_its_line_whatever_is_in_it)
{
	char word[3000];

	tp_warn("'%s'", "a\nb\x1b[31m\tc");
	cr_assert_str_eq(read_back(), "trainprof: 'a?b?[31m?c'\n");
	memset(word, 'w', sizeof(word));
	word[sizeof(word) - 1] = '\0';
	tp_warn("%s", word);
	cr_assert_str_eq(read_back() + strlen(got) - 2, "w\n");
	cr_assert_leq(strlen(got), 1024);
}

Test(log, keeps_errno)
{
	errno = ENOTTY;
	tp_warn("x");
	close(STDERR_FILENO);
	tp_warn("x");
	cr_assert_eq(errno, ENOTTY);
}

Test(log, goes_to_the_log_file_too)
{
	int file[2];

	cr_assert_eq(pipe(file), 0);
	tp_log_set_fd(file[1]);
	tp_warn("x");
	cr_assert_eq(read(file[0], got, sizeof(got)), 13);
	cr_assert_eq(memcmp(got, "trainprof: x\n", 13), 0);
}

/* A daemon closes all descriptors; then its data file has the number 2. */
Test(log, leaves_alone_what_the_program_put_in_the_place_of_standard_error)
{
	char text[256];
	struct tp_text kept;
	int file[2];

	tp_log_remember_stderr();
	tp_warn("to standard error");
	cr_assert_str_eq(read_back(), "trainprof: to standard error\n");
	cr_assert_eq(pipe2(file, O_NONBLOCK), 0);
	cr_assert_eq(dup2(file[1], STDERR_FILENO), STDERR_FILENO);
	tp_warn("not into that file");
	close(STDERR_FILENO);
	tp_warn("nor %s", "nowhere");
	cr_expect_lt(read(file[0], got, sizeof(got)), 0);
	tp_text_init(&kept, text, sizeof(text));
	tp_log_unsaid(&kept, "unsaid=");
	cr_expect_str_eq(text, "unsaid=trainprof: not into that file\n"
			       "unsaid=trainprof: nor nowhere\n");
	/* There is an end to what is kept. */
	for (int i = 0; i < 1000; i++)
		tp_warn("%d", i);
	tp_text_init(&kept, text, sizeof(text));
	tp_log_unsaid(&kept, "");
	cr_expect(kept.is_cut);
}

Test(log, holds_lines_back_until_they_can_be_written)
{
	char text[64];
	struct tp_text held;

	tp_text_init(&held, text, sizeof(text));
	tp_log_hold(&held);
	tp_warn("first");
	tp_warn("second");
	tp_warn("a third one, for which there is no room as a whole");
	tp_log_hold(NULL);
	cr_assert_str_eq(read_back(), "");
	tp_log_write_held(&held);
	cr_assert_str_eq(read_back(), "trainprof: first\ntrainprof: second\n");
}

static volatile sig_atomic_t n_signals;

static void count_signal(int signal_number)
{
	n_signals++;
}

Test(log, does_not_die_when_nobody_reads)
{
	sigset_t pending;

	signal(SIGPIPE, count_signal);
	close(out[0]);
	tp_warn("into nothing");
	sigpending(&pending);
	cr_assert_not(sigismember(&pending, SIGPIPE));
	cr_assert_eq(n_signals, 0);
	/* One that was there before stays. */
	sigset_t pipe_only;

	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	sigprocmask(SIG_BLOCK, &pipe_only, NULL);
	raise(SIGPIPE);
	tp_warn("into nothing");
	sigpending(&pending);
	cr_assert(sigismember(&pending, SIGPIPE));
}

Test(log, does_not_die_of_a_file_that_is_full_by_its_limit)
{
	struct rlimit limit = {.rlim_cur = 16, .rlim_max = RLIM_INFINITY};
	int file = memfd_create("full", 0);
	sigset_t pending;

	cr_assert_geq(file, 0);
	cr_assert_eq(pwrite(file, "0123456789abcdef", 16, 0), 16);
	lseek(file, 0, SEEK_END);
	setrlimit(RLIMIT_FSIZE, &limit);
	tp_log_set_fd(file);
	signal(SIGXFSZ, count_signal);
	tp_warn("no more");
	sigpending(&pending);
	cr_assert_not(sigismember(&pending, SIGXFSZ));
	cr_assert_eq(n_signals, 0);
}

static void *warn_when_cancelled(void *has_returned)
{
	pthread_cancel(pthread_self());
	tp_warn("x");
	*(bool *)has_returned = true;
	return NULL;
}

Test(log, is_no_place_to_be_cancelled)
{
	bool has_returned = false;
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, warn_when_cancelled, &has_returned), 0);
	pthread_join(thread, NULL);
	cr_assert(has_returned);
	cr_assert_str_eq(read_back(), "trainprof: x\n");
}

Test(log, does_not_wait_long_for_a_reader_who_sleeps, .timeout = 10)
{
	struct timespec begin, end;

	fcntl(out[1], F_SETFL, O_NONBLOCK);
	while (write(out[1], got, sizeof(got)) > 0)
		;
	fcntl(out[1], F_SETFL, 0);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	tp_warn("no room");
	clock_gettime(CLOCK_MONOTONIC, &end);
	cr_assert_lt(end.tv_sec - begin.tv_sec, 2);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* scratch.c - tests: what is made on the way is gone, also when a signal ends the program */
#include <criterion/criterion.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "merge/kit/outfile.h"
#include "merge/kit/scratch.h"

static char folder[64];

static void make_folder(void)
{
	strcpy(folder, "/tmp/trainprof-scratch.XXXXXX");
	cr_assert_not_null(mkdtemp(folder));
}

/* Empty, and gone now. */
static void expect_empty(const char *what)
{
	cr_expect_eq(rmdir(folder), 0, "%s left something in %s", what, folder);
}

static int status_of(pid_t pid)
{
	int status;

	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static void write_until(int sig)
{
	char path[128], in[140];
	struct tp_outfile *out;

	signal(sig, SIG_DFL);
	snprintf(path, sizeof(path), "%s/result.json.gz", folder);
	out = tp_outfile_open(path);
	tp_outfile_bytes(out, path, sizeof(path));
	snprintf(path, sizeof(path), "%s/work.XXXXXX", folder);
	if (tp_scratch_folder(path))
		_exit(1);
	snprintf(in, sizeof(in), "%s/a", path);
	tp_scratch_add(in);
	fclose(fopen(in, "w"));
	raise(sig);
	_exit(2);
}

Test(scratch, nothing_is_left_when_a_signal_ends_the_program, .timeout = 30)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

	for (int i = 0; i < 3; i++) {
		pid_t pid;
		int status;

		make_folder();
		pid = fork();
		if (!pid)
			write_until(signals[i]);
		status = status_of(pid);
		cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == signals[i], "status %x", status);
		expect_empty(strsignal(signals[i]));
	}
}

/* nohup */
Test(scratch, a_signal_that_is_ignored_stays_ignored, .timeout = 30)
{
	pid_t pid = fork();

	if (!pid) {
		char path[] = "/tmp/trainprof-scratch.XXXXXX";

		signal(SIGHUP, SIG_IGN);
		tp_scratch_file(path);
		raise(SIGHUP);
		_exit(unlink(path));
	}
	cr_expect_eq(status_of(pid), 0);
}

Test(scratch, what_was_forgotten_stays, .timeout = 30)
{
	char path[128];
	struct stat st;
	pid_t pid;

	make_folder();
	snprintf(path, sizeof(path), "%s/result", folder);
	pid = fork();
	if (!pid) {
		signal(SIGTERM, SIG_DFL);
		if (tp_outfile_close(tp_outfile_open(path)))
			_exit(1);
		raise(SIGTERM);
	}
	cr_expect(WIFSIGNALED(status_of(pid)));
	cr_expect_eq(stat(path, &st), 0);
	unlink(path);
	expect_empty("a result");
}

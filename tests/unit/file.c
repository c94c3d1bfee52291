/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.c - the small file helpers, and what they answer when things are not as hoped
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/file.h"

static char dir[64] = "/tmp/trainprof-unit-XXXXXX", path[PATH_MAX + 256];

static const char *in_dir(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void set_up(void)
{
	cr_assert_not_null(mkdtemp(dir));
	errno = ENOTTY;
}

static void tear_down(void)
{
	char command[128];

	cr_assert_eq(errno, ENOTTY, "errno is the caller's");
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	cr_assert_eq(system(command), 0);
}

TestSuite(file, .init = set_up, .fini = tear_down);

static int make_file(const char *name)
{
	return open(in_dir(name), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

Test(file, reads_what_was_written)
{
	char buf[8];
	int fd = make_file("a");

	cr_assert_eq(tp_file_write_all(fd, "hello", 5), 0);
	cr_assert_eq(tp_file_read(in_dir("a"), buf, sizeof(buf)), 5);
	cr_assert_str_eq(buf, "hello");
	cr_assert_eq(tp_file_read(path, buf, 3), 3);
	cr_assert_eq(memcmp(buf, "hel", 3), 0);
	cr_assert_eq(tp_file_write_all(fd, "", 0), 0);
	close(fd);
}

Test(file, reads_files_of_the_kernel_whose_size_is_0)
{
	char buf[256];

	cr_assert_gt(tp_file_read("/proc/self/stat", buf, sizeof(buf)), 20);
}

Test(file, tells_why_it_cannot)
{
	char buf[8] = "x";

	cr_assert_eq(tp_file_read(in_dir("none"), buf, sizeof(buf)), -ENOENT);
	cr_assert_eq(tp_file_read(dir, buf, sizeof(buf)), -EISDIR);
	cr_assert_eq(tp_file_write_all(-1, "x", 1), -EBADF);
	cr_assert_eq(tp_file_rename(in_dir("none"), "/tmp/x"), -ENOENT);
}

/* What blocks, or does something, when it is opened. */
Test(file, opens_nothing_but_regular_files_and_waits_for_nobody, .timeout = 20)
{
	char buf[8];
	int fd;

	cr_assert_eq(mkfifo(in_dir("fifo"), 0600), 0);
	cr_expect_eq(tp_file_read(path, buf, sizeof(buf)), -TP_FILE_IRREGULAR);
	cr_expect_eq(tp_file_open(path, O_WRONLY, 0), -TP_FILE_IRREGULAR);
	cr_expect_eq(tp_file_open(path, O_RDWR | O_CREAT, 0600), -TP_FILE_IRREGULAR);
	cr_expect_eq(tp_file_open(path, O_WRONLY | O_CREAT | O_EXCL, 0600), -EEXIST);
	cr_expect_str_eq(tp_file_error(-TP_FILE_IRREGULAR), "not a regular file");
	cr_expect_str_eq(tp_file_error(-ENOENT), strerror(ENOENT));
	cr_expect_eq(tp_file_open("/dev/null", O_RDONLY, 0), -TP_FILE_IRREGULAR);
	cr_expect_eq(tp_file_open(dir, O_RDONLY, 0), -EISDIR);
	cr_expect_eq(tp_file_open("/proc/self/stat", O_RDONLY | O_DIRECTORY, 0), -ENOTDIR);
	close(make_file("file"));
	cr_assert_eq(symlink("file", in_dir("link")), 0);
	cr_expect_eq(tp_file_open(path, O_RDONLY | O_NOFOLLOW, 0), -ELOOP);
	fd = tp_file_open(path, O_RDONLY, 0);
	cr_assert_geq(fd, 0);
	cr_expect_neq(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
	close(fd);
	errno = ENOTTY;
}

Test(file, makes_folders_as_deep_as_needed)
{
	struct stat st;
	char deep[PATH_MAX + 10] = "";

	cr_assert_eq(tp_file_make_dirs(in_dir("a/b//c/"), 0700), 0);
	cr_assert_eq(stat(in_dir("a/b/c"), &st), 0);
	cr_assert_eq(tp_file_make_dirs(in_dir("a/b/c"), 0700), 0, "again");
	cr_assert_eq(tp_file_make_parents(in_dir("x/y/file"), 0700), 0);
	cr_assert_eq(stat(in_dir("x/y"), &st), 0);
	cr_assert_neq(access(in_dir("x/y/file"), F_OK), 0);
	errno = ENOTTY;
	cr_assert_eq(tp_file_make_parents("no-folder-in-it", 0700), 0);
	cr_assert_eq(tp_file_make_parents("/", 0700), 0);
	cr_assert_eq(tp_file_make_dirs("/", 0700), 0);
	cr_assert_eq(tp_file_make_dirs("", 0700), -ENOENT);
	close(make_file("plain"));
	cr_assert_eq(tp_file_make_dirs(in_dir("plain"), 0700), -ENOTDIR);
	cr_assert_eq(tp_file_make_dirs(in_dir("plain/x"), 0700), -ENOTDIR);
	cr_assert_eq(tp_file_make_dirs("/proc/none/at/all", 0700), -ENOENT);
	memset(deep, 'd', sizeof(deep) - 1);
	cr_assert_eq(tp_file_make_dirs(deep, 0700), -ENAMETOOLONG);
}

Test(file, renames_over_what_is_there)
{
	char old[256], buf[4];
	int fd = make_file("old");

	cr_assert_eq(tp_file_write_all(fd, "new", 3), 0);
	close(fd);
	close(make_file("final"));
	strcpy(old, in_dir("old"));
	cr_assert_eq(tp_file_rename(old, in_dir("final")), 0);
	cr_assert_eq(tp_file_read(path, buf, sizeof(buf)), 3);
}

static void ignore_signal(int signal_number)
{
}

/* The pipe is full: the first signal ends a write half done, the second one not begun. Then
 * somebody reads. */
Test(file, writes_on_when_it_is_interrupted_or_taken_in_pieces, .timeout = 20)
{
	enum { N = 300000 };
	static char out[N];
	struct sigaction action = {.sa_handler = ignore_signal};
	int pipe_fd[2], status;
	pid_t parent = getpid(), child;

	sigaction(SIGUSR1, &action, NULL);
	cr_assert_eq(pipe(pipe_fd), 0);
	child = fork();
	if (!child) {
		char in[7000];
		size_t sum = 0;
		ssize_t n;

		close(pipe_fd[1]);
		for (int i = 0; i < 3; i++) {
			usleep(30000);
			kill(parent, SIGUSR1);
		}
		while ((n = read(pipe_fd[0], in, sizeof(in))) > 0)
			sum += (size_t)n;
		_exit(sum == N ? 0 : 1);
	}
	close(pipe_fd[0]);
	cr_assert_eq(tp_file_write_all(pipe_fd[1], out, N), 0);
	close(pipe_fd[1]);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	cr_assert_eq(status, 0);
	errno = ENOTTY;
}

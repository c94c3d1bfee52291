/* SPDX-License-Identifier: Apache-2.0 */
/* A descriptor table of our own, in a program that closes what it does not know. */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/log.h"
#include "runtime/base/own_fd.h"
#include "runtime/base/own_table.h"

static char path[] = "/tmp/trainprof-own-table.XXXXXX";

static void set_up(void)
{
	close(mkstemp(path));
}

static void tear_down(void)
{
	tp_own_table_stop();
	unlink(path);
}

TestSuite(own_table, .init = set_up, .fini = tear_down);

static int put(const struct tp_own_fd *own, const char *text, uint64_t at)
{
	struct iovec part = {(char *)text, strlen(text)};

	return tp_own_fd_write(own, &part, 1, at);
}

static uint32_t count_open(void)
{
	uint32_t n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

Test(own_table, what_is_open_there_is_no_number_of_the_program)
{
	uint32_t n_before = count_open();
	struct tp_own_fd own;

	cr_assert_eq(tp_own_table_start(), 0);
	cr_assert_neq(tp_own_table_id(), 0);
	cr_assert_eq(tp_own_fd_open(&own, path, O_RDWR, 0), 0);
	cr_expect_eq(count_open(), n_before);
	cr_expect_lt(fcntl(own.fd, F_GETFD), 0);
	cr_expect(tp_own_fd_is_ours(&own));
}

Test(own_table, a_program_that_closes_everything_closes_nothing_there)
{
	struct tp_own_fd own;
	char text[8] = "";
	int theirs;

	cr_assert_eq(tp_own_table_start(), 0);
	cr_assert_eq(tp_own_fd_open(&own, path, O_RDWR, 0), 0);
	cr_expect_eq(put(&own, "one ", 0), 0);
	/* It has a file of its own at our number. */
	theirs = open("/dev/zero", O_RDWR);
	cr_assert_eq(dup2(theirs, own.fd), own.fd);
	cr_expect_eq(put(&own, "two", 4), 0);
	close(own.fd);
	cr_expect_eq(tp_own_fd_read(&own, text, sizeof(text), 0), 7);
	cr_expect_str_eq(text, "one two");
	cr_assert_eq(dup2(theirs, own.fd), own.fd);
	cr_expect_eq(tp_own_fd_close(&own), 0);
	cr_expect_geq(fcntl(dup2(theirs, own.fd + 301), F_GETFD), 0);
}

/* Who waits for the end of a pipe waits until the last copy of its other end is closed. */
Test(own_table, keeps_no_pipe_of_the_program_open, .timeout = 20)
{
	int pipe_fd[2];
	char c;

	cr_assert_eq(pipe(pipe_fd), 0);
	cr_assert_eq(dup2(pipe_fd[1], 500), 500);
	cr_assert_eq(tp_own_table_start(), 0);
	close(pipe_fd[1]);
	close(500);
	cr_expect_eq(read(pipe_fd[0], &c, 1), 0);
}

Test(own_table, a_child_of_fork_has_none_of_it)
{
	struct tp_own_fd own;
	int status;
	pid_t pid;

	cr_assert_eq(tp_own_table_start(), 0);
	cr_assert_eq(tp_own_fd_open(&own, path, O_RDWR, 0), 0);
	pid = fork();
	if (!pid) {
		bool is_good;

		tp_own_table_forked();
		is_good = !tp_own_fd_is_ours(&own) && put(&own, "child", 0) == -EBADF &&
			  !tp_own_fd_close(&own) && !tp_own_table_start() &&
			  !tp_own_fd_open(&own, path, O_RDWR, 0) && !put(&own, "child", 0);
		tp_own_table_stop();
		_exit(!is_good);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect_eq(status, 0);
	cr_expect_eq(put(&own, "par", 0), 0);
}

Test(own_table, nothing_is_open_once_it_has_ended)
{
	struct tp_own_fd own;

	cr_assert_eq(tp_own_table_start(), 0);
	cr_assert_eq(tp_own_fd_open(&own, path, O_RDWR, 0), 0);
	tp_own_table_stop();
	cr_expect_eq(tp_own_table_id(), 0);
	cr_expect_eq(put(&own, "text", 0), -EBADF);
	cr_assert_eq(tp_own_table_start(), 0);
	cr_expect_eq(put(&own, "text", 0), -EBADF, "of the table before");
}

static int measure(void *arg)
{
	return (int)strlen(arg);
}

static int say_and_nest(void *arg)
{
	tp_warn("said %s", (const char *)arg);
	return tp_own_table_call(measure, arg);
}

/* Descriptor 2 is another one there, or a file of ours. */
Test(own_table, a_message_of_a_call_is_its_callers)
{
	int pipe_fd[2];
	char text[64] = "", word[] = "there";

	cr_assert_eq(pipe(pipe_fd), 0);
	dup2(pipe_fd[1], STDERR_FILENO);
	cr_assert_eq(tp_own_table_start(), 0);
	cr_expect_eq(tp_own_table_call(say_and_nest, word), 5);
	cr_expect_gt(read(pipe_fd[0], text, sizeof(text) - 1), 0);
	cr_expect_str_eq(text, "trainprof: said there\n");
}

static void *keep_calling(void *arg)
{
	for (int i = 0; i < 2000; i++)
		if (tp_own_table_call(measure, arg) != measure(arg))
			return arg;
	return NULL;
}

Test(own_table, each_caller_gets_its_own_answer)
{
	static char word[4][4] = {"", "a", "bb", "ccc"};
	pthread_t thread[4];
	void *wrong;

	cr_assert_eq(tp_own_table_start(), 0);
	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, keep_calling, word[i]);
	for (int i = 0; i < 4; i++) {
		pthread_join(thread[i], &wrong);
		cr_expect_null(wrong);
	}
}

/* Answers `error` to system call `number` from here on. */
static void refuse(uint32_t number, uint32_t error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	cr_assert_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	cr_assert_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/* As before Linux 5.9: the table is copied, then emptied. */
Test(own_table, empties_a_copied_table_where_that_is_all_there_is, .timeout = 20)
{
	struct tp_own_fd own;
	int pipe_fd[2];
	char c;

	cr_assert_eq(pipe(pipe_fd), 0);
	cr_assert_eq(dup2(pipe_fd[1], 500), 500);
	refuse(SYS_close_range, ENOSYS);
	cr_assert_eq(tp_own_table_start(), 0);
	cr_assert_neq(tp_own_table_id(), 0);
	close(pipe_fd[1]);
	close(500);
	cr_expect_eq(read(pipe_fd[0], &c, 1), 0);
	cr_assert_eq(tp_own_fd_open(&own, path, O_RDWR, 0), 0);
	cr_expect_lt(fcntl(own.fd, F_GETFD), 0);
}

Test(own_table, does_without_where_a_sandbox_refuses)
{
	struct tp_own_fd own;

	refuse(SYS_close_range, EPERM);
	refuse(SYS_unshare, EPERM);
	cr_expect_eq(tp_own_table_start(), -EPERM);
	cr_expect_eq(tp_own_table_id(), 0);
	cr_assert_eq(tp_own_fd_open(&own, path, O_RDWR, 0), 0);
	cr_expect_geq(fcntl(own.fd, F_GETFD), 0);
	cr_expect_eq(put(&own, "text", 0), 0);
}

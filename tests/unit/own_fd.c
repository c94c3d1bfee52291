/* SPDX-License-Identifier: Apache-2.0 */
/* Kept descriptors, in a program that does not know of them. */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/base/own_fd.h"

Test(own_fd, lies_high_and_leaves_the_lowest_to_the_program)
{
	struct tp_own_fd own;
	int low = open("/dev/null", O_RDONLY), next;

	close(low);
	cr_assert_eq(tp_own_fd_open(&own, "/dev/null", O_RDONLY, 0), 0);
	cr_expect_geq(own.fd, 300);
	cr_expect_neq(fcntl(own.fd, F_GETFD) & FD_CLOEXEC, 0);
	next = open("/dev/null", O_RDONLY);
	cr_expect_eq(next, low);
	cr_expect(tp_own_fd_is_ours(&own));
	cr_expect_eq(tp_own_fd_close(&own), 0);
	cr_expect_eq(own.fd, -1);
	cr_expect_not(tp_own_fd_is_ours(&own));
}

Test(own_fd, notices_that_the_program_closed_it)
{
	struct tp_own_fd own;

	cr_assert_eq(tp_own_fd_open(&own, "/dev/null", O_RDONLY, 0), 0);
	close(own.fd);
	cr_expect_not(tp_own_fd_is_ours(&own));
	cr_expect_eq(tp_own_fd_close(&own), 0);
}

Test(own_fd, leaves_alone_what_the_program_put_in_its_place)
{
	struct tp_own_fd own;
	int theirs = open("/dev/zero", O_RDONLY);

	cr_assert_eq(tp_own_fd_open(&own, "/dev/null", O_RDONLY, 0), 0);
	theirs = dup2(theirs, own.fd);
	cr_expect_not(tp_own_fd_is_ours(&own));
	tp_own_fd_close(&own);
	cr_expect_geq(fcntl(theirs, F_GETFD), 0);
}

Test(own_fd, stays_low_where_the_limit_is)
{
	struct rlimit limit = { 100, 100 };
	struct tp_own_fd own;

	setrlimit(RLIMIT_NOFILE, &limit);
	cr_assert_eq(tp_own_fd_open(&own, "/dev/null", O_RDONLY, 0), 0);
	cr_expect(own.fd >= 0 && own.fd < 100);
	cr_expect(tp_own_fd_is_ours(&own));
}

Test(own_fd, says_why_it_cannot)
{
	struct tp_own_fd own;

	cr_expect_eq(tp_own_fd_open(&own, "/no/such/file", O_RDONLY, 0), -ENOENT);
	cr_expect_eq(own.fd, -1);
	cr_expect_eq(tp_own_fd_close(&own), 0);
}

Test(own_fd, opens_the_same_file_again_and_no_other)
{
	char path[] = "/tmp/trainprof-own-fd.XXXXXX";
	struct tp_own_fd own;
	char text[8] = "";

	close(mkstemp(path));
	cr_assert_eq(tp_own_fd_open(&own, path, O_RDWR, 0), 0);
	cr_assert_eq(write(own.fd, "kept", 4), 4);
	close(own.fd);
	cr_assert_eq(tp_own_fd_reopen(&own, path, O_RDWR | O_TRUNC), 0);
	cr_expect_eq(pread(own.fd, text, 8, 0), 4);
	/* A removed file keeps its number as long as somebody has it open. */
	int theirs = dup(own.fd);
	close(own.fd);
	unlink(path);
	cr_expect_eq(tp_own_fd_reopen(&own, path, O_RDWR), -ENOENT);
	close(open(path, O_RDWR | O_CREAT, 0600));
	cr_assert_eq(tp_own_fd_open(&own, "/dev/null", O_RDWR, 0), 0);
	cr_expect_eq(tp_own_fd_reopen(&own, path, O_RDWR), -ESTALE);
	cr_expect_eq(own.fd, -1);
	close(theirs);
	unlink(path);
}

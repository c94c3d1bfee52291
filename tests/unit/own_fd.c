/* SPDX-License-Identifier: Apache-2.0 */
/* Kept descriptors, in a program that does not know of them; where there is no table of our own. */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/base/own_fd.h"

static char path[] = "/tmp/trainprof-own-fd.XXXXXX";

static void set_up(void)
{
	close(mkstemp(path));
}

static void tear_down(void)
{
	unlink(path);
}

TestSuite(own_fd, .init = set_up, .fini = tear_down);

static int put(const struct tp_own_fd *own, const char *text, uint64_t at)
{
	struct iovec part[3] = {{(char *)text, 2}, {NULL, 0}, {(char *)text + 2, strlen(text) - 2}};

	return tp_own_fd_write(own, part, 3, at);
}

Test(own_fd, lies_high_and_leaves_the_lowest_to_the_program)
{
	struct tp_own_fd own;
	int low = open("/dev/null", O_RDONLY), next;

	close(low);
	cr_assert_eq(tp_own_fd_open(&own, path, O_RDONLY, 0), 0);
	cr_expect_geq(own.fd, 300);
	cr_expect_neq(fcntl(own.fd, F_GETFD) & FD_CLOEXEC, 0);
	next = open("/dev/null", O_RDONLY);
	cr_expect_eq(next, low);
	cr_expect(tp_own_fd_is_ours(&own));
	cr_expect_eq(tp_own_fd_close(&own), 0);
	cr_expect_eq(own.fd, -1);
	cr_expect_not(tp_own_fd_is_ours(&own));
}

Test(own_fd, writes_all_parts_where_they_belong_and_reads_them)
{
	struct tp_own_fd own;
	struct stat st;
	char text[16] = "";

	cr_assert_eq(tp_own_fd_open(&own, path, O_RDWR, 0), 0);
	cr_expect_eq(put(&own, "whole", 3), 0);
	cr_expect_eq(tp_own_fd_read(&own, text, sizeof(text), 3), 5);
	cr_expect_str_eq(text, "whole");
	cr_expect_eq(tp_own_fd_stat(&own, &st), 0);
	cr_expect_eq(st.st_size, 8);
	cr_expect(tp_own_fd_is_file(&own, &st));
	cr_expect_eq(tp_own_fd_truncate(&own, 5), 0);
	cr_expect_eq(tp_own_fd_read(&own, text, sizeof(text), 3), 2);
	tp_own_fd_close(&own);
}

Test(own_fd, notices_that_the_program_closed_it)
{
	struct tp_own_fd own;
	struct stat st;
	char text[4];

	cr_assert_eq(tp_own_fd_open(&own, path, O_RDWR, 0), 0);
	close(own.fd);
	cr_expect_not(tp_own_fd_is_ours(&own));
	cr_expect_eq(put(&own, "text", 0), -EBADF);
	cr_expect_eq(tp_own_fd_read(&own, text, 4, 0), -EBADF);
	cr_expect_eq(tp_own_fd_truncate(&own, 0), -EBADF);
	cr_expect_eq(tp_own_fd_stat(&own, &st), -EBADF);
	cr_expect_eq(tp_own_fd_close(&own), 0);
}

Test(own_fd, leaves_alone_what_the_program_put_in_its_place)
{
	char theirs_path[] = "/tmp/trainprof-own-fd-theirs.XXXXXX", text[8] = "";
	int theirs = mkstemp(theirs_path);
	struct tp_own_fd own;

	cr_assert_eq(write(theirs, "theirs", 6), 6);
	cr_assert_eq(tp_own_fd_open(&own, path, O_RDWR, 0), 0);
	theirs = dup2(theirs, own.fd);
	cr_expect_not(tp_own_fd_is_ours(&own));
	cr_expect_eq(put(&own, "ours", 0), -EBADF);
	cr_expect_eq(tp_own_fd_truncate(&own, 0), -EBADF);
	tp_own_fd_close(&own);
	cr_expect_geq(fcntl(theirs, F_GETFD), 0);
	cr_expect_eq(pread(theirs, text, 8, 0), 6);
	cr_expect_str_eq(text, "theirs");
	unlink(theirs_path);
}

Test(own_fd, stays_low_where_the_limit_is)
{
	struct rlimit limit = { 100, 100 };
	struct tp_own_fd own;

	setrlimit(RLIMIT_NOFILE, &limit);
	cr_assert_eq(tp_own_fd_open(&own, path, O_RDONLY, 0), 0);
	cr_expect(own.fd >= 0 && own.fd < 100);
	cr_expect(tp_own_fd_is_ours(&own));
}

Test(own_fd, says_why_it_cannot)
{
	struct tp_own_fd own;

	cr_expect_eq(tp_own_fd_open(&own, "/no/such/file", O_RDONLY, 0), -ENOENT);
	cr_expect_eq(own.fd, -1);
	cr_expect_eq(tp_own_fd_close(&own), 0);
	cr_expect_eq(tp_own_fd_open(&own, "/dev/null", O_RDWR, 0), -TP_FILE_IRREGULAR);
	cr_expect_eq(tp_own_fd_open(&own, path, O_RDONLY, 0), 0);
	cr_expect_eq(put(&own, "text", 0), -EBADF, "not open for writing");
}

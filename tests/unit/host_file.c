/* SPDX-License-Identifier: Apache-2.0 */
/* Files of /proc that are read again and again. */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "runtime/probe/host/host_file.h"

static char text[1 << 16];

Test(host_file, reads_the_present_text_each_time)
{
	struct tp_host_file file = { "/proc/self/comm", { .fd = -1 } };
	int fd = open("/proc/self/comm", O_WRONLY);

	cr_assert_gt(tp_host_file_read(&file, text, sizeof(text)), 0);
	cr_assert_eq(write(fd, "renamed", 7), 7);
	cr_expect_eq(tp_host_file_read(&file, text, sizeof(text)), 8);
	cr_expect(!memcmp(text, "renamed\n", 8));
	cr_expect_eq(tp_host_file_read(&file, text, 3), 3);
}

Test(host_file, opens_again_what_the_program_closed_or_took)
{
	struct tp_host_file file = { "/proc/meminfo", { .fd = -1 } };
	int theirs = open("/dev/zero", O_RDONLY);

	cr_assert_gt(tp_host_file_read(&file, text, sizeof(text)), 20);
	close(file.own.fd);
	cr_assert_gt(tp_host_file_read(&file, text, sizeof(text)), 20);
	cr_expect(!memcmp(text, "MemTotal", 8));
	theirs = dup2(theirs, file.own.fd);
	cr_assert_gt(tp_host_file_read(&file, text, sizeof(text)), 20);
	cr_expect(!memcmp(text, "MemTotal", 8));
	cr_expect_geq(fcntl(theirs, F_GETFD), 0);
}

Test(host_file, says_why_it_cannot)
{
	struct tp_host_file file = { "/proc/no such file", { .fd = -1 } };

	cr_expect_eq(tp_host_file_read(&file, text, sizeof(text)), -ENOENT);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Kept descriptors, in a program that does not know of them. */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "runtime/probe/host_file.h"

static char text[1 << 16];

Test(host_file, reads_again_and_again_from_a_high_descriptor)
{
	struct tp_host_file file = { "/proc/self/stat", -1, 0, 0 };
	int low = open("/dev/null", O_RDONLY), next;

	close(low);
	for (int i = 0; i < 3; i++)
		cr_assert_gt(tp_host_file_read(&file, text, sizeof(text)), 20);
	cr_expect_geq(file.fd, 300);
	cr_expect_neq(fcntl(file.fd, F_GETFD) & FD_CLOEXEC, 0);
	next = open("/dev/null", O_RDONLY);
	cr_expect_eq(next, low, "the lowest descriptor is the program's");
	tp_host_file_close(&file);
	cr_expect_eq(file.fd, -1);
}

Test(host_file, opens_again_what_the_program_closed)
{
	struct tp_host_file file = { "/proc/meminfo", -1, 0, 0 };

	cr_assert_gt(tp_host_file_read(&file, text, sizeof(text)), 20);
	close(file.fd);
	cr_assert_gt(tp_host_file_read(&file, text, sizeof(text)), 20);
	cr_expect(!memcmp(text, "MemTotal", 8));
	tp_host_file_close(&file);
}

Test(host_file, leaves_alone_what_the_program_put_in_its_place)
{
	struct tp_host_file file = { "/proc/meminfo", -1, 0, 0 };
	int theirs;

	cr_assert_gt(tp_host_file_read(&file, text, sizeof(text)), 20);
	theirs = open("/dev/null", O_RDONLY);
	theirs = dup2(theirs, file.fd);
	cr_assert_gt(tp_host_file_read(&file, text, sizeof(text)), 20);
	cr_expect(!memcmp(text, "MemTotal", 8));
	cr_expect_neq(file.fd, theirs);
	dup2(theirs, file.fd);
	tp_host_file_close(&file);
	cr_expect_geq(fcntl(theirs, F_GETFD), 0);
}

Test(host_file, says_why_it_cannot)
{
	struct tp_host_file file = { "/proc/no such file", -1, 0, 0 };

	cr_expect_eq(tp_host_file_read(&file, text, sizeof(text)), -ENOENT);
	tp_host_file_close(&file);
}

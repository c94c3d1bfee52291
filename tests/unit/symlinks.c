/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symlinks.c - what names lead to, and whose links may lead there
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "merge/kit/symlinks.h"

enum { ALICE = 4001, BOB = 4002 };

static char top[64];

/* `to` begins with '/': in the folder of the test all the same, but said whole. */
static void make_link(const char *to, const char *name, uid_t owner)
{
	char target[512];

	snprintf(target, sizeof(target), "%s%s", to[0] == '/' ? top : "", to);
	cr_assert_eq(symlink(target, name), 0);
	if (!geteuid())
		cr_assert_eq(lchown(name, owner, owner), 0);
}

static void make_file(const char *name, uid_t owner)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	cr_assert_geq(fd, 0);
	if (!geteuid())
		cr_assert_eq(fchown(fd, owner, owner), 0);
	close(fd);
}

static void set_up(void)
{
	snprintf(top, sizeof(top), "/tmp/symlinks.XXXXXX");
	cr_assert(mkdtemp(top));
	cr_assert_eq(chdir(top), 0);
	cr_assert_eq(mkdir("in", 0755), 0);
	make_file("file", geteuid());
	make_file("in/file", geteuid());
}

static void tear_down(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", top);
	cr_assert_eq(system(command), 0);
}

TestSuite(symlinks, .init = set_up, .fini = tear_down);

/* 0: it leads to the file `wanted`; or the error. */
static int follow_to(int folder, const char *name, const char *wanted)
{
	struct stat st, is = {0};
	int place = tp_symlinks_follow(folder, name, &st);

	if (place < 0)
		return place;
	cr_assert_eq(stat(wanted, &is), 0);
	cr_assert(is.st_dev == st.st_dev && is.st_ino == st.st_ino, "%s leads not to %s", name, wanted);
	cr_assert_eq(fstat(place, &is), 0);
	cr_assert_eq(is.st_ino, st.st_ino);
	cr_assert_eq(fcntl(place, F_GETFL) & O_PATH, O_PATH);
	close(place);
	return 0;
}

Test(symlinks, lead_where_the_kernel_says)
{
	int in = open("in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char path[128];

	make_link("file", "one", 0);
	make_link("in/../one", "two", 0);
	make_link("/two", "three", 0);
	make_link("in", "folder", 0);
	make_link("folder//file", "four", 0);
	make_link("file", "in/beside", 0);
	make_link("../three", "in/above", 0);
	snprintf(path, sizeof(path), "%s/in/above", top);
	cr_assert_eq(follow_to(AT_FDCWD, "file", "file"), 0);
	cr_assert_eq(follow_to(AT_FDCWD, "one", "file"), 0);
	cr_assert_eq(follow_to(AT_FDCWD, "three", "file"), 0);
	cr_assert_eq(follow_to(AT_FDCWD, "four", "in/file"), 0);
	cr_assert_eq(follow_to(AT_FDCWD, "folder/beside", "in/file"), 0);
	cr_assert_eq(follow_to(AT_FDCWD, path, "file"), 0);
	cr_assert_eq(follow_to(in, "beside", "in/file"), 0);
	cr_assert_eq(follow_to(in, "above", "file"), 0);
	cr_assert_eq(follow_to(in, "../folder", "in"), 0);
	close(in);
}

Test(symlinks, that_lead_nowhere_are_errors)
{
	char far_down[301] = {0};

	memset(far_down, 'a', 300);
	make_link("gone", "nowhere", 0);
	make_link("file/file", "through", 0);
	make_link("round", "around", 0);
	make_link("around", "round", 0);
	make_link(far_down, "long", 0);
	cr_assert_eq(follow_to(AT_FDCWD, "gone", "file"), -ENOENT);
	cr_assert_eq(follow_to(AT_FDCWD, "nowhere", "file"), -ENOENT);
	cr_assert_eq(follow_to(AT_FDCWD, "through", "file"), -ENOTDIR);
	cr_assert_eq(follow_to(AT_FDCWD, "round", "file"), -ELOOP);
	cr_assert_eq(follow_to(AT_FDCWD, "long", "file"), -ENAMETOOLONG);
}

Test(symlinks, of_a_user_lead_to_what_that_one_has)
{
	if (geteuid())
		cr_skip_test("only root can make links of others");
	make_file("alice's", ALICE);
	make_link("alice's", "hers", ALICE);
	make_link("file", "hers_to_root's", ALICE);
	make_link("alice's", "bob's_to_hers", BOB);
	make_link("alice's", "root's", 0);
	make_link("hers", "root's_by_hers", 0);
	make_link("hers_to_root's", "root's_by_a_trap", 0);
	make_link("hers", "bob's_by_hers", BOB);
	make_link("in", "hers_folder", ALICE);
	make_link("hers_folder/file", "root's_by_her_folder", 0);
	cr_assert_eq(follow_to(AT_FDCWD, "hers", "alice's"), 0);
	cr_assert_eq(follow_to(AT_FDCWD, "root's", "alice's"), 0);
	cr_assert_eq(follow_to(AT_FDCWD, "root's_by_hers", "alice's"), 0);
	cr_assert_eq(follow_to(AT_FDCWD, "hers_to_root's", "file"), -EPERM);
	cr_assert_eq(follow_to(AT_FDCWD, "bob's_to_hers", "alice's"), -EPERM);
	cr_assert_eq(follow_to(AT_FDCWD, "root's_by_a_trap", "file"), -EPERM);
	cr_assert_eq(follow_to(AT_FDCWD, "bob's_by_hers", "alice's"), -EPERM);
	cr_assert_eq(follow_to(AT_FDCWD, "root's_by_her_folder", "in/file"), -EPERM);
	/* The folder in the name itself is the caller's word. */
	cr_assert_eq(follow_to(AT_FDCWD, "hers_folder/file", "in/file"), 0);
}

/* What is appended by a name is in the file `wanted` then, which has `n` bytes; or the error. */
static int append_to(const char *name, const char *wanted, off_t n)
{
	int fd = tp_symlinks_append(name);
	struct stat st;

	if (fd < 0)
		return fd;
	cr_assert_eq(write(fd, "line\n", 5), 5);
	close(fd);
	cr_assert_eq(stat(wanted, &st), 0);
	cr_expect_eq(st.st_size, n, "%s: %ld bytes", name, (long)st.st_size);
	return 0;
}

Test(symlinks, are_appended_through_where_they_may_lead)
{
	char path[64];
	int ends[2];

	make_link("in/file", "own", geteuid());
	make_link("made", "to-nothing", geteuid());
	cr_expect_eq(append_to("new", "new", 5), 0);
	cr_expect_eq(append_to("new", "new", 10), 0);
	cr_expect_eq(append_to("own", "in/file", 5), 0);
	cr_expect_eq(append_to("to-nothing", "made", 5), 0);
	cr_expect_eq(append_to("nowhere/new", "new", 0), -ENOENT);
	/* A link of /proc, to what has no name. */
	cr_assert_eq(pipe(ends), 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", ends[1]);
	cr_expect_eq(append_to(path, "new", 10), 0);
	if (geteuid())
		cr_skip_test("only root can have links of others");
	make_file("alices", ALICE);
	make_link("in/file", "alice-to-root", ALICE);
	make_link("alices", "alice-to-alice", ALICE);
	make_link("nothing", "alice-to-nothing", ALICE);
	cr_expect_eq(append_to("alice-to-root", "in/file", 5), -EPERM);
	cr_expect_eq(append_to("alice-to-alice", "alices", 5), 0);
	cr_expect_eq(append_to("alice-to-nothing", "alices", 5), -ENOENT);
}

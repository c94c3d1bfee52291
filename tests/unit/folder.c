/* SPDX-License-Identifier: Apache-2.0 */
/* Files in a folder in which somebody else changes names, at the worst moments. */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/folder.h"

static char top[] = "/tmp/trainprof-folder.XXXXXX", path[400], other[400];
static struct tp_folder folder;

static const char *at(const char *name)
{
	snprintf(path, sizeof(path), "%s/run/%s", top, name);
	return path;
}

/* Where nothing may happen. */
static const char *outside(const char *name)
{
	snprintf(other, sizeof(other), "%s/outside/%s", top, name);
	return other;
}

static void set_up(void)
{
	cr_assert_not_null(mkdtemp(top));
	mkdir(outside(""), 0700);
	mkdir(at(""), 0700);
	close(open(outside("victim"), O_WRONLY | O_CREAT, 0600));
	snprintf(other, sizeof(other), "%s/run/", top);
	cr_assert_eq(tp_folder_open(&folder, other), 0);
}

static void tear_down(void)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	cr_assert_eq(system(command), 0);
}

TestSuite(folder, .init = set_up, .fini = tear_down);

static bool is_there(const char *name)
{
	return !access(name, F_OK);
}

Test(folder, makes_files_and_only_new_ones)
{
	struct tp_own_fd own;

	cr_expect_eq(tp_folder_create(&folder, at("a"), O_WRONLY, 0600, &own), 0);
	tp_own_fd_close(&own);
	cr_expect_eq(tp_folder_create(&folder, at("a"), O_WRONLY, 0600, &own), -EEXIST);
	cr_expect_eq(own.fd, -1);
	cr_assert_eq(symlink(outside("new"), at("link")), 0);
	cr_expect_eq(tp_folder_create(&folder, at("link"), O_WRONLY, 0600, &own), -EEXIST);
	cr_expect_not(is_there(outside("new")));
	cr_expect_eq(tp_folder_open_file(&folder, at("a"), O_RDONLY, &own), 0);
	tp_own_fd_close(&own);
}

Test(folder, follows_no_link_at_the_end_nor_on_the_way)
{
	struct tp_own_fd own;

	cr_assert_eq(symlink(outside("victim"), at("file")), 0);
	cr_expect_eq(tp_folder_open_file(&folder, at("file"), O_WRONLY, &own), -ELOOP);
	cr_assert_eq(symlink(outside(""), at("sub")), 0);
	cr_expect_eq(tp_folder_open_file(&folder, at("sub/victim"), O_WRONLY, &own), -ELOOP);
	cr_expect_eq(tp_folder_create(&folder, at("sub/new"), O_WRONLY, 0600, &own), -ELOOP);
	cr_expect_eq(tp_folder_unlink(&folder, at("sub/victim"), NULL), -ELOOP);
	cr_expect_eq(tp_folder_symlink(&folder, "x", at("sub/new")), -ELOOP);
	cr_expect_not(is_there(outside("new")));
	cr_expect(is_there(outside("victim")));
}

Test(folder, stays_the_one_that_was_opened)
{
	struct tp_own_fd own;
	char moved[400];

	snprintf(moved, sizeof(moved), "%s/moved", top);
	at("");
	path[strlen(path) - 1] = '\0';
	cr_assert_eq(rename(path, moved), 0);
	cr_assert_eq(symlink(outside(""), path), 0);
	cr_expect_eq(tp_folder_create(&folder, at("new"), O_WRONLY, 0600, &own), 0);
	cr_expect_eq(tp_folder_rename(&folder, at("new"), "newer"), 0);
	cr_expect_eq(tp_folder_unlink(&folder, at("victim"), NULL), -ENOENT);
	cr_expect(is_there(outside("victim")));
	cr_expect_not(is_there(outside("newer")));
	strcat(moved, "/newer");
	cr_expect(is_there(moved));
}

Test(folder, removes_the_file_that_it_knows_and_no_other)
{
	struct tp_own_fd own;

	cr_assert_eq(tp_folder_create(&folder, at("part"), O_WRONLY, 0600, &own), 0);
	cr_expect_eq(tp_folder_check(&folder, at("part"), &own), 0);
	cr_assert_eq(rename(outside("victim"), at("part")), 0);
	cr_expect_eq(tp_folder_check(&folder, at("part"), &own), -ESTALE);
	cr_expect_eq(tp_folder_unlink(&folder, at("part"), &own), -ESTALE);
	cr_expect(is_there(at("part")));
	cr_expect_eq(tp_folder_unlink(&folder, at("part"), NULL), 0);
}

Test(folder, is_made_again_when_it_was_removed_with_those_that_a_name_asks_for)
{
	struct tp_own_fd own;
	bool is_gone;

	cr_expect_eq(tp_folder_make(&folder, at("x/y/name"), &is_gone), 0);
	cr_expect_not(is_gone);
	cr_expect_eq(tp_folder_create(&folder, at("x/y/name"), O_WRONLY, 0600, &own), 0);
	tp_own_fd_close(&own);
	unlink(at("x/y/name"));
	rmdir(at("x/y"));
	rmdir(at("x"));
	cr_assert_eq(rmdir(at("")), 0);
	cr_expect_eq(tp_folder_create(&folder, at("name"), O_WRONLY, 0600, &own), -ENOENT);
	cr_expect_eq(tp_folder_make(&folder, at("x/name"), &is_gone), 0);
	cr_expect(is_gone);
	cr_expect_eq(tp_folder_create(&folder, at("x/name"), O_WRONLY, 0600, &own), 0);
	cr_expect(is_there(at("x/name")));
	/* Not through a link that stands where a folder should be made. */
	cr_assert_eq(symlink(outside(""), at("z")), 0);
	cr_expect_eq(tp_folder_make(&folder, at("z/deep/name"), &is_gone), -ELOOP);
	cr_expect_not(is_there(outside("deep")));
}

Test(folder, without_one_the_path_says_which)
{
	struct tp_own_fd own;

	cr_expect_eq(tp_folder_create(NULL, at("a"), O_WRONLY, 0600, &own), 0);
	cr_expect_eq(tp_folder_link(NULL, at("a"), "b"), 0);
	cr_expect(is_there(at("b")));
	cr_assert_eq(chdir(top), 0);
	cr_expect_eq(tp_folder_create(NULL, "here", O_WRONLY, 0600, &own), 0);
	cr_expect_eq(tp_folder_unlink(NULL, "here", &own), 0);
	cr_expect_eq(tp_folder_create(NULL, "/no/such/place", O_WRONLY, 0600, &own), -ENOENT);
}

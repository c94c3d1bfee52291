/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostile_links.c - names and links that are not what they were a moment ago, or are no text
 */
#include "tests/unit/hostile_rig.h"

TestSuite(hostile_links, .init = rig_begin, .fini = rig_end, .timeout = 120);

/* ---- names and links ---- */

Test(hostile_links, a_file_that_was_just_made_lost_nothing)
{
	struct tp_run *run;

	close(make("rank1.0.tpt.part"));
	write_good();
	run = rig_open(NULL, NULL, NULL);
	for (uint32_t i = 0; i < run->n_issues; i++)
		cr_expect(!run->issue[i].is_loss, "%s", run->issue[i].text);
	expect_good(run, "just as it made it");
}

Test(hostile_links, links_to_folders_are_not_followed)
{
	char elsewhere[] = "/tmp/trainprof-elsewhere.XXXXXX", path[256], to[256];

	cr_assert_not_null(mkdtemp(elsewhere));
	rig_file("rank1.0.tpt", 1, 0);
	rig_span(TP_REC_STEP, rig_text("step"), 1000, 2000);
	rig_close(10000);
	snprintf(path, sizeof(path), "%s/rank1.0.tpt", rig.folder);
	snprintf(to, sizeof(to), "%s/rank1.0.tpt", elsewhere);
	cr_assert_eq(rename(path, to), 0);
	snprintf(path, sizeof(path), "%s/link", rig.folder);
	cr_assert_eq(symlink(elsewhere, path), 0);
	write_good();
	expect_good(rig_open(NULL, NULL, NULL), "a link to a folder: not followed");
	cr_expect_eq(n_events, 1);
	unlink(to);
	rmdir(elsewhere);
}

static char walked[256], elsewhere[] = "/tmp/trainprof-elsewhere.XXXXXX";

/* Called of a link in a folder that is being walked: in the folder's place is a link by now. */
static void swap_folder(void *ctx, const char *path, const char *what)
{
	char away[300];

	snprintf(away, sizeof(away), "%s.away", walked);
	cr_assert_eq(rename(walked, away), 0);
	cr_assert_eq(symlink(elsewhere, walked), 0);
}

static ino_t put_trace(const char *folder)
{
	char path[300], to[300];
	struct stat st;

	write_good();
	snprintf(path, sizeof(path), "%s/rank0.0.tpt", rig.folder);
	snprintf(to, sizeof(to), "%s/z.tpt", folder);
	cr_assert_eq(rename(path, to), 0);
	cr_assert_eq(stat(to, &st), 0);
	return st.st_ino;
}

Test(hostile_links, a_folder_that_becomes_a_link_while_it_is_walked)
{
	struct tp_input_list list = {.note = swap_folder, .complain = swap_folder};
	char path[300];
	ino_t inside;

	cr_assert_not_null(mkdtemp(elsewhere));
	snprintf(walked, sizeof(walked), "%s/walked", rig.folder);
	cr_assert_eq(mkdir(walked, 0700), 0);
	snprintf(path, sizeof(path), "%s/a", walked);
	cr_assert_eq(symlink(elsewhere, path), 0);
	inside = put_trace(walked);
	put_trace(elsewhere);
	cr_expect_eq(tp_input_add(&list, rig.folder), 0);
	cr_assert_eq(list.n_items, 1);
	cr_expect_eq(list.item[0].ino, inside);
	tp_input_free(&list);
	snprintf(path, sizeof(path), "%s/z.tpt", elsewhere);
	unlink(path);
	rmdir(elsewhere);
}

/* ---- between finding and opening ---- */

static const char *said;
static bool was_note;

static void note_said(void *ctx, const char *path, const char *what)
{
	said = what;
	was_note = true;
}

static void complaint_said(void *ctx, const char *path, const char *what)
{
	said = what;
	was_note = false;
}

static const char *in_walked(const char *name)
{
	static char path[2][400];
	static uint32_t next;

	snprintf(path[next ^= 1], sizeof(path[0]), "%s/%s", walked, name);
	return path[next];
}

/* Finds walked/z.tpt, lets `change` happen, opens it; whose inode that is, 0: none. */
static ino_t open_after(void (*change)(void))
{
	struct tp_input_list list = {.note = note_said, .complain = complaint_said};
	struct stat st = {.st_ino = 0};
	int fd;

	said = NULL;
	cr_assert_eq(tp_input_add(&list, walked), 0);
	cr_assert_eq(list.n_items, 1);
	change();
	fd = tp_input_open(&list, 0);
	if (fd >= 0)
		cr_expect_eq(fstat(fd, &st), 0);
	if (fd >= 0)
		close(fd);
	tp_input_free(&list);
	return st.st_ino;
}

static void change_nothing(void) {}

static void rename_whole(void)
{
	cr_assert_eq(rename(in_walked("z.tpt.part"), in_walked("z.tpt")), 0);
}

static ino_t newer;

static void replace(void)
{
	newer = put_trace(walked);
}

static void replace_by_link(void)
{
	cr_assert_eq(remove(in_walked("z.tpt")), 0);
	cr_assert_eq(symlink(elsewhere, in_walked("z.tpt")), 0);
}

static void replace_by_fifo(void)
{
	cr_assert_eq(mkfifo(in_walked("pipe"), 0600), 0);
	cr_assert_eq(rename(in_walked("pipe"), in_walked("z.tpt")), 0);
}

static void replace_by_text(void)
{
	/* Made while the other one is there: its number is not used again. */
	int fd = open(in_walked("text"), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	cr_assert_eq(write(fd, "This is some text, no trace.", 28), 28);
	close(fd);
	cr_assert_eq(rename(in_walked("text"), in_walked("z.tpt")), 0);
}

static void replace_folder(void)
{
	swap_folder(NULL, NULL, NULL);
}

Test(hostile_links, what_changes_between_finding_and_opening)
{
	ino_t found;

	cr_assert_not_null(mkdtemp(elsewhere));
	snprintf(walked, sizeof(walked), "%s/walked", rig.folder);
	cr_assert_eq(mkdir(walked, 0700), 0);
	found = put_trace(walked);
	put_trace(elsewhere);
	cr_expect_eq(open_after(change_nothing), found);
	cr_expect_null(said);
	cr_assert_eq(rename(in_walked("z.tpt"), in_walked("z.tpt.part")), 0);
	cr_expect_eq(open_after(rename_whole), found);
	cr_expect_null(said);
	cr_expect_eq(open_after(replace), newer);
	cr_expect(said && was_note);
	cr_expect_eq(open_after(replace_folder), 0);
	cr_expect(said && !was_note);
	cr_assert_eq(unlink(walked), 0);
	cr_assert_eq(mkdir(walked, 0700), 0);
	put_trace(walked);
	cr_expect_eq(open_after(replace_by_text), 0);
	cr_expect(said && !was_note);
	put_trace(walked);
	cr_expect_eq(open_after(replace_by_fifo), 0);
	cr_expect(said && !was_note);
	cr_assert_eq(unlink(in_walked("z.tpt")), 0);
	put_trace(walked);
	cr_expect_eq(open_after(replace_by_link), 0);
	cr_expect(said && !was_note);
	snprintf(walked, sizeof(walked), "%s/z.tpt", elsewhere);
	unlink(walked);
	rmdir(elsewhere);
}

/* Clears the screen; the same in the two bytes of an 8-bit terminal; writes from right to left. */
Test(hostile_links, escapes_in_names_are_shown_as_text)
{
	struct tp_run *run;

	close(make("\033[2J\302\2332J\342\200\256\n.tpt"));
	write_good();
	run = rig_open(NULL, NULL, NULL);
	for (uint32_t i = 0; i < run->n_issues; i++) {
		const char *text = run->issue[i].text;

		cr_expect(!strpbrk(text, "\033\n") && !strstr(text, "\302\233") &&
				  !strstr(text, "\342\200\256"), "%s", text);
	}
	expect_good(run, "\\x1B[2J");
}

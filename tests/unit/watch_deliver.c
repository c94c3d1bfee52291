/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_deliver.c - the line that delivers a file, its pauses, and the journal across kills
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "merge/live/deliver.h"
#include "merge/live/journal.h"
#include "runtime/base/file.h"

static char dir[] = "/tmp/trainprof-journal.XXXXXX";
static int dir_fd;

static void set_up(void)
{
	cr_assert(mkdtemp(dir));
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
}

static void tear_down(void)
{
	char command[80];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	cr_assert_eq(system(command), 0);
}

TestSuite(watch_deliver, .init = set_up, .fini = tear_down);

Test(watch_deliver, makes_a_line_for_the_shell)
{
	static const struct {
		const char *command, *folder, *name, *line;
	} rows[] = {
		{"cp {file} /store/{run}/{name}", "/x/run", "a.tpt", "cp '/x/run/a.tpt' /store/'run'/'a.tpt'"},
		{"put", "/x/run/", "a.tpt", "put '/x/run//a.tpt'"},
		{"put {run}", "/x/run", "a", "put 'run' '/x/run/a'"},
		{"rclone:s3:bucket/run", "/x/run", "a.tpt",
		 "rclone copyto '/x/run/a.tpt' 's3:bucket/run'/'a.tpt'"},
		{"put {other} {name}", "-x", "it's", "put {other} 'it'\\''s'"},
		{"put {file}", "-x", "$(a)", "put './-x/$(a)'"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *line = tp_deliver_line(rows[i].command, rows[i].folder, rows[i].name);

		cr_expect_str_eq(line, rows[i].line, "%s: %s", rows[i].command, line);
		free(line);
	}
}

Test(watch_deliver, waits_longer_and_longer)
{
	static const uint32_t pause[] = {1, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300};

	for (uint32_t i = 0; i < sizeof(pause) / sizeof(pause[0]); i++)
		cr_expect_eq(tp_deliver_pause(i), pause[i], "%u", i);
	cr_expect_eq(tp_deliver_pause(UINT32_MAX), 300);
}

Test(watch_deliver, tells_what_became_of_a_command)
{
	struct tp_deliver deliver = {0};
	int lock = open(dir, O_RDONLY), status;

	cr_assert_eq(tp_deliver_start(&deliver, "test {name} = a.tpt && exit 3", dir, "a.tpt", lock), 0);
	while ((status = tp_deliver_poll(&deliver)) == -EAGAIN)
		usleep(1000);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 3);
	cr_assert_eq(tp_deliver_start(&deliver, "true {name}", dir, "a.tpt", lock), 0);
	while ((status = tp_deliver_poll(&deliver)) == -EAGAIN)
		usleep(1000);
	cr_expect_eq(status, 0);
	cr_expect_eq(deliver.pid, 0);
}

static void append(const char *text)
{
	char path[80];
	FILE *file;

	snprintf(path, sizeof(path), "%s/watch.journal", dir);
	file = fopen(path, "a");
	cr_assert(file);
	fputs(text, file);
	fclose(file);
}

Test(watch_deliver, remembers_across_a_kill_what_is_a_whole_line)
{
	struct tp_journal journal;

	cr_assert(tp_journal_open(&journal, dir_fd, dir, 0));
	cr_expect(tp_journal_note(&journal, TP_JOURNAL_DELIVERED, "rank0.0.tpt", ""));
	cr_expect(tp_journal_note(&journal, TP_JOURNAL_FAILED, "rank1.0.tpt", "status 3"));
	cr_expect(tp_journal_note(&journal, TP_JOURNAL_DELIVERED, "a b%\nc", ""));
	tp_journal_close(&journal);
	append("delivered rank1.0.tp");
	for (int i = 0; i < 2; i++) {
		cr_assert(tp_journal_open(&journal, dir_fd, dir, 0));
		cr_expect(tp_journal_has(&journal, TP_JOURNAL_DELIVERED, "rank0.0.tpt"));
		cr_expect(tp_journal_has(&journal, TP_JOURNAL_DELIVERED, "a b%\nc"));
		cr_expect(tp_journal_has(&journal, TP_JOURNAL_FAILED, "rank1.0.tpt"));
		cr_expect_not(tp_journal_has(&journal, TP_JOURNAL_DELIVERED, "rank1.0.tp"));
		cr_expect_not(tp_journal_has(&journal, TP_JOURNAL_MERGED, "rank0.0.tpt"));
		cr_expect_eq(journal.n[TP_JOURNAL_DELIVERED], (uint32_t)(2 + i));
		cr_expect(tp_journal_note(&journal, TP_JOURNAL_DELIVERED, "next", ""));
		tp_journal_close(&journal);
	}
}

Test(watch_deliver, is_one_at_a_time)
{
	struct tp_journal journal, other;

	cr_assert(tp_journal_open(&journal, dir_fd, dir, 0));
	cr_expect_not(tp_journal_open(&other, dir_fd, dir, 0));
	tp_journal_close(&journal);
	cr_expect(tp_journal_open(&other, dir_fd, dir, 0));
	tp_journal_close(&other);
}

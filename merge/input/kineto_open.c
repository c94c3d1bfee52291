/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto_open.c - traces of torch.profiler as inputs of a run
 *
 * Each is written again as a trace of ours, in a file of $TMPDIR that has no name any more by
 * the time it is read: nothing is left behind, however the merge ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "merge/input/run.h"
#include "merge/kineto/kineto_in.h"
#include "merge/kit/grow.h"
#include "merge/kit/scratch.h"

/* "/proc/self/fd/7" */
static const char *name_of(char name[32], int fd)
{
	snprintf(name, 32, "/proc/self/fd/%d", fd);
	return name;
}

/* Descriptors of the converted file and its ledger (-1: none), whose names are gone already.
 * 0 or -errno. */
static int convert(int from, const char *path, struct tp_kineto_report *report, int fd[2])
{
	const char *folder = getenv("TMPDIR");
	char there[32], dir[400], to[420], part[430], steps[430];
	int err;

	if (snprintf(dir, sizeof(dir), "%s/trainprof-merge.XXXXXX",
		     folder && *folder ? folder : "/tmp") >= (int)sizeof(dir))
		return -ENAMETOOLONG;
	err = tp_scratch_folder(dir);
	if (err)
		return err;
	snprintf(to, sizeof(to), "%s/trace.tpt", dir);
	snprintf(part, sizeof(part), "%s.part", to);
	snprintf(steps, sizeof(steps), "%s.steps", to);
	tp_scratch_add(to);
	tp_scratch_add(part);
	tp_scratch_add(steps);
	err = tp_kineto_convert(name_of(there, from), path, to, report);
	fd[0] = err ? -1 : open(to, O_RDONLY | O_CLOEXEC);
	fd[1] = err ? -1 : open(steps, O_RDONLY | O_CLOEXEC);
	if (!err && fd[0] < 0)
		err = -errno;
	unlink(to);
	unlink(part);
	unlink(steps);
	rmdir(dir);
	tp_scratch_forget(to);
	tp_scratch_forget(part);
	tp_scratch_forget(steps);
	tp_scratch_forget(dir);
	return err;
}

static void report_issues(struct tp_run_in *run, const char *path,
			  const struct tp_kineto_report *report)
{
	if (report->trouble[0])
		tp_run_issue(&run->pub, NULL, true, "'%s': at %llu of its text: %s", path,
			     (unsigned long long)report->offset, report->trouble);
	if (report->n_bad)
		tp_run_issue(&run->pub, NULL, true,
			     "'%s': %llu events without a time or a thread, or damaged, are left out",
			     path, (unsigned long long)report->n_bad);
	if (report->n_other)
		tp_run_issue(&run->pub, NULL, false,
			     "'%s': %llu events are of other processes than the first: all are shown "
			     "as one", path, (unsigned long long)report->n_other);
	if (report->n_no_address)
		tp_run_issue(&run->pub, NULL, false,
			     "'%s': %llu memory events have no address (torch before 1.12): how long "
			     "blocks lived is not known",
			     path, (unsigned long long)report->n_no_address);
	if (report->n_left)
		tp_run_issue(&run->pub, NULL, false,
			     "'%s': %llu events of kinds that are not read ('%s', ...)", path,
			     (unsigned long long)report->n_left,
			     report->left);
}

int tp_run_read_kineto(struct tp_run_in *run, int from, const char *path)
{
	struct tp_kineto_report report;
	uint32_t n_issues = run->pub.n_issues;
	char there[32];
	int fd[2] = {-1, -1}, err;

	err = convert(from, path, &report, fd);
	close(from);
	if (err) {
		tp_run_issue(&run->pub, NULL, true, "'%s': %s%s", path,
			     err == -ENODATA ? "no event of a training run in it" : strerror(-err),
			     report.trouble[0] ? " (damaged)" : "");
		tp_run_keep(run, n_issues);
		return err == -ENOMEM ? err : 0;
	}
	report_issues(run, path, &report);
	tp_run_keep(run, n_issues);
	if (!tp_grow(&run->kept_fd, &run->cap_kept_fds, (uint64_t)run->n_kept_fds + 2,
		     sizeof(run->kept_fd[0]))) {
		close(fd[0]);
		close(fd[1]);
		return -ENOMEM;
	}
	run->n_kineto++;
	for (int i = 0; i < 2; i++) {
		if (fd[i] >= 0)
			run->kept_fd[run->n_kept_fds++] = fd[i];
	}
	err = tp_run_read_trace(run, open(name_of(there, fd[0]), O_RDONLY | O_CLOEXEC), there, path);
	if (!err && fd[1] >= 0)
		err = tp_run_read_ledger(run, open(name_of(there, fd[1]), O_RDONLY | O_CLOEXEC), there,
					 path);
	return err;
}

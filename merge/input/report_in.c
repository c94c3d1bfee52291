/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_in.c - what processes of the run folder said of themselves: hangs, failed allocations
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "merge/input/run.h"
#include "merge/kit/grow.h"

static int add_hang(struct tp_run_in *run, const struct tp_hang *hang, char *path)
{
	if (!path || !tp_grow(&run->pub.hang, &run->cap_hangs, (uint64_t)run->pub.n_hangs + 1,
			      sizeof(run->pub.hang[0]))) {
		free(path);
		return -ENOMEM;
	}
	run->pub.hang[run->pub.n_hangs++] = (struct tp_hang_at){*hang, path};
	return 0;
}

static int add_oom(struct tp_run_in *run, const struct tp_oom *oom, char *path)
{
	if (!path || !tp_grow(&run->pub.oom, &run->cap_ooms, (uint64_t)run->pub.n_ooms + 1,
			      sizeof(run->pub.oom[0]))) {
		free(path);
		return -ENOMEM;
	}
	run->pub.oom[run->pub.n_ooms++] = (struct tp_oom_at){*oom, path};
	return 0;
}

int tp_run_read_report(struct tp_run_in *run, int fd, const char *path)
{
	char text[TP_REPORT_HEAD_MAX];
	ssize_t n = pread(fd, text, sizeof(text), 0);
	struct tp_hang hang;
	struct tp_oom oom;

	close(fd);
	if (n > 0 && tp_hang_parse(text, (size_t)n, &hang))
		return add_hang(run, &hang, strdup(path));
	if (n > 0 && tp_oom_parse(text, (size_t)n, &oom))
		return add_oom(run, &oom, strdup(path));
	tp_run_issue(&run->pub, NULL, true, "%s: a report that is cut or damaged; not read", path);
	return 0;
}

static bool is_of_run(const struct tp_run *run, uint64_t run_id)
{
	for (uint32_t i = 0; i < run->n_procs; i++)
		if (run->proc[i]->run_id == run_id)
			return true;
	return false;
}

static void settle_ooms(struct tp_run_in *run)
{
	uint32_t n_kept = 0;

	for (uint32_t i = 0; i < run->pub.n_ooms; i++) {
		struct tp_oom_at *at = &run->pub.oom[i];

		if (is_of_run(&run->pub, at->oom.run_id))
			run->pub.oom[n_kept++] = *at;
		else
			free((char *)at->path);
	}
	run->pub.n_ooms = n_kept;
}

void tp_run_settle_reports(struct tp_run_in *run)
{
	uint32_t n_kept = 0;

	settle_ooms(run);

	for (uint32_t i = 0; i < run->pub.n_hangs; i++) {
		struct tp_hang_at *at = &run->pub.hang[i];

		if (is_of_run(&run->pub, at->hang.run_id))
			run->pub.hang[n_kept++] = *at;
		else
			free((char *)at->path);
	}
	run->pub.n_hangs = n_kept;
}

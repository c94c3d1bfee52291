/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang_in.c - hang reports of the run folder
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "merge/input/run.h"
#include "merge/kit/grow.h"

int tp_run_read_hang(struct tp_run_in *run, int fd, const char *path)
{
	char text[TP_HANG_HEAD_MAX];
	ssize_t n = pread(fd, text, sizeof(text), 0);
	struct tp_hang hang;
	char *copy;

	close(fd);
	if (n <= 0 || !tp_hang_parse(text, (size_t)n, &hang)) {
		tp_run_issue(&run->pub, NULL, true, "%s: a hang report that is cut or damaged; not read", path);
		return 0;
	}
	copy = strdup(path);
	if (!copy || !tp_grow(&run->pub.hang, &run->cap_hangs, (uint64_t)run->pub.n_hangs + 1,
			      sizeof(run->pub.hang[0]))) {
		free(copy);
		return -ENOMEM;
	}
	run->pub.hang[run->pub.n_hangs++] = (struct tp_hang_at){hang, copy};
	return 0;
}

static bool is_of_run(const struct tp_run *run, const struct tp_hang *hang)
{
	for (uint32_t i = 0; i < run->n_procs; i++)
		if (run->proc[i]->run_id == hang->run_id)
			return true;
	return false;
}

void tp_run_settle_hangs(struct tp_run_in *run)
{
	uint32_t n_kept = 0;

	for (uint32_t i = 0; i < run->pub.n_hangs; i++) {
		struct tp_hang_at *at = &run->pub.hang[i];

		if (is_of_run(&run->pub, &at->hang))
			run->pub.hang[n_kept++] = *at;
		else
			free((char *)at->path);
	}
	run->pub.n_hangs = n_kept;
}

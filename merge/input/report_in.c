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

enum { TEXT_MAX = 256 << 10 };	/* bytes: more than a process writes */

void tp_run_free_report(struct tp_report_at *at)
{
	free(at->path);
	free(at->text);
}

/* Given by a node file, too. */
static bool has_hang(const struct tp_run *run, const struct tp_hang *hang)
{
	for (uint32_t i = 0; i < run->n_hangs; i++) {
		const struct tp_hang *other = &run->hang[i].hang;

		if (other->run_id == hang->run_id && other->pid == hang->pid &&
		    other->worker == hang->worker && other->real_ns == hang->real_ns)
			return true;
	}
	return false;
}

static bool has_oom(const struct tp_run *run, const struct tp_oom *oom)
{
	for (uint32_t i = 0; i < run->n_ooms; i++) {
		const struct tp_oom *other = &run->oom[i].oom;

		if (other->run_id == oom->run_id && other->pid == oom->pid && other->real_ns == oom->real_ns)
			return true;
	}
	return false;
}

static int add_hang(struct tp_run_in *run, const struct tp_hang *hang, const struct tp_report_at *at)
{
	if (!tp_grow(&run->pub.hang, &run->cap_hangs, (uint64_t)run->pub.n_hangs + 1,
		     sizeof(run->pub.hang[0])))
		return -ENOMEM;
	run->pub.hang[run->pub.n_hangs++] = (struct tp_hang_at){*hang, *at};
	return 0;
}

static int add_oom(struct tp_run_in *run, const struct tp_oom *oom, const struct tp_report_at *at)
{
	if (!tp_grow(&run->pub.oom, &run->cap_ooms, (uint64_t)run->pub.n_ooms + 1, sizeof(run->pub.oom[0])))
		return -ENOMEM;
	run->pub.oom[run->pub.n_ooms++] = (struct tp_oom_at){*oom, *at};
	return 0;
}

int tp_run_take_report(struct tp_run_in *run, const char *text, size_t n, const char *path)
{
	struct tp_hang hang;
	struct tp_oom oom;
	bool is_hang = tp_hang_parse(text, n, &hang), is_oom = !is_hang && tp_oom_parse(text, n, &oom);
	struct tp_report_at at;
	int err;

	if (!is_hang && !is_oom) {
		tp_run_issue(&run->pub, NULL, true, "%s: a report that is cut or damaged; not read", path);
		return 0;
	}
	if (is_hang ? has_hang(&run->pub, &hang) : has_oom(&run->pub, &oom))
		return 0;
	at = (struct tp_report_at){strdup(path), malloc(n + 1), (uint32_t)n};
	if (at.text)
		memcpy(at.text, text, n);
	err = !at.path || !at.text ? -ENOMEM
	      : is_hang		   ? add_hang(run, &hang, &at)
				   : add_oom(run, &oom, &at);
	if (err)
		tp_run_free_report(&at);
	return err;
}

int tp_run_read_report(struct tp_run_in *run, int fd, const char *path)
{
	char *text = malloc(TEXT_MAX);
	ssize_t n = text ? pread(fd, text, TEXT_MAX, 0) : 0;
	int err = text ? tp_run_take_report(run, text, n > 0 ? (size_t)n : 0, path) : -ENOMEM;

	close(fd);
	free(text);
	return err;
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
			tp_run_free_report(&at->at);
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
			tp_run_free_report(&at->at);
	}
	run->pub.n_hangs = n_kept;
}

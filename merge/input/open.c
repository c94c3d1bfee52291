/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.c - from paths to a run: finds every file, and has it read
 *
 * Order matters: rings first (they say how much of an unfinished file counts, and a live
 * process moves records from its ring to its file while we read), then traces and ledgers,
 * then place.c puts all on one clock. No event is decoded here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "merge/input/fuse.h"
#include "merge/input/input.h"
#include "merge/input/jobs.h"
#include "merge/input/node.h"
#include "merge/input/run.h"
#include "merge/kit/say.h"
#include "merge/kit/show.h"
#include "merge/model/label.h"
#include "merge/model/ranks.h"

static void complain_input(void *ctx, const char *path, const char *what)
{
	struct tp_run_in *run = ctx;

	tp_run_issue(&run->pub, NULL, true, "'%s': %s", path, what);
	tp_run_keep(run, run->pub.n_issues - 1);
}

static void note_input(void *ctx, const char *path, const char *what)
{
	struct tp_run_in *run = ctx;

	tp_run_issue(&run->pub, NULL, false, "'%s': %s", path, what);
	tp_run_keep(run, run->pub.n_issues - 1);
}

static int read_input(struct tp_run_in *run, struct tp_input_list *list, uint32_t at)
{
	const struct tp_input *input = &list->item[at];
	int fd;

	if (input->is_of_other_job)
		return 0;
	/* In a folder with traces of ours: the timelines that were made of them. */
	if (input->kind == TP_INPUT_KINETO && !input->is_given && run->n_sources &&
	    run->n_sources != run->n_kineto)
		return 0;
	fd = tp_input_open(list, at);
	if (fd < 0)
		return 0;
	switch (input->kind) {
	case TP_INPUT_RING:
		return tp_recover_ring(run, fd, input->path);
	case TP_INPUT_TRACE:
		return tp_run_read_trace(run, fd, input->path, input->path);
	case TP_INPUT_LEDGER:
		return tp_run_read_ledger(run, fd, input->path, input->path);
	case TP_INPUT_REPORT:
		return tp_run_read_report(run, fd, input->path);
	case TP_INPUT_NODE:
		return tp_node_open(run, fd, input->path);
	case TP_INPUT_KINETO:
		return tp_run_read_kineto(run, fd, input->path);
	}
	close(fd);
	return 0;
}

/* After all others: what these give too is theirs. Kind by kind, as files of their own are read. */
static int read_nodes(struct tp_run_in *run)
{
	static const enum tp_member_kind order[] = {TP_MEMBER_RING, TP_MEMBER_TRACE,
						    TP_MEMBER_LEDGER, TP_MEMBER_REPORT, TP_MEMBER_NOTES};
	int err = 0;

	for (uint32_t k = 0; k < sizeof(order) / sizeof(order[0]) && !err; k++) {
		for (uint32_t i = 0; i < run->n_nodes && !err; i++)
			err = tp_node_read(run, i, order[k]);
	}
	for (uint32_t i = 0; i < run->n_nodes && !err; i++)
		tp_node_tell(run, run->node[i]);
	return err;
}

/* Rings and what was converted take a descriptor each: hundreds of ranks are more than the usual
 * soft limit. */
static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void say_left_out(struct tp_run_in *run)
{
	static const char why[] = "are left out: with them all would take more memory than files of "
				  "this size account for";

	if (run->n_left_out)
		tp_run_issue(&run->pub, NULL, true, "%llu names and texts %s",
			     (unsigned long long)run->n_left_out, why);
	if (run->n_events_left_out)
		tp_run_issue(&run->pub, NULL, true, "%llu events %s",
			     (unsigned long long)run->n_events_left_out, why);
}

/* They ended in order, and not one step was found. */
static bool has_only_stepless(const struct tp_run *run)
{
	for (uint32_t i = 0; i < run->n_procs; i++)
		if (run->proc[i]->is_running || run->proc[i]->is_dead || !strstr(run->proc[i]->started, "end="))
			return false;
	return run->n_procs != 0;
}

/* Processes that are known by their buffer files recorded something, only not yet. */
static void say_nothing(const struct tp_run *run, const char *others)
{
	char buf[TP_STOOD_BYTES], *stood;

	if (run->n_procs)
		tp_say("nothing to show in '%s'%s: no window had begun there and no step had ended%s", run->path,
		       others, has_only_stepless(run) ? "; a job without an optimizer of torch.optim and without "
		       "a DataLoader has steps with TRAINPROF_STEP=clock:100" : "");
	else
		tp_say("nothing usable in '%s'%s: no trace (*.tpt), buffer file (*.ring), step log (*.steps) or "
		       "node file (*.tpn) and no *.pt.trace.json; was libtrainprof.so in LD_PRELOAD of the job, "
		       "and is this its TRAINPROF_DIR? With TRAINPROF_LOG=info the job says what it records, or "
		       "why nothing", run->path, others);
	for (uint32_t i = 0; i < run->n_procs; i++) {
		stood = tp_label_stood(buf, run->proc[i], NULL);
		if (stood)
			tp_say("process %u was last seen in %s", run->proc[i]->pid, tp_show_paths(stood));
	}
}

struct tp_run *tp_run_open(const struct tp_fuse_options *options)
{
	static const enum tp_input_kind order[] = {TP_INPUT_RING, TP_INPUT_TRACE,
						   TP_INPUT_LEDGER, TP_INPUT_REPORT,
						   TP_INPUT_KINETO, TP_INPUT_NODE};
	struct tp_run_in *run = calloc(1, sizeof(*run));
	struct tp_input_list list = {.complain = complain_input, .note = note_input, .ctx = run};
	int err = run ? tp_strings_init(&run->strings) : -ENOMEM;

	if (run)
		tp_infiles_init(&run->files);
	if (err)
		goto out;
	raise_limit();
	run->options = *options;
	run->pub.is_quiet = options->is_quiet;
	run->pub.path = options->n_paths ? options->path[0] : "";
	for (uint32_t i = 0; i < options->n_paths && !err; i++)
		err = tp_input_add(&list, options->path[i]);
	if (!err)
		err = tp_jobs_choose(run, &list);
	if (err)
		goto out;
	for (uint32_t k = 0; k < sizeof(order) / sizeof(order[0]) && err != -ENOMEM; k++) {
		for (uint32_t i = 0; i < list.n_items && err != -ENOMEM; i++) {
			if (list.item[i].kind == order[k])
				err = read_input(run, &list, i);
		}
	}
	err = err == -ENOMEM ? err : read_nodes(run);
	say_left_out(run);
	tp_run_settle_reports(run);
	err = err == -ENOMEM ? err : tp_run_place(run);
	if (!err) {
		tp_ranks_mark(&run->pub);
		run->pub.is_selection = options->ranks != NULL;
		tp_ranks_check(&run->pub);
	}
out:
	tp_input_free(&list);
	if (err && err != -ENOENT)
		tp_say("out of memory while files were opened");
	else if (!err && !run->pub.n_windows && !run->pub.n_steps && !run->pub.n_hangs && !run->pub.n_ooms)
		say_nothing(&run->pub, options->n_paths > 1 ? " and the other paths" : "");
	else if (!err)
		return &run->pub;
	tp_run_free(run ? &run->pub : NULL);
	return NULL;
}

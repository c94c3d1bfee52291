/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_run.c - tables of the run itself: its processes, and what went wrong
 */
#include "merge/arrow/raw.h"
#include "merge/model/label.h"

static void process_columns(struct tp_row *r, const void *ctx, const void *of)
{
	const struct tp_run *run = ctx;
	const struct tp_proc *proc = of;
	char label[64];

	TP_TEXT(r, "process", "process", 0, "what tables call it", "%s", tp_label_proc(label, run, proc));
	TP_NUMBER(r, "process_at", NULL, 0, "its number in this run, from 0 on", proc->at);
	TP_CELL(r, "rank", NULL, TP_UNIT_NUMBER, 0, "rank in the job; of a worker that of its rank",
		if (proc->rank >= 0) tp_row_integer(r, proc->rank));
	TP_CELL(r, "local_rank", NULL, TP_UNIT_NUMBER, 0, "rank on its node",
		if (proc->local_rank >= 0) tp_row_integer(r, proc->local_rank));
	TP_CELL(r, "node_rank", NULL, TP_UNIT_NUMBER, 0, "number of its node",
		if (proc->node_rank >= 0) tp_row_integer(r, proc->node_rank));
	TP_CELL(r, "world_size", NULL, TP_UNIT_COUNT, 0, "ranks of the job",
		if (proc->world_size > 0) tp_row_integer(r, proc->world_size));
	TP_NUMBER(r, "worker", NULL, 0, "number of a rank's worker process; 0: the rank itself", proc->worker);
	TP_NUMBER(r, "restart", NULL, 0, "how often the job's ranks had been started before", proc->restart);
	TP_NUMBER(r, "pid", NULL, 0, "process id", proc->pid);
	TP_TEXT(r, "host", NULL, 0, "its host", "%s", proc->host);
	TP_TEXT(r, "program", NULL, 0, "what ran", "%s", proc->program);
	TP_NS(r, "zero_real_ns", NULL, 0, "what the host's clock (CLOCK_REALTIME) said at time 0 of the run",
	      (int64_t)run->zero_real_ns);
	TP_CELL(r, "died", NULL, TP_UNIT_COUNT, 0, "1: it did not exit cleanly", tp_row_integer(r, proc->is_dead));
}

static const struct tp_table_def processes = {
	.name = "processes", .help = "processes of the run: ranks, each before its workers",
	.columns = process_columns,
};

static void show_processes(const struct tp_run *run, struct tp_out *out)
{
	struct tp_table *table = tp_table_begin(&processes, run, 0, out);

	for (uint32_t i = 0; i < run->n_procs; i++)
		tp_table_add(table, run->proc[i]);
	tp_table_end(table);
}

const struct tp_raw tp_raw_processes = {.def = &processes, .show = show_processes};

static void issue_columns(struct tp_row *r, const void *ctx, const void *of)
{
	const struct tp_issue *issue = of;

	TP_CELL(r, "process_at", NULL, TP_UNIT_NUMBER, 0, "of the table processes; none: the whole run",
		if (issue->proc) tp_row_integer(r, issue->proc->at));
	TP_CELL(r, "is_loss", NULL, TP_UNIT_COUNT, 0, "1: data is missing because of it",
		tp_row_integer(r, issue->is_loss));
	TP_TEXT(r, "text", NULL, 0, "what it is, with the file", "%s", issue->text);
}

static const struct tp_table_def issues = {
	.name = "issues", .help = "what is lost, broken, off or odd, once all events are read",
	.columns = issue_columns,
};

static void show_issues(const struct tp_run *run, struct tp_out *out)
{
	tp_table_show(&issues, run, run->issue, run->n_issues, sizeof(*run->issue), 0, out);
}

const struct tp_raw tp_raw_issues = {.def = &issues, .show = show_issues};

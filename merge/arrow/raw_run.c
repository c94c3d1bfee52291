/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_run.c - tables of the run itself: its processes, their windows, and what went wrong
 */
#include "merge/arrow/raw.h"
#include "merge/model/label.h"

struct process {
	int64_t process_at, rank, local_rank, node_rank, world_size, worker, restart, pid, zero_real_ns, died;
	const char *process, *host, *program;
};

static const struct tp_raw_column process_columns[] = {
	TP_RAW(struct process, process, TP_UNIT_TEXT, "what tables call it"),
	TP_RAW(struct process, process_at, TP_UNIT_NUMBER, "its number in this run, from 0 on"),
	TP_RAW(struct process, rank, TP_UNIT_NUMBER, "rank in the job; of a worker that of its rank"),
	TP_RAW(struct process, local_rank, TP_UNIT_NUMBER, "rank on its node"),
	TP_RAW(struct process, node_rank, TP_UNIT_NUMBER, "number of its node"),
	TP_RAW(struct process, world_size, TP_UNIT_COUNT, "ranks of the job"),
	TP_RAW(struct process, worker, TP_UNIT_NUMBER,
	       "number of a rank's worker process; 0: the rank itself"),
	TP_RAW(struct process, restart, TP_UNIT_NUMBER,
	       "how often the job's ranks had been started before"),
	TP_RAW(struct process, pid, TP_UNIT_NUMBER, "process id"),
	TP_RAW_NAME(struct process, host, "its host"),
	TP_RAW_NAME(struct process, program, "what ran"),
	TP_RAW(struct process, zero_real_ns, TP_UNIT_NS,
	       "what the host's clock (CLOCK_REALTIME) said at time 0 of the run"),
	TP_RAW(struct process, died, TP_UNIT_COUNT, "1: it did not exit cleanly"),
	{.field = NULL},
};

static int64_t or_none(int32_t number)
{
	return number >= 0 ? number : TP_RAW_NONE;
}

static void show_processes(struct tp_run *run, struct tp_raw_rows *rows)
{
	for (uint32_t i = 0; i < run->n_procs; i++) {
		const struct tp_proc *proc = run->proc[i];
		char label[64];

		tp_raw_rows_put(rows, &(struct process){
			.process = tp_label_proc(label, run, proc), .process_at = proc->at,
			.rank = tp_raw_rank(proc), .local_rank = or_none(proc->local_rank),
			.node_rank = or_none(proc->node_rank),
			.world_size = proc->world_size > 0 ? proc->world_size : TP_RAW_NONE,
			.worker = proc->worker, .restart = proc->restart, .pid = proc->pid,
			.host = proc->host, .program = proc->program,
			.zero_real_ns = (int64_t)run->zero_real_ns, .died = tp_proc_died(proc),
		});
	}
}

const struct tp_raw tp_raw_processes = {
	.name = "processes", .help = "processes of the run: ranks, each before its workers",
	.column = process_columns, .show = show_processes,
};

struct file {
	int64_t process_at, rank, window, begin_ns, end_ns, clock_error_ns, events, dropped, file_bytes;
	int64_t is_whole, is_recovered;
	const char *path;
};

static const struct tp_raw_column file_columns[] = {
	TP_RAW(struct file, process_at, TP_UNIT_NUMBER, "of the table processes"),
	TP_RAW(struct file, rank, TP_UNIT_NUMBER, "rank in the job"),
	TP_RAW(struct file, window, TP_UNIT_NUMBER, "its number in the process"),
	TP_RAW(struct file, begin_ns, TP_UNIT_NS, "when it began, on the run's one clock"),
	TP_RAW(struct file, end_ns, TP_UNIT_NS, "when it ended"),
	TP_RAW(struct file, clock_error_ns, TP_UNIT_NS,
	       "its times are right to so much; none: there is no bound"),
	TP_RAW(struct file, events, TP_UNIT_COUNT, "events in its file"),
	TP_RAW(struct file, dropped, TP_UNIT_COUNT, "records that were lost because the buffer was full"),
	TP_RAW(struct file, file_bytes, TP_UNIT_BYTES, "size of its file"),
	TP_RAW(struct file, is_whole, TP_UNIT_COUNT, "1: its file has its end"),
	TP_RAW(struct file, is_recovered, TP_UNIT_COUNT, "1: of a dead process, from its buffer file"),
	TP_RAW(struct file, path, TP_UNIT_TEXT, "its file"),
	{.field = NULL},
};

static void show_files(struct tp_run *run, struct tp_raw_rows *rows)
{
	for (uint32_t i = 0; i < run->n_windows; i++) {
		const struct tp_window *window = &run->window[i];

		tp_raw_rows_put(rows, &(struct file){
			.process_at = window->proc->at, .rank = tp_raw_rank(window->proc),
			.window = window->window, .begin_ns = window->begin_ns, .end_ns = window->end_ns,
			.clock_error_ns = window->clock_error_ns >= 0 ? window->clock_error_ns
								      : TP_RAW_NONE,
			.events = (int64_t)window->n_events, .dropped = (int64_t)window->dropped,
			.file_bytes = (int64_t)window->file_bytes, .is_whole = window->is_whole,
			.is_recovered = window->is_recovered, .path = window->path,
		});
	}
}

const struct tp_raw tp_raw_files = {
	.name = "files", .help = "windows that were recorded, each with its file",
	.column = file_columns, .show = show_files,
};

struct issue {
	int64_t process_at, is_loss;
	const char *text;
};

static const struct tp_raw_column issue_columns[] = {
	TP_RAW(struct issue, process_at, TP_UNIT_NUMBER, "of the table processes; none: the whole run"),
	TP_RAW(struct issue, is_loss, TP_UNIT_COUNT, "1: data is missing because of it"),
	TP_RAW_NAME(struct issue, text, "what it is, with the file"),
	{.field = NULL},
};

static void show_issues(struct tp_run *run, struct tp_raw_rows *rows)
{
	for (uint32_t i = 0; i < run->n_issues; i++) {
		const struct tp_issue *issue = &run->issue[i];

		tp_raw_rows_put(rows, &(struct issue){
			.process_at = issue->proc ? (int64_t)issue->proc->at : TP_RAW_NONE,
			.is_loss = issue->is_loss, .text = issue->text,
		});
	}
}

const struct tp_raw tp_raw_issues = {
	.name = "issues", .help = "what is lost, truncated, disabled or inconsistent, after all events were read",
	.column = issue_columns, .show = show_issues, .needs_events = true,
};

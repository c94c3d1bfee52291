/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink_run.c - run.json: what a run was, who took part, what is there of it, how each process ended
 *
 * Of what was read, without a pass over events. A key that is not known is not there.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/json.h"
#include "merge/kit/outfile.h"
#include "merge/kit/say.h"
#include "merge/model/label.h"
#include "merge/model/sink.h"
#include "runtime/base/options.h"
#include "runtime/trace/ledger.h"
#include "runtime/trace/reader.h"

enum { VALUE_BYTES = 16384 };

struct json {
	struct tp_outfile *out;
	bool has_item;		/* in the object or list that is open */
};

/* ---- JSON ---- */

static void put(struct json *j, const char *text)
{
	tp_outfile_bytes(j->out, text, strlen(text));
}

static void put_string(struct json *j, const char *text)
{
	size_t n = strlen(text);
	char *escaped = malloc(6 * n + 1);

	put(j, "\"");
	if (escaped)
		tp_outfile_bytes(j->out, escaped, (size_t)(tp_json_text(escaped, text, n) - escaped));
	put(j, "\"");
	free(escaped);
}

/* Before an item; `key` NULL: of a list. */
static void begin_item(struct json *j, const char *key)
{
	put(j, j->has_item ? ",\n" : "\n");
	j->has_item = true;
	if (key) {
		put_string(j, key);
		put(j, ": ");
	}
}

static void open_item(struct json *j, const char *key, const char *bracket)
{
	begin_item(j, key);
	put(j, bracket);
	j->has_item = false;
}

static void close_item(struct json *j, const char *bracket)
{
	put(j, bracket);
	j->has_item = true;
}

static void put_text(struct json *j, const char *key, const char *text)
{
	if (!text[0])
		return;
	begin_item(j, key);
	put_string(j, text);
}

static void put_number(struct json *j, const char *key, int64_t value)
{
	char digits[24];

	begin_item(j, key);
	tp_outfile_bytes(j->out, digits, (size_t)(tp_json_i64(digits, value) - digits));
}

static void put_bool(struct json *j, const char *key, bool value)
{
	begin_item(j, key);
	put(j, value ? "true" : "false");
}

/* ---- a process ---- */

static void put_value(struct json *j, const char *text, const char *from, const char *key)
{
	static char value[VALUE_BYTES];

	if (tp_reader_text_value(text, strlen(text), from, value, sizeof(value)))
		put_text(j, key, value);
}

/* The newest text of META; "": none. */
static const char *meta_of(const struct tp_run *run, const struct tp_proc *proc)
{
	const char *meta = "";

	for (uint32_t i = 0; i < run->n_windows; i++)
		if (run->window[i].proc == proc && run->window[i].meta[0])
			meta = run->window[i].meta;
	return meta;
}

static bool has_line(const char *from, const char *to, const char *key, size_t n_key)
{
	for (const char *at = from; at < to; at = strchr(at, '\n') + 1)
		if (!strncmp(at, key, n_key) && at[n_key] == '=')
			return true;
	return false;
}

/* Variables that the ledger has, each once. */
static void put_environment(struct json *j, const char *started)
{
	const char *prefix = "env.";
	char key[128];

	open_item(j, "environment", "{");
	for (const char *at = started, *end; (end = strchr(at, '\n')); at = end + 1) {
		size_t n = strcspn(at, "=");

		if (strncmp(at, prefix, 4) || n >= sizeof(key) || at + n >= end ||
		    has_line(started, at, at, n))
			continue;
		memcpy(key, at, n);
		key[n] = '\0';
		put_value(j, at, key, key + 4);
	}
	close_item(j, "}");
}

static void put_settings(struct json *j, const char *meta)
{
	open_item(j, "settings", "{");
	for (int i = 0; i < TP_OPTION_N; i++)
		put_value(j, meta, tp_options[i].name, tp_options[i].name);
	close_item(j, "}");
}

static void put_windows(struct json *j, const struct tp_run *run, const struct tp_proc *proc)
{
	open_item(j, "windows", "[");
	for (uint32_t i = 0; i < run->n_windows; i++) {
		const struct tp_window *w = &run->window[i];

		if (w->proc != proc)
			continue;
		open_item(j, NULL, "{");
		put_number(j, "window", w->window);
		put_text(j, "file", w->path);
		put_number(j, "bytes", (int64_t)w->file_bytes);
		put_number(j, "events", (int64_t)w->n_events);
		put_number(j, "dropped", (int64_t)w->dropped);
		put_bool(j, "whole", w->is_whole);
		put_bool(j, "recovered", w->is_recovered);
		close_item(j, "}");
	}
	close_item(j, "]");
}

static void put_end(struct json *j, const struct tp_proc *proc)
{
	char how[64], buf[TP_STOOD_BYTES];
	const char *stood = tp_label_stood(buf, proc, NULL);

	if (tp_reader_text_value(proc->started, strlen(proc->started), "end", how, sizeof(how)))
		put_text(j, "end", how);
	else
		put_text(j, "end", proc->is_running	? "running"
				   : proc->is_replaced	? TP_LEDGER_REPLACED
				   : proc->is_dead	? TP_LEDGER_KILLED : "unknown");
	if (stood)
		put_text(j, "last_seen", stood);
}

static void put_proc(struct json *j, const struct tp_run *run, const struct tp_proc *proc)
{
	const char *meta = meta_of(run, proc);
	int64_t n_steps = 0;

	for (uint32_t i = 0; i < run->n_steps; i++)
		n_steps += run->step[i].proc == proc;
	open_item(j, NULL, "{");
	if (proc->rank >= 0)
		put_number(j, "rank", proc->rank);
	if (proc->worker)
		put_number(j, "worker", proc->worker);
	put_number(j, "world_size", proc->world_size);
	put_number(j, "restart", proc->restart);
	put_text(j, "host", proc->host);
	put_number(j, "pid", proc->pid);
	put_text(j, "program", proc->program);
	put_value(j, proc->started, "command", "command");
	put_value(j, proc->started, "cwd", "cwd");
	put_value(j, meta, "launcher", "launcher");
	put_value(j, meta, "python", "python");
	put_value(j, meta, "torch", "torch");
	put_end(j, proc);
	put_number(j, "steps", n_steps);
	put_environment(j, proc->started);
	put_settings(j, meta);
	put_windows(j, run, proc);
	close_item(j, "}");
}

/* ---- the run ---- */

static void put_job(struct json *j, const struct tp_run *run)
{
	char job[128] = "";

	for (uint32_t i = 0; i < run->n_procs && !job[0]; i++)
		tp_reader_text_value(run->proc[i]->started, strlen(run->proc[i]->started), "job",
				     job, sizeof(job));
	put_text(j, "job", job);
}

static void put_hosts(struct json *j, const struct tp_run *run)
{
	open_item(j, "hosts", "[");
	for (uint32_t i = 0; i < run->n_procs; i++) {
		uint32_t first = 0;

		while (strcmp(run->proc[first]->host, run->proc[i]->host))
			first++;
		if (first == i && run->proc[i]->host[0])
			put_text(j, NULL, run->proc[i]->host);
	}
	close_item(j, "]");
}

static void put_issues(struct json *j, const struct tp_run *run)
{
	open_item(j, "issues", "[");
	for (uint32_t i = 0; i < run->n_issues; i++) {
		open_item(j, NULL, "{");
		put_bool(j, "loss", run->issue[i].is_loss);
		put_text(j, "text", run->issue[i].text);
		close_item(j, "}");
	}
	close_item(j, "]");
}

static int write_run(struct tp_run *run, const char *path)
{
	struct json j = {.out = tp_outfile_open(path)};

	if (!j.out)
		return -EIO;
	put(&j, "{");
	put_number(&j, "version", 1);
	put_job(&j, run);
	put_number(&j, "begin_real_ns", (int64_t)run->zero_real_ns);
	put_hosts(&j, run);
	open_item(&j, "processes", "[");
	for (uint32_t i = 0; i < run->n_procs; i++)
		put_proc(&j, run, run->proc[i]);
	close_item(&j, "]");
	put_issues(&j, run);
	close_item(&j, "}\n");
	return tp_outfile_close(j.out);
}

const struct tp_sink tp_sink_run = {
	.name = "run",
	.help = "run.json: command, settings, processes, windows, losses, how each ended",
	.hint = "JSON",
	.suffix = "run.json",
	.is_whole_name = true,
	.write = write_run,
};

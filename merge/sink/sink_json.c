/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink_json.c - the timeline as files of trace-event JSON: all processes in one, for Perfetto and
 * Chrome; or a file for each rank as torch.profiler writes it, for HolisticTraceAnalysis, or
 * (torch:tb) for TensorBoard's profiler plugin
 *
 * The latter two match files, names and categories by text and say little when they do not know one;
 * trainprof-merge(1) lists what they want. They want one process a rank: a rank's is the one that
 * recorded most, the others (data loaders, ended restarts) are in the other formats.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "merge/kit/need.h"
#include "merge/kit/say.h"
#include "merge/model/sink.h"
#include "merge/sink/chrome.h"
#include "runtime/base/file.h"

struct sink {
	struct tp_chrome chrome;
	struct tp_timeline *timeline;
	struct tp_chrome_file *file;	/* by proc (those without one have no `out`), or one */
	uint32_t n_files, n_left_out;	/* n_left_out: processes */
	bool *is_left_out;		/* by proc */
};

static void free_sink(struct sink *s)
{
	tp_timeline_free(s->timeline);
	free(s->chrome.file_of);
	free(s->file);
	free(s->is_left_out);
	free(s);
}

static struct sink *new_sink(struct tp_facts *facts, const struct tp_dialect *dialect,
			     uint32_t n_files)
{
	const struct tp_run *run = tp_facts_run(facts);
	struct sink *s = tp_need(1, sizeof(*s));

	tp_chrome_init(&s->chrome, run, dialect);
	s->n_files = n_files;
	s->file = tp_need(n_files + 1, sizeof(*s->file));
	s->chrome.file_of = tp_need(run->n_procs + 1, sizeof(*s->chrome.file_of));
	s->is_left_out = tp_need(run->n_procs + 1, sizeof(*s->is_left_out));
	for (uint32_t i = 0; i < run->n_procs; i++)
		s->chrome.file_of[i] = &s->file[i < n_files ? i : 0];
	s->timeline = tp_timeline_new(facts, dialect, &tp_chrome_encoder, &s->chrome,
				      s->is_left_out);
	return s;
}

/* Whole JSON, also of a file that gets no more events. */
static int close_files(struct sink *s)
{
	int err = 0;

	for (uint32_t i = 0; i < s->n_files; i++) {
		int one;

		if (!s->file[i].out)
			continue;
		tp_chrome_put_tail(&s->file[i]);
		one = tp_outfile_close(s->file[i].out);
		err = err ? err : one;
	}
	return err;
}

/* ---- one file ---- */

/* The process that speaks for the file, if all of them are of one rank. */
static const struct tp_proc *only_rank(const struct tp_run *run)
{
	const struct tp_proc *proc = run->n_procs ? run->proc[0] : NULL;

	for (uint32_t i = 1; i < run->n_procs; i++) {
		if (run->proc[i]->rank != run->proc[0]->rank)
			return NULL;
		if (run->proc[i]->n_devices > proc->n_devices)
			proc = run->proc[i];
	}
	return proc;
}

static void *begin_chrome(struct tp_facts *facts, const char *path)
{
	struct sink *s = new_sink(facts, &tp_dialect_chrome, 1);

	s->file->out = tp_outfile_open(path);
	if (!s->file->out) {
		free_sink(s);
		return NULL;
	}
	tp_chrome_put_head(&s->chrome, s->file, only_rank(s->chrome.run));
	return s;
}

/* ---- a file for each rank ---- */

static uint64_t events_of(const struct tp_run *run, const struct tp_proc *proc)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < run->n_windows; i++) {
		if (run->window[i].proc == proc)
			n += run->window[i].n_events;
	}
	return n;
}

/* Of the processes of its rank the one with most events, the first of equal ones. No worker. */
static bool speaks_for_rank(const struct tp_run *run, const struct tp_proc *proc)
{
	uint64_t n = events_of(run, proc);

	if (proc->worker)
		return false;

	for (uint32_t i = 0; i < run->n_procs; i++) {
		const struct tp_proc *other = run->proc[i];
		uint64_t n_other = other == proc ? 0 : events_of(run, other);

		if (other != proc && other->rank == proc->rank && !other->worker &&
		    (n_other > n || (n_other == n && other->at < proc->at)))
			return false;
	}
	return true;
}

/* Containers may be called alike and have the same pids. */
static bool has_double(const struct sink *s, const struct tp_run *run, uint32_t at)
{
	for (uint32_t i = 0; i < at; i++) {
		if (s->file[i].out && run->proc[i]->pid == run->proc[at]->pid &&
		    !strcmp(run->proc[i]->host, run->proc[at]->host))
			return true;
	}
	return false;
}

/*
 * The plugin takes <worker>.<digits>.pt.trace.json.gz, and of the worker <host>_<pid>. One
 * moment for all ranks: it compares the files that have the same one.
 */
static int make_path(const struct sink *s, const struct tp_run *run, uint32_t at,
		     const char *folder, char *path, size_t cap)
{
	const struct tp_proc *proc = run->proc[at];
	char host[sizeof(proc->host) + 16];
	int n;

	n = snprintf(host, sizeof(host), "%s", proc->host[0] ? proc->host : "host");
	for (char *c = host; *c; c++) {
		bool is_plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
				(*c >= '0' && *c <= '9') || *c == '-' || *c == '.';

		if (!is_plain)
			*c = '-';
	}
	if (has_double(s, run, at))
		snprintf(host + n, sizeof(host) - (size_t)n, "-rank%d", proc->rank);
	n = snprintf(path, cap, "%s/%s_%u.%llu.pt.trace.json.gz", folder, host, proc->pid,
		     (unsigned long long)(run->zero_real_ns / 1000000));
	return n < 0 || (size_t)n >= cap ? -ENAMETOOLONG : 0;
}

static int open_file(struct sink *s, const struct tp_run *run, uint32_t at, const char *folder)
{
	char path[4096 + 128];

	if (make_path(s, run, at, folder, path, sizeof(path))) {
		tp_say("the name of the result is too long");
		return -ENAMETOOLONG;
	}
	s->file[at].out = tp_outfile_open(path);
	if (!s->file[at].out)
		return -EIO;
	tp_chrome_put_head(&s->chrome, &s->file[at], run->proc[at]);
	return 0;
}

static void *begin_torch(struct tp_facts *facts, const char *path,
			 const struct tp_dialect *dialect)
{
	const struct tp_run *run = tp_facts_run(facts);
	struct sink *s = new_sink(facts, dialect, run->n_procs);
	int err = tp_file_make_dirs(path, 0777);

	if (err)
		tp_say("cannot make the folder '%s': %s", path, strerror(-err));
	for (uint32_t i = 0; !err && i < run->n_procs; i++) {
		s->is_left_out[i] = !speaks_for_rank(run, run->proc[i]);
		s->n_left_out += s->is_left_out[i];
		err = s->is_left_out[i] ? 0 : open_file(s, run, i, path);
	}
	if (!err)
		return s;
	close_files(s);
	free_sink(s);
	return NULL;
}

static void *begin_hta(struct tp_facts *facts, const char *path)
{
	return begin_torch(facts, path, &tp_dialect_hta);
}

static void *begin_plugin(struct tp_facts *facts, const char *path)
{
	return begin_torch(facts, path, &tp_dialect_tb);
}

/* ---- all of them ---- */

static void take_event(void *state, const struct tp_event *event)
{
	struct sink *s = state;

	tp_timeline_event(s->timeline, event);
}

static int end_files(void *state, const struct tp_run *run)
{
	struct sink *s = state;
	int err;

	(void)run;
	tp_timeline_end(s->timeline);
	err = close_files(s);
	if (s->n_left_out)
		tp_say("torch: %u processes beside the one of their rank that "
			"recorded most are not written; the formats chrome and perfetto have them",
			s->n_left_out);
	tp_timeline_say_unplaced(s->timeline);
	free_sink(s);
	return err;
}

const struct tp_sink tp_sink_chrome = {
	.name = "chrome",
	.help = "JSON for ui.perfetto.dev and chrome://tracing (.json.gz)",
	.hint = "open it in https://ui.perfetto.dev",
	.suffix = ".json.gz",
	.begin = begin_chrome,
	.event = take_event,
	.end = end_files,
};

const struct tp_sink tp_sink_torch = {
	.name = "torch",
	.help = "a file per rank as torch.profiler's, for HolisticTraceAnalysis (a folder)",
	.hint = "HolisticTraceAnalysis takes the folder",
	.suffix = "torch",
	.is_folder = true,
	.begin = begin_hta,
	.event = take_event,
	.end = end_files,
};

const struct tp_sink tp_sink_torch_tb = {
	.name = "torch:tb",
	.help = "the same as TensorBoard's torch-tb-profiler reads it (a folder)",
	.hint = "tensorboard --logdir takes the folder",
	.suffix = "torch-tb",
	.is_folder = true,
	.begin = begin_plugin,
	.event = take_event,
	.end = end_files,
};

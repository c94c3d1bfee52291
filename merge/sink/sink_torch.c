/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink_torch.c - a file for each rank as torch.profiler writes it, for HolisticTraceAnalysis, or
 * (torch:tb) for TensorBoard's profiler plugin
 *
 * Both match files, names and categories by text and say little when they do not know one;
 * trainprof-merge(1) lists what they want. They want one process a rank: a rank's is the one that
 * recorded most, the others (data loaders, ended restarts) are in the other formats.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "merge/model/sink.h"
#include "merge/sink/chrome.h"
#include "runtime/base/file.h"

struct sink {
	struct tp_chrome chrome;
	struct tp_chrome_file *file;	/* by proc; those without one have no `out` */
	uint32_t n_left_out;		/* processes */
};

static const struct tp_chrome_style for_hta = {
	.has_real_ids = true,
	.has_stacks = true,
	.has_named_ops = true,
	.runtime = "cuda_runtime",
	.driver = "cuda_driver",
	.forward_backward = "fwdbwd",
};

static const struct tp_chrome_style for_plugin = {
	.has_real_ids = true,
	.has_stacks = true,
	.has_named_ops = true,
	.is_for_plugin = true,
	.runtime = "Runtime",
	.driver = "Runtime",
	.forward_backward = "forward_backward",
};

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
		fprintf(stderr, "trainprof-merge: the name of the result is too long\n");
		return -ENAMETOOLONG;
	}
	s->file[at].out = tp_outfile_open(path);
	if (!s->file[at].out)
		return -EIO;
	s->chrome.file = &s->file[at];
	tp_chrome_put_head(&s->chrome, run->proc[at]);
	return 0;
}

/* Whole JSON, also of a file that gets no more events. */
static int close_files(struct sink *s, const struct tp_run *run)
{
	int err = 0;

	for (uint32_t i = 0; i < run->n_procs; i++) {
		int one;

		if (!s->file[i].out)
			continue;
		s->chrome.file = &s->file[i];
		tp_chrome_put_tail(&s->chrome);
		one = tp_outfile_close(s->file[i].out);
		if (one && !err)
			err = one;
	}
	return err;
}

static void free_sink(struct sink *s)
{
	tp_chrome_fini(&s->chrome);
	free(s->file);
	free(s);
}

static void *begin(struct tp_facts *facts, const char *path, const struct tp_chrome_style *style)
{
	const struct tp_run *run = tp_facts_run(facts);
	struct sink *s = calloc(1, sizeof(*s));
	int err;

	if (!s || tp_chrome_init(&s->chrome, facts, style))
		goto no_memory;
	s->file = calloc(run->n_procs + 1, sizeof(s->file[0]));
	if (!s->file)
		goto no_memory;
	s->chrome.file_of = s->file;
	err = tp_file_make_dirs(path, 0777);
	if (err) {
		fprintf(stderr, "trainprof-merge: cannot make the folder '%s': %s\n", path,
			strerror(-err));
		free_sink(s);
		return NULL;
	}
	for (uint32_t i = 0; i < run->n_procs; i++) {
		if (!speaks_for_rank(run, run->proc[i])) {
			s->n_left_out++;
		} else if (open_file(s, run, i, path)) {
			close_files(s, run);
			free_sink(s);
			return NULL;
		}
	}
	return s;
no_memory:
	fprintf(stderr, "trainprof-merge: cannot write '%s': out of memory\n", path);
	if (s)
		free_sink(s);
	return NULL;
}

static void *begin_hta(struct tp_facts *facts, const char *path)
{
	return begin(facts, path, &for_hta);
}

static void *begin_plugin(struct tp_facts *facts, const char *path)
{
	return begin(facts, path, &for_plugin);
}

static void event(void *state, const struct tp_event *one)
{
	struct sink *s = state;

	tp_chrome_event(&s->chrome, one);
}

static int end(void *state, const struct tp_run *run)
{
	struct sink *s = state;
	int err;

	tp_chrome_end(&s->chrome);
	err = close_files(s, run);
	if (s->n_left_out)
		fprintf(stderr,
			"trainprof-merge: torch: %u processes beside the one of their rank that "
			"recorded most are not written; the formats chrome and perfetto have them\n",
			s->n_left_out);
	tp_chrome_say_unplaced(&s->chrome);
	free_sink(s);
	return err;
}

const struct tp_sink tp_sink_torch = {
	.name = "torch",
	.help = "a file per rank as torch.profiler's, for HolisticTraceAnalysis (a folder)",
	.hint = "HolisticTraceAnalysis takes the folder",
	.suffix = "torch",
	.is_folder = true,
	.begin = begin_hta,
	.event = event,
	.end = end,
};

const struct tp_sink tp_sink_torch_tb = {
	.name = "torch:tb",
	.help = "the same as TensorBoard's torch-tb-profiler reads it (a folder)",
	.hint = "tensorboard --logdir takes the folder",
	.suffix = "torch-tb",
	.is_folder = true,
	.begin = begin_plugin,
	.event = event,
	.end = end,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink_chrome.c - all processes of the run in one file of trace-event JSON, for Perfetto and Chrome
 */
#include <stdio.h>
#include <stdlib.h>

#include "merge/model/sink.h"
#include "merge/sink/chrome.h"

struct sink {
	struct tp_chrome chrome;
	struct tp_chrome_file file;
};

static const struct tp_chrome_style style = {
	.runtime = "cuda_runtime",
	.driver = "cuda_driver",
	.forward_backward = "fwdbwd",
};

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

static void *begin(struct tp_facts *facts, const char *path)
{
	const struct tp_run *run = tp_facts_run(facts);
	struct sink *s = calloc(1, sizeof(*s));

	if (!s || tp_chrome_init(&s->chrome, facts, &style)) {
		fprintf(stderr, "trainprof-merge: cannot write '%s': out of memory\n", path);
		goto out;
	}
	s->file.out = tp_outfile_open(path);
	if (!s->file.out)
		goto out;
	s->chrome.file = &s->file;
	tp_chrome_put_head(&s->chrome, only_rank(run));
	return s;
out:
	if (s)
		tp_chrome_fini(&s->chrome);
	free(s);
	return NULL;
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

	(void)run;
	tp_chrome_end(&s->chrome);
	tp_chrome_put_tail(&s->chrome);
	err = tp_outfile_close(s->file.out);
	tp_chrome_say_unplaced(&s->chrome);
	tp_chrome_fini(&s->chrome);
	free(s);
	return err;
}

const struct tp_sink tp_sink_chrome = {
	.name = "chrome",
	.help = "JSON for ui.perfetto.dev and chrome://tracing (.json.gz)",
	.hint = "open it in https://ui.perfetto.dev",
	.suffix = ".json.gz",
	.begin = begin,
	.event = event,
	.end = end,
};

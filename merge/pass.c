/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass.c - one pass over the events of a run: facts, then the sinks and views that stand on them
 */
#include "merge/pass.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "merge/input/fuse.h"
#include "merge/kit/say.h"

void tp_pass_begin(struct tp_pass *pass)
{
	pass->facts = tp_facts_new(pass->run);
	for (uint32_t i = 0; i < pass->n_sinks && !pass->is_bad; i++) {
		const struct tp_sink *sink = pass->sink[i];

		if (sink->prepare)
			sink->prepare(pass->options);
		if (sink->write) {
			pass->is_bad = sink->write(pass->run, pass->path[i]) != 0;
		} else {
			pass->sink_state[i] = sink->begin(pass->facts, pass->path[i]);
			pass->is_bad = !pass->sink_state[i];
		}
		pass->n_begun += !pass->is_bad;
	}
	for (uint32_t i = 0; i < pass->n_views; i++)
		pass->view_state[i] = pass->view[i]->begin(pass->facts, pass->options);
}

static bool needs_events(const struct tp_pass *pass)
{
	bool needs = pass->needs_all || tp_facts_want_events(pass->facts);

	for (uint32_t i = 0; i < pass->n_begun; i++)
		needs |= pass->sink[i]->event != NULL;
	return needs;
}

static void give_event(void *ctx, const struct tp_event *event)
{
	struct tp_pass *pass = ctx;

	tp_facts_event(pass->facts, event);
	for (uint32_t i = 0; i < pass->n_sinks; i++)
		if (pass->sink[i]->event)
			pass->sink[i]->event(pass->sink_state[i], event);
}

void tp_pass_run(struct tp_pass *pass)
{
	int err = 0;

	if (!pass->is_bad && needs_events(pass))
		err = tp_fuse_events(pass->run, give_event, pass);
	if (err) {
		tp_say("the events could not be read to their end: %s",
			strerror(-err));
		pass->is_bad = true;
	}
	tp_facts_end(pass->facts);
}

void tp_pass_end(struct tp_pass *pass)
{
	for (uint32_t i = 0; i < pass->n_begun; i++)
		if (!pass->sink[i]->write && pass->sink[i]->end(pass->sink_state[i], pass->run))
			pass->is_bad = true;
}

void tp_pass_free(struct tp_pass *pass)
{
	tp_facts_free(pass->facts);
	pass->facts = NULL;
}

int tp_pass_write(struct tp_run *run, const struct tp_sink *sink, const char *path)
{
	struct tp_pass pass = {.run = run};
	void *state;
	int err;

	if (sink->prepare)
		sink->prepare(&(struct tp_view_options){.all = tp_views});
	pass.facts = tp_facts_new(run);
	state = sink->begin(pass.facts, path);
	if (!state) {
		tp_pass_free(&pass);
		return -EIO;
	}
	pass.sink[pass.n_sinks++] = sink;
	pass.sink_state[0] = state;
	pass.n_begun = 1;
	tp_pass_run(&pass);
	err = sink->end(state, run);
	tp_pass_free(&pass);
	return err;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * no_work.c - counts launches by window when the join of launches and work forgets them
 */
#include "merge/facts/program/no_work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/facts/time/launches.h"
#include "merge/kit/need.h"
#include "merge/kit/show.h"
#include "merge/model/label.h"

enum { PART = 10 };	/* a tenth of the launches of a window */

static struct tp_no_work_window *find_window(struct tp_no_work *missing, const struct tp_launch_call *call)
{
	const struct tp_run *run = missing->run;

	for (uint32_t i = 0; i < run->n_windows; i++) {
		uint32_t at = (missing->last + i) % run->n_windows;

		if (run->window[at].proc == call->proc && run->window[at].window == call->window) {
			missing->last = at;
			return &missing->of[at];
		}
	}
	return NULL;
}

static void take_gone(void *ctx, const struct tp_launch_call *call)
{
	const char *name = call->name->bytes;
	struct tp_no_work_window *window;

	/* The runtime's own: a driver call inside one has the outer one's work. */
	if (!name || strncmp(name, "cuda", 4) != 0)
		return;
	window = find_window(ctx, call);
	if (!window)
		return;
	window->n_captures += strstr(name, "BeginCapture") != NULL;
	if (!strstr(name, "LaunchKernel") && !strstr(name, "GraphLaunch"))
		return;
	window->n_launches++;
	window->n_without += !call->n_work;
}

static void take_work(void *ctx, const struct tp_event *event, struct tp_launch_call *call)
{
}

static void begin_no_work(void *state, struct tp_facts *facts, const void *params)
{
	struct tp_no_work *missing = state;

	missing->run = tp_facts_run(facts);
	missing->of = tp_need(missing->run->n_windows, sizeof(*missing->of));
	tp_launches_read(tp_facts_want(facts, &tp_fact_launches_cut, NULL), take_work, take_gone, missing);
}

static void free_no_work(void *state)
{
	free(((struct tp_no_work *)state)->of);
}

const struct tp_fact tp_fact_no_work = {
	.name = "launches without work",
	.bytes = sizeof(struct tp_no_work),
	.begin = begin_no_work,
	.free = free_no_work,
};

const struct tp_no_work_window *tp_no_work_next(const struct tp_no_work *missing, uint32_t *i)
{
	while (*i < missing->run->n_windows) {
		const struct tp_no_work_window *window = &missing->of[(*i)++];

		if (!window->n_captures && window->n_without &&
		    window->n_without >= window->n_launches / PART)
			return window;
	}
	return NULL;
}

const char *tp_no_work_show(char buf[200], const struct tp_no_work *missing, uint32_t window)
{
	const struct tp_no_work_window *of = &missing->of[window];
	const struct tp_run *run = missing->run;
	char who[64], a[32], b[32];

	snprintf(buf, 200,
		 "%s of %s launches of kernels and graphs in window %u%s%s have no work that was recorded",
		 tp_show_count(a, of->n_without), tp_show_count(b, of->n_launches),
		 run->window[window].window,
		 tp_label_is_needed(run) ? " of " : "",
		 tp_label_is_needed(run) ? tp_label_proc(who, run, run->window[window].proc) : "");
	return buf;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_timeline.c - part of the page: each recorded step of each rank as a timeline
 *
 * Steps are chosen from the ledgers before the events come: all that were recorded, or, of more than
 * STEPS_MAX, every n-th. A rank's slowest and median step are shown with more spans than the others.
 * Memory: the spans that are shown, packed (page_spans.h), and distinct names, stacks, modules and shapes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/facts/program/step_timeline.h"
#include "merge/facts/time/gpu_time.h"
#include "merge/facts/time/launches.h"
#include "merge/kit/grow.h"
#include "merge/kit/need.h"
#include "merge/page/page_part.h"
#include "merge/page/page_spans.h"
#include "merge/page/page_words.h"
#include "runtime/trace/kinds.h"
#include "runtime/trace/torch_names.h"

enum {
	STEPS_MAX = 2048,	/* of all ranks */
	SPANS_CHOSEN = 110000,	/* of the slowest and median steps */
	SPANS_OTHERS = 180000,	/* of all others: the whole page stays under 5 MB */
	SPANS_MOST = 8000,	/* of one step */
	SPANS_LEAST = 50,
};

struct step {
	const struct tp_proc *proc;
	uint64_t index;
	const char *why;	/* "median", "slowest", "only"; "": one of the others */
	struct tp_page_spans spans;
	bool is_ended;
};

/* Steps of a process, by begin: those before `live` are over. */
struct steps_of {
	uint32_t first, n, live;
	uint32_t n_recorded;
};

struct timeline {
	const struct tp_run *run;
	struct tp_launches *launches;
	struct tp_page_words *words;
	struct step *step;
	uint32_t n_steps, cap_steps;
	struct steps_of *of_proc;	/* by tp_proc.at */
	bool is_incomplete;
};

/* ---- which steps ---- */

static void add_step(struct timeline *t, const struct tp_step_row *row, const char *why)
{
	struct steps_of *of = &t->of_proc[row->proc->at];

	if (!tp_grow(&t->step, &t->cap_steps, (uint64_t)t->n_steps + 1, sizeof(*t->step))) {
		t->is_incomplete = true;
		return;
	}
	if (!of->n++)
		of->first = of->live = t->n_steps;
	t->step[t->n_steps++] = (struct step){
		.proc = row->proc, .index = row->index, .why = why,
		.spans = {.begin_ns = row->begin_ns, .end_ns = row->begin_ns + row->dur_ns, .fine = 1},
	};
}

/* Recorded rows of one process, by length: its median and slowest one, and every n-th of the rest. */
static void choose(struct timeline *t, const struct tp_step_row **recorded, uint32_t n, uint32_t most)
{
	const struct tp_step_row *first = recorded[0];
	const struct tp_step_row *slowest, *median;
	uint32_t each = (n + most - 1) / most, i = 0;

	for (uint32_t k = 1; k < n; k++)
		first = recorded[k] < first ? recorded[k] : first;
	qsort(recorded, n, sizeof(const struct tp_step_row *), tp_step_compare_slow);
	slowest = recorded[0];
	median = recorded[n / 2];
	t->of_proc[first->proc->at].n_recorded = n;
	for (const struct tp_step_row *row = first; i < n; row++) {
		if (!tp_step_has_timeline(t->run, row, NULL))
			continue;
		if (row == median)
			add_step(t, row, n > 1 ? "median" : "only");
		else if (row == slowest)
			add_step(t, row, "slowest");
		else if (i % each == 0)
			add_step(t, row, "");
		i++;
	}
}

/* Returns how many rows of the ledger are of the process. */
static uint32_t choose_of_proc(struct timeline *t, uint32_t first, uint32_t most)
{
	const struct tp_run *run = t->run;
	const struct tp_step_row **recorded;
	uint32_t n = 0, n_recorded = 0;

	while (first + n < run->n_steps && run->step[first + n].proc == run->step[first].proc)
		n++;
	recorded = malloc((size_t)n * sizeof(const struct tp_step_row *));
	for (uint32_t i = first; recorded && i < first + n; i++)
		if (tp_step_has_timeline(run, &run->step[i], NULL))
			recorded[n_recorded++] = &run->step[i];
	if (n_recorded)
		choose(t, recorded, n_recorded, most);
	free(recorded);
	return n;
}

static uint32_t share_of(uint32_t spans, uint32_t n)
{
	uint32_t most = n ? spans / n : 0;

	return most < SPANS_LEAST ? SPANS_LEAST : most > SPANS_MOST ? SPANS_MOST : most;
}

static void choose_all(struct timeline *t)
{
	const struct tp_run *run = t->run;
	uint32_t n_procs = 0, n_chosen = 0, most;

	for (uint32_t i = 0; i < run->n_steps; i++)
		n_procs += !i || run->step[i].proc != run->step[i - 1].proc;
	most = n_procs ? STEPS_MAX / n_procs : 0;
	for (uint32_t i = 0; i < run->n_steps;)
		i += choose_of_proc(t, i, most ? most : 1);
	for (uint32_t i = 0; i < t->n_steps; i++)
		n_chosen += *t->step[i].why != 0;
	for (uint32_t i = 0; i < t->n_steps; i++)
		t->step[i].spans.most =
			*t->step[i].why ? share_of(SPANS_CHOSEN, n_chosen)
					: share_of(SPANS_OTHERS, t->n_steps - n_chosen);
}

/* ---- spans ---- */

/* 'o'perator, 'r'ange, 'c'all, 'k'ernel, 'm'emory, 'n'etwork, 's'ynchronisation */
static char kind_of(const struct tp_event *event)
{
	switch (event->kind) {
	case TP_REC_OP:
		return 'o';
	case TP_REC_CALL:
		return 'c';
	case TP_REC_KERNEL:
	case TP_REC_GRAPH:
		return tp_gpu_is_communication(event) ? 'n' : 'k';
	case TP_REC_MEMCPY:
	case TP_REC_MEMSET:
		return 'm';
	case TP_REC_SYNC:
		return 's';
	case TP_REC_COLL:
	case TP_REC_XFER:
		return 'n';
	case TP_REC_RANGE:
		return tp_comm_is_range(event->name->bytes, event->name->n_bytes) ? 'n' : 'r';
	default:
		return 'r';
	}
}

/* The lane of its thread, stream or process; of communication on the host one of its own. */
static uint32_t lane_of(struct timeline *t, struct tp_page_spans *spans, const struct tp_event *event,
			char kind)
{
	enum tp_step_lane sort = tp_step_lane_of(event);
	const void *of = event->thread;
	uint32_t n = spans->n_lanes, at;

	if (sort != TP_LANE_QUEUE && kind == 'n')
		sort = TP_LANE_COLL;
	if (sort == TP_LANE_QUEUE)
		of = event->queue;
	else if (sort == TP_LANE_COLL)
		of = event->proc;
	at = tp_page_spans_lane(spans, of, sort == TP_LANE_ASYNC || sort == TP_LANE_COLL);
	if (spans->n_lanes > n)
		spans->lane[at].number = tp_page_words_lane(t->words, event->proc, sort, of);
	return at;
}

/* Which call started a piece of a device's work, if that was in the step. */
static void note_call(struct timeline *t, struct tp_page_spans *spans, struct tp_page_span *span,
		      const struct tp_event *event)
{
	const struct tp_launch_call *call = tp_launches_find(t->launches, event);

	if (!call || !call->thread || call->begin_ns < spans->begin_ns ||
	    call->begin_ns >= spans->end_ns)
		return;
	for (uint32_t i = 0; i < spans->n_lanes; i++)
		if (spans->lane[i].of == call->thread && !spans->lane[i].may_cross) {
			span->from_lane = (uint16_t)i;
			span->from = tp_page_spans_slot(spans, call->begin_ns);
		}
}

static void take_span(struct timeline *t, struct step *step, const struct tp_event *event)
{
	const char kind = kind_of(event);
	uint32_t lane = lane_of(t, &step->spans, event, kind);
	struct tp_page_span *span;

	if (lane == TP_PAGE_NO_LANE)
		return;
	span = tp_page_spans_take(&step->spans, lane, event->begin_ns, event->end_ns);
	if (!span)
		return;
	span->word = tp_page_words_name(t->words, event->name, kind);
	if (tp_step_lane_of(event) != TP_LANE_QUEUE)
		span->detail = tp_page_words_detail(t->words, event);
	else if (span->n == 1)
		note_call(t, &step->spans, span, event);
}

/* The process whose steps it is shown in: a worker stands behind its rank. */
static const struct tp_proc *root_of(const struct tp_run *run, const struct tp_proc *proc)
{
	const struct tp_proc *root = proc;

	while (root->worker && root->at && root->at < run->n_procs)
		root = run->proc[root->at - 1];
	return proc->worker && root->run_id == proc->parent_run_id ? root : proc;
}

/* No more of it will come: it takes no more room than in the page. */
static void end_step(struct timeline *t, struct step *step)
{
	tp_page_spans_end(&step->spans);
	tp_page_words_use(t->words, &step->spans);
	tp_page_spans_pack(&step->spans);
	step->is_ended = true;
}

static void take_event(void *state, const struct tp_event *ev)
{
	struct timeline *t = state;
	const struct tp_proc *root;
	struct steps_of *of;

	if (!tp_step_draws(ev))
		return;
	root = root_of(t->run, ev->proc);
	if (root->at >= t->run->n_procs)
		return;
	of = &t->of_proc[root->at];
	/* Events come in order of begin: none of an ended step will come. */
	for (; of->live < of->first + of->n && t->step[of->live].spans.end_ns <= ev->begin_ns; of->live++)
		end_step(t, &t->step[of->live]);
	for (uint32_t i = of->live; i < of->first + of->n; i++) {
		if (t->step[i].spans.begin_ns >= ev->end_ns)
			break;
		if (ev->begin_ns < t->step[i].spans.end_ns)
			take_span(t, &t->step[i], ev);
	}
}

static void begin_timeline(void *state, struct tp_facts *facts, const void *params)
{
	const struct tp_run *run = tp_facts_run(facts);
	struct timeline *t = state;

	t->run = run;
	t->of_proc = tp_need((size_t)run->n_procs + 1, sizeof(*t->of_proc));
	t->words = tp_page_words_new(facts);
	if (!t->words)
		tp_need_failed();
	t->launches = tp_facts_want(facts, &tp_fact_launches_cut, NULL);
	choose_all(t);
}

static void end_timeline(void *state)
{
	struct timeline *t = state;

	for (uint32_t i = 0; i < t->n_steps; i++) {
		if (!t->step[i].is_ended)
			end_step(t, &t->step[i]);
		t->is_incomplete |= t->step[i].spans.is_incomplete;
	}
}

static void free_timeline(void *state)
{
	struct timeline *t = state;

	for (uint32_t i = 0; i < t->n_steps; i++)
		tp_page_spans_free(&t->step[i].spans);
	tp_page_words_free(t->words);
	free(t->step);
	free(t->of_proc);
}

static const struct tp_fact fact_timeline = {
	.name = "steps as timelines",
	.bytes = sizeof(struct timeline),
	.kinds = TP_FACT_KIND(TP_REC_OP) | TP_FACT_KIND(TP_REC_RANGE) | TP_FACT_KIND(TP_REC_CALL) |
		 TP_FACT_KIND(TP_REC_COLL) | TP_FACT_KIND(TP_REC_XFER) | TP_FACT_KIND(TP_REC_OVERHEAD) |
		 TP_FACT_KIND(TP_REC_SYNC) | TP_FACT_WORK_KINDS,
	.is_cut = true,
	.begin = begin_timeline,
	.event = take_event,
	.end = end_timeline,
	.free = free_timeline,
};

/* ---- writing ---- */

static void put_step(const struct step *step, struct tp_html *html)
{
	tp_html_open(html, NULL, '{');
	tp_html_integer(html, "proc", step->proc->at);
	tp_html_integer(html, "step", (int64_t)step->index);
	tp_html_text(html, "why", step->why);
	tp_html_integer(html, "begin_ns", step->spans.begin_ns);
	tp_html_integer(html, "time_ns", step->spans.end_ns - step->spans.begin_ns);
	tp_html_integer(html, "events", (int64_t)step->spans.n_events);
	tp_html_integer(html, "fine", step->spans.fine);
	tp_page_spans_put(&step->spans, html, "spans");
	tp_html_close(html, '}');
}

/* Of each process: how many steps were recorded, of which `steps` has some or all. */
static void put_recorded(const struct timeline *t, struct tp_html *html)
{
	tp_html_open(html, "recorded", '[');
	for (uint32_t i = 0; i < t->run->n_procs; i++)
		tp_html_integer(html, NULL, t->of_proc[i].n_recorded);
	tp_html_close(html, ']');
}

static bool write(void *state, const struct tp_run *run, struct tp_html *html)
{
	struct timeline *t = state;

	tp_html_integer(html, "slots", TP_PAGE_SLOTS);
	put_recorded(t, html);
	tp_page_words_put(t->words, html);
	tp_html_open(html, "steps", '[');
	for (uint32_t i = 0; i < t->n_steps; i++)
		put_step(&t->step[i], html);
	tp_html_close(html, ']');
	if (t->is_incomplete || tp_page_words_is_incomplete(t->words))
		tp_html_integer(html, "is_cut", 1);
	return t->n_steps > 0;
}

const struct tp_page_part tp_page_timeline = {
	.id = "data-timeline",
	.fact = &fact_timeline,
	.write = write,
};

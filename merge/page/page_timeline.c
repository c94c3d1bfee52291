/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_timeline.c - part of the page: single steps of each rank as a timeline
 *
 * Of each process that trains: its slowest recorded step and a median one, chosen from the ledgers
 * before the events come. A step is cut into slots as fine as a wide screen; what is shorter
 * than a slot is drawn together with its neighbours, so that nothing is thinner than a pixel.
 * Memory: slots of the rows of the steps chosen.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/facts/time/gpu_time.h"
#include "merge/facts/time/recorded.h"
#include "merge/kit/demangle.h"
#include "merge/kit/grow.h"
#include "merge/kit/keyed.h"
#include "merge/kit/need.h"
#include "merge/model/device.h"
#include "merge/model/label.h"
#include "merge/model/title.h"
#include "merge/page/page_part.h"
#include "runtime/trace/kinds.h"
#include "runtime/trace/torch_names.h"

enum {
	SLOTS = 4096,		/* of a step */
	DEPTH_MAX = 24,		/* rows of a thread or stream */
	STEPS_MAX = 128,	/* chosen, of all ranks */
	SPANS_WRITTEN = 24000,	/* of all steps */
	SPANS_LEAST = 400,	/* of one */
};

/* A row of spans that do not overlap, as slots [begin, end). */
struct span {
	uint32_t lane, begin, end;
	uint32_t name;		/* of the longest that it stands for */
	uint32_t n;		/* so many */
	uint32_t longest;	/* ns */
	uint8_t depth, category;
};

/* A thread or a stream; of a thread another one for what is asynchronous, and may cross. */
struct lane {
	const void *of;
	const struct tp_proc *proc;	/* perhaps a worker of the step's */
	bool is_queue, is_async;
	const struct tp_thread *thread;
	const struct tp_queue *queue;
	int64_t open_end[DEPTH_MAX];
	uint32_t depth;
	uint32_t last[DEPTH_MAX];	/* the last span of the row, plus one */
};

struct step {
	const struct tp_proc *proc;
	uint64_t index;
	const char *why;
	int64_t begin_ns, end_ns;
	struct lane *lane;
	uint32_t n_lanes, cap_lanes;
	struct span *span;
	uint32_t n_spans, cap_spans;
	uint64_t n_events;
};

struct timeline {
	const struct tp_run *run;
	struct step step[STEPS_MAX];
	uint32_t n_steps;
	/* Until when the steps that have begun go on, and when the next one begins. */
	int64_t until_ns, next_ns;
	uint32_t *of_proc;		/* by proc: its first step, plus one */
	const struct tp_string **name;
	uint32_t n_names, cap_names;
	struct tp_keyed keyed;		/* names by tp_string.same */
	bool is_incomplete;
};

/* ---- which steps ---- */

static int compare_rows(const void *a, const void *b)
{
	const struct tp_step_row *const *x = a, *const *y = b;

	if ((*x)->dur_ns != (*y)->dur_ns)
		return (*x)->dur_ns < (*y)->dur_ns ? 1 : -1;
	return (*x > *y) - (*x < *y);
}

static void choose(struct timeline *t, const struct tp_step_row *row, const char *why)
{
	struct step *step = &t->step[t->n_steps];

	if (t->n_steps == STEPS_MAX || row->dur_ns <= 0)
		return;
	*step = (struct step){.proc = row->proc, .index = row->index, .why = why,
			      .begin_ns = row->begin_ns, .end_ns = row->begin_ns + row->dur_ns};
	if (!t->of_proc[row->proc->at])
		t->of_proc[row->proc->at] = t->n_steps + 1;
	t->n_steps++;
}

/* Returns how many rows of the ledger are of the process. */
static uint32_t choose_of_proc(struct timeline *t, uint32_t first)
{
	const struct tp_run *run = t->run;
	const struct tp_step_row **recorded;
	uint32_t n = 0, n_recorded = 0;

	while (first + n < run->n_steps && run->step[first + n].proc == run->step[first].proc)
		n++;
	recorded = malloc((size_t)n * sizeof(const struct tp_step_row *));
	for (uint32_t i = first; recorded && i < first + n; i++)
		if (tp_is_recorded(run, &run->step[i]))
			recorded[n_recorded++] = &run->step[i];
	if (n_recorded) {
		qsort(recorded, n_recorded, sizeof(const struct tp_step_row *), compare_rows);
		choose(t, recorded[n_recorded / 2], n_recorded > 1 ? "median" : "only");
		if (n_recorded > 1)
			choose(t, recorded[0], "slowest");
	}
	free(recorded);
	return n;
}

/* ---- spans ---- */

static struct lane *lane_of(struct step *step, const struct tp_event *event)
{
	const void *of = event->queue ? (const void *)event->queue : (const void *)event->thread;
	const bool is_async = tp_kind_is_async(event->kind, event->flags);

	for (uint32_t i = 0; i < step->n_lanes; i++)
		if (step->lane[i].of == of && step->lane[i].is_async == is_async)
			return &step->lane[i];
	if (!tp_grow(&step->lane, &step->cap_lanes, (uint64_t)step->n_lanes + 1,
		     sizeof(*step->lane)))
		return NULL;
	step->lane[step->n_lanes] = (struct lane){.of = of, .proc = event->proc,
						  .is_queue = event->queue != NULL,
						  .is_async = is_async,
						  .thread = event->thread, .queue = event->queue};
	return &step->lane[step->n_lanes++];
}

static uint32_t name_of(struct timeline *t, const struct tp_string *name)
{
	uint32_t hash = tp_keyed_hash(name->same), at, i;

	for (i = tp_keyed_first(&t->keyed, hash, &at); i != TP_NO_KEYED;
	     i = tp_keyed_next(&t->keyed, hash, &at))
		if (t->name[i]->same == name->same)
			return i;
	if (!tp_grow(&t->name, &t->cap_names, (uint64_t)t->n_names + 1, sizeof(name)) ||
	    !tp_keyed_add(&t->keyed, hash, t->n_names)) {
		t->is_incomplete = true;
		return 0;
	}
	t->name[t->n_names] = name;
	return t->n_names++;
}

/* The row below all that are open on the lane. */
static uint32_t depth_of(struct lane *lane, int64_t begin_ns, int64_t end_ns)
{
	uint32_t depth = 0;

	/* The first row that is free, where nothing is in anything. */
	while (lane->is_async && depth + 1 < DEPTH_MAX && lane->open_end[depth] > begin_ns)
		depth++;
	if (lane->is_async) {
		lane->open_end[depth] = end_ns;
		return depth;
	}
	while (lane->depth && lane->open_end[lane->depth - 1] <= begin_ns)
		lane->depth--;
	if (lane->depth < DEPTH_MAX)
		lane->open_end[lane->depth++] = end_ns;
	return lane->depth - 1;
}

static uint32_t slot_of(const struct step *step, int64_t ns)
{
	return (uint32_t)((double)(ns - step->begin_ns) * SLOTS /
			  (double)(step->end_ns - step->begin_ns));
}

/* 'o'perator, 'r'ange, 'c'all, 'k'ernel, 'm'emory, 'n'etwork, 's'ynchronisation */
static uint8_t category_of(const struct tp_event *event)
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
	case TP_REC_RANGE:
		return tp_comm_is_range(event->name->bytes, event->name->n_bytes) ? 'n' : 'r';
	default:
		return 'r';
	}
}

static void take_into(struct span *span, const struct span *more)
{
	span->end = more->end > span->end ? more->end : span->end;
	span->n += more->n;
	if (more->longest <= span->longest)
		return;
	span->longest = more->longest;
	span->name = more->name;
	span->category = more->category;
}

/* Both are small, or they share a slot: they cannot be told apart on a screen. */
static bool is_one(const struct span *last, const struct span *next, uint32_t slots)
{
	bool are_small = last->n > 1 ? next->end - next->begin <= slots
				     : last->end - last->begin <= slots &&
					       next->end - next->begin <= slots;

	return next->begin < last->end || (are_small && next->begin <= last->end + slots - 1);
}

static void take_span(struct timeline *t, struct step *step, const struct tp_event *event)
{
	int64_t begin_ns = event->begin_ns < step->begin_ns ? step->begin_ns : event->begin_ns;
	int64_t end_ns = event->end_ns > step->end_ns ? step->end_ns : event->end_ns;
	struct lane *lane = lane_of(step, event);
	uint64_t ns = (uint64_t)(end_ns - begin_ns);
	struct span span, *last;

	if (!lane) {
		t->is_incomplete = true;
		return;
	}
	step->n_events++;
	span = (struct span){
		.lane = (uint32_t)(lane - step->lane),
		.begin = slot_of(step, begin_ns), .end = slot_of(step, end_ns),
		.name = name_of(t, event->name), .n = 1,
		.longest = ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns,
		.depth = (uint8_t)depth_of(lane, begin_ns, end_ns),
		.category = category_of(event),
	};
	span.end += span.end == span.begin;
	last = lane->last[span.depth] ? &step->span[lane->last[span.depth] - 1] : NULL;
	if (last && is_one(last, &span, 1)) {
		take_into(last, &span);
		return;
	}
	if (!tp_grow(&step->span, &step->cap_spans, (uint64_t)step->n_spans + 1, sizeof(span))) {
		t->is_incomplete = true;
		return;
	}
	step->span[step->n_spans++] = span;
	lane->last[span.depth] = step->n_spans;
}

static bool is_drawn(const struct tp_event *event)
{
	return event->kind == TP_REC_OP || event->kind == TP_REC_RANGE ||
	       event->kind == TP_REC_CALL || tp_device_is_work(event) ||
	       (event->kind == TP_REC_SYNC && event->queue);
}

/* The process whose steps it is shown in: a worker stands behind its rank. */
static const struct tp_proc *root_of(const struct tp_run *run, const struct tp_proc *proc)
{
	const struct tp_proc *root = proc;

	while (root->worker && root->at && root->at < run->n_procs)
		root = run->proc[root->at - 1];
	return proc->worker && root->run_id == proc->parent_run_id ? root : proc;
}

/* The present has come to a step's begin, or is before all of them. */
static void find_next(struct timeline *t, int64_t now)
{
	t->until_ns = INT64_MIN;
	t->next_ns = INT64_MAX;
	for (uint32_t i = 0; i < t->n_steps; i++) {
		const struct step *step = &t->step[i];

		if (step->begin_ns <= now && step->end_ns > t->until_ns)
			t->until_ns = step->end_ns;
		if (step->begin_ns > now && step->begin_ns < t->next_ns)
			t->next_ns = step->begin_ns;
	}
}

static void take_event(void *state, const struct tp_event *ev)
{
	struct timeline *t = state;
	const struct tp_proc *root;

	if (ev->begin_ns >= t->next_ns)
		find_next(t, ev->begin_ns);
	if (ev->begin_ns >= t->until_ns && ev->end_ns <= t->next_ns)
		return;
	if (!is_drawn(ev))
		return;
	root = root_of(t->run, ev->proc);
	if (root->at >= t->run->n_procs || !t->of_proc[root->at])
		return;
	for (uint32_t i = t->of_proc[root->at] - 1; i < t->n_steps && t->step[i].proc == root; i++)
		if (ev->begin_ns < t->step[i].end_ns && ev->end_ns > t->step[i].begin_ns)
			take_span(t, &t->step[i], ev);
}

static void begin_timeline(void *state, struct tp_facts *facts, const void *params)
{
	const struct tp_run *run = tp_facts_run(facts);
	struct timeline *t = state;

	t->run = run;
	t->of_proc = tp_need((size_t)run->n_procs + 1, sizeof(*t->of_proc));
	for (uint32_t i = 0; i < run->n_steps;)
		i += choose_of_proc(t, i);
	find_next(t, INT64_MIN);
}

static void free_timeline(void *state)
{
	struct timeline *t = state;

	for (uint32_t i = 0; i < t->n_steps; i++) {
		free(t->step[i].lane);
		free(t->step[i].span);
	}
	tp_keyed_free(&t->keyed);
	free(t->name);
	free(t->of_proc);
}

static const struct tp_fact fact_timeline = {
	.name = "steps as timelines",
	.bytes = sizeof(struct timeline),
	.kinds = TP_FACT_KIND(TP_REC_OP) | TP_FACT_KIND(TP_REC_RANGE) | TP_FACT_KIND(TP_REC_CALL) |
		 TP_FACT_KIND(TP_REC_SYNC) | TP_FACT_WORK_KINDS,
	.begin = begin_timeline,
	.event = take_event,
	.free = free_timeline,
};

/* ---- writing ---- */

static int compare_spans(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return (x->begin > y->begin) - (x->begin < y->begin);
}

/* By row, and in wider slots until there are few enough. */
static void coarsen(struct step *step, uint32_t most)
{
	if (step->n_spans)
		qsort(step->span, step->n_spans, sizeof(*step->span), compare_spans);
	for (uint32_t slots = 2; step->n_spans > most && slots < SLOTS; slots *= 2) {
		uint32_t n = 0;

		for (uint32_t i = 0; i < step->n_spans; i++) {
			const struct span *span = &step->span[i];
			struct span *last = n ? &step->span[n - 1] : NULL;

			if (last && last->lane == span->lane && last->depth == span->depth &&
			    is_one(last, span, slots))
				take_into(last, span);
			else
				step->span[n++] = *span;
		}
		step->n_spans = n;
	}
}

static void put_lanes(struct tp_html *html, const struct step *step)
{
	char title[TP_TITLE_MAX], label[64];

	tp_html_open(html, "lanes", '[');
	for (uint32_t i = 0; i < step->n_lanes; i++) {
		const struct lane *lane = &step->lane[i];

		if (lane->is_queue) {
			size_t n = (size_t)snprintf(title, sizeof(title), "GPU %u: ",
						    lane->queue->device);

			char stream[TP_TITLE_MAX];
			tp_title_stream(stream, step->proc, lane->queue, 0, false);
			snprintf(title + n, sizeof(title) - n, "%.100s", stream);
			tp_html_text(html, NULL, title);
		} else {
			size_t n = lane->proc->worker
					   ? (size_t)snprintf(title, sizeof(title), "worker %u: ",
							      lane->proc->worker) : 0;

			snprintf(title + n, sizeof(title) - n, "%.64s%s",
				 tp_label_thread(label, lane->thread),
				 lane->is_async ? ", asynchronous" : "");
			tp_html_text(html, NULL, title);
		}
	}
	tp_html_close(html, ']');
}

/* lane, depth, begin, slots, name, how many, kind */
static void put_spans(struct tp_html *html, const struct step *step)
{
	tp_html_open(html, "spans", '[');
	for (uint32_t i = 0; i < step->n_spans; i++) {
		const struct span *span = &step->span[i];

		tp_html_integer(html, NULL, span->lane);
		tp_html_integer(html, NULL, span->depth);
		tp_html_integer(html, NULL, span->begin);
		tp_html_integer(html, NULL, span->end - span->begin);
		tp_html_integer(html, NULL, span->name);
		tp_html_integer(html, NULL, span->n);
		tp_html_integer(html, NULL, span->longest);
		tp_html_integer(html, NULL, span->category);
	}
	tp_html_close(html, ']');
}

static void put_names(const struct timeline *t, struct tp_html *html)
{
	char *readable = malloc(TP_DEMANGLE_TO);

	tp_html_open(html, "names", '[');
	for (uint32_t i = 0; i < t->n_names; i++) {
		const char *bytes = t->name[i]->bytes ? t->name[i]->bytes : "";
		uint32_t n = (uint32_t)strnlen(bytes, t->name[i]->n_bytes);
		const char *better = readable ? tp_demangle(bytes, n, readable, &n) : NULL;

		tp_html_bytes(html, NULL, better ? better : bytes,
			      better ? n : strnlen(bytes, t->name[i]->n_bytes));
	}
	tp_html_close(html, ']');
	free(readable);
}

static void write(void *state, const struct tp_run *run, struct tp_html *html)
{
	struct timeline *t = state;
	uint32_t most = t->n_steps ? SPANS_WRITTEN / t->n_steps : 0;

	most = most < SPANS_LEAST ? SPANS_LEAST : most;
	tp_html_integer(html, "slots", SLOTS);
	tp_html_open(html, "steps", '[');
	for (uint32_t i = 0; i < t->n_steps; i++) {
		struct step *step = &t->step[i];

		coarsen(step, most);
		tp_html_open(html, NULL, '{');
		tp_html_integer(html, "proc", step->proc->at);
		tp_html_integer(html, "step", (int64_t)step->index);
		tp_html_text(html, "why", step->why);
		tp_html_integer(html, "begin_ns", step->begin_ns);
		tp_html_integer(html, "time_ns", step->end_ns - step->begin_ns);
		tp_html_integer(html, "events", (int64_t)step->n_events);
		put_lanes(html, step);
		put_spans(html, step);
		tp_html_close(html, '}');
	}
	tp_html_close(html, ']');
	put_names(t, html);
	if (t->is_incomplete)
		tp_html_integer(html, "is_cut", 1);
}

const struct tp_page_part tp_page_timeline = {
	.id = "data-timeline",
	.fact = &fact_timeline,
	.write = write,
};

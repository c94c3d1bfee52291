/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timebook.c - what stacks cost in time
 *
 * A stack is a path (paths.h) of segments: the process, frames of Python, operators and calls,
 * device work. Frames of Python inside of a span (a user's range) are given without those that
 * stand around the span already.
 */
#include "merge/facts/program/timebook.h"

#include <stdlib.h>
#include <string.h>

#include "merge/facts/origin/module_origin.h"
#include "merge/facts/time/launches.h"
#include "merge/facts/time/paths.h"
#include "merge/facts/time/spans.h"
#include "merge/kit/demangle.h"
#include "merge/kit/grow.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"

enum {
	NODES_MAX = 1 << 18,
	FRAMES_MAX = 512,	/* of Python in one segment; more are left out */
	/* Rows of paths: what a segment is, and its number. */
	SEGMENT_NAME = 0u << 30,
	SEGMENT_PYTHON = 1u << 30,
	SEGMENT_BACKWARD = 2u << 30,	/* the same, of the forward operator */
	SEGMENT_VALUE = (1u << 30) - 1,
	ID_NAME = 0x40000000,	/* function_id of names: stacks.h counts its own from 0 */
	ID_BACKWARD = 0x7fffffff,
};

struct cost {
	uint32_t proc;
	uint32_t stack;		/* of Python, the innermost of the path; 0: none */
	bool is_cut;		/* who launched it is not known */
	int64_t ns[TP_TIME_COSTS];
};

/* The node that a stack of Python had last. */
struct python {
	uint32_t parent, row, node;
};

struct tp_timebook {
	struct tp_origins *origins;
	struct tp_names *names;
	struct tp_spans *spans;
	uint32_t *open;		/* the node of an open span, by tp_nest_span.slot; 0: none */
	uint32_t cap_open;
	struct tp_launches *launches;
	struct tp_launch_notes node_of;	/* of calls */
	struct tp_paths paths;
	struct cost *cost;	/* by number of the path */
	uint32_t cap_costs;
	struct python *python;	/* by stack */
	uint32_t cap_python;
	char **title;		/* by name: what C++ calls it; NULL: the name itself */
	uint32_t n_titles;
	struct tp_flame_rows rows;
	const struct tp_run *run;
	bool is_incomplete, is_ended;
};

/* ---- the tree ---- */

/* The node below `parent`; the parent itself when there is no room. */
static uint32_t child_of(struct tp_timebook *book, uint32_t parent, uint32_t row, uint32_t proc,
			 uint32_t stack, bool is_cut)
{
	uint32_t n = book->paths.n, node = tp_paths_child(&book->paths, parent, row);

	if (node == TP_NO_PATH ||
	    !tp_grow(&book->cost, &book->cap_costs, (uint64_t)book->paths.n + 1,
		     sizeof(*book->cost))) {
		/* A full tree loses no time, it tells less of it. */
		book->is_incomplete |= !parent || n < NODES_MAX;
		return parent;
	}
	if (node >= n)
		book->cost[node] = (struct cost){.proc = proc, .stack = stack, .is_cut = is_cut};
	return node;
}

/* A process; of work whose call is not known, another one. */
static uint32_t root_of(struct tp_timebook *book, uint32_t proc, bool is_cut)
{
	return child_of(book, 0, proc << 1 | is_cut, proc, 0, is_cut);
}

static uint32_t name_below(struct tp_timebook *book, uint32_t parent, uint32_t name)
{
	const struct cost *above = &book->cost[parent];

	return child_of(book, parent, SEGMENT_NAME | name, above->proc, above->stack,
			above->is_cut);
}

/* Frames of Python below a node. Most stand below their process's: those are kept by stack, for
 * there are many, and each comes again and again. */
static uint32_t python_below(struct tp_timebook *book, uint32_t parent, uint32_t segment,
			     const struct tp_event *event, uint32_t stack)
{
	uint32_t row = segment | (stack & SEGMENT_VALUE), node;
	struct python *known;

	tp_need_room(&book->python, &book->cap_python, (uint64_t)stack + 1, sizeof(*known));
	known = &book->python[stack];
	if (known->row == row && known->parent == parent)
		return known->node;
	node = child_of(book, parent, row, event->proc->at, stack, false);
	/* Not the parent itself, for want of room. */
	if (node != parent)
		*known = (struct python){.parent = parent, .row = row, .node = node};
	return node;
}

/* ---- events ---- */

static void close_span(void *ctx, const struct tp_nest_span *span)
{
	struct tp_timebook *book = ctx;
	uint32_t node = book->open[span->slot];
	int64_t *ns;

	if (!node)
		return;
	ns = &book->cost[node].ns[TP_TIME_HOST];
	*ns = tp_add(*ns, tp_nest_self_ns(span));
}

/* The node of a span; 0: there is no room. */
static uint32_t node_of(struct tp_timebook *book, const struct tp_event *event,
			const struct tp_nest_span *span)
{
	uint32_t node = span->depth ? book->open[span[-1].slot] : 0;
	struct tp_origin origin;

	if (!node)
		node = root_of(book, event->proc->at, false);
	origin = tp_origins_of(book->origins, event);
	if (node && origin.stack && origin.stack != book->cost[node].stack)
		/* The forward pass does not stand below the call of the backward pass. */
		node = python_below(book,
				    origin.is_backward ? root_of(book, event->proc->at, false) : node,
				    origin.is_backward ? SEGMENT_BACKWARD : SEGMENT_PYTHON, event,
				    origin.stack);
	return node ? name_below(book, node, span->name) : 0;
}

static void take_span(void *state, const struct tp_event *event)
{
	struct tp_timebook *book = state;
	const struct tp_nest_span *span = tp_spans_now(book->spans);
	uint32_t node;

	if (!span)
		return;
	node = node_of(book, event, span);
	tp_need_room(&book->open, &book->cap_open, (uint64_t)span->slot + 1, sizeof(*book->open));
	book->open[span->slot] = node;
	if (event->kind == TP_REC_CALL)
		tp_launch_note(&book->node_of, book->launches, event, node);
}

static void take_launched(void *ctx, const struct tp_event *event, struct tp_launch_call *call)
{
	struct tp_timebook *book = ctx;
	uint32_t name = tp_names_row(book->names, event), node;
	int64_t *ns;

	node = tp_launch_noted(&book->node_of, call);
	if (!node)
		node = root_of(book, event->proc->at, true);
	if (!node || name == TP_NO_NAME)
		return;
	node = name_below(book, node, name);
	ns = &book->cost[node].ns[TP_TIME_DEVICE];
	*ns = tp_add(*ns, event->end_ns - event->begin_ns);
}

static void begin_times(void *state, struct tp_facts *facts, const void *params)
{
	struct tp_timebook *book = state;

	book->run = tp_facts_run(facts);
	book->paths.most = NODES_MAX;
	book->origins = tp_facts_want(facts, &tp_fact_origins_cut, NULL);
	book->launches = tp_facts_want(facts, &tp_fact_launches_cut, NULL);
	book->spans = tp_facts_want(facts, &tp_fact_spans, NULL);
	book->names = tp_spans_names(book->spans);
	tp_spans_read(book->spans, close_span, book);
	tp_launches_read(book->launches, take_launched, NULL, book);
}

static void free_times(void *state)
{
	struct tp_timebook *book = state;

	for (uint32_t i = 0; book->title && i < book->n_titles; i++)
		free(book->title[i]);
	free(book->title);
	tp_launch_notes_free(&book->node_of);
	tp_paths_free(&book->paths);
	free(book->open);
	free(book->python);
	free(book->cost);
}

const struct tp_fact tp_fact_timebook = {
	.name = "time by stack",
	.bytes = sizeof(struct tp_timebook),
	.kinds = TP_FACT_KIND(TP_REC_OP) | TP_FACT_KIND(TP_REC_RANGE) | TP_FACT_KIND(TP_REC_CALL),
	.is_cut = true,
	.begin = begin_times,
	.event = take_span,
	.free = free_times,
};

/* ---- rows ---- */

static bool is_same_function(const struct tp_frame *a, const struct tp_frame *b)
{
	return a->function_id == b->function_id && a->module == b->module &&
	       a->is_python == b->is_python;
}

/* PyTorch's way into a range, and from a module to its forward(): between two functions of Python
 * they say nothing, and there would be three frames for one. */
static bool is_glue(const struct tp_frame *frame)
{
	static const char *const glue[] = {
		"record_function.__enter__", "OpOverloadPacket.__call__",
		"Module._wrapped_call_impl", "Module._call_impl",
	};

	for (uint32_t i = 0; i < sizeof(glue) / sizeof(glue[0]); i++) {
		if (!strcmp(frame->function, glue[i]))
			return true;
	}
	return false;
}

/* Frames of Python, the innermost first, without the outermost ones of `around`. */
static uint32_t put_python(const struct tp_timebook *book, uint32_t stack, uint32_t around,
			   struct tp_frame *frame, uint32_t max)
{
	const struct tp_stacks *stacks = tp_origins_stacks(book->origins);
	struct tp_frame own[FRAMES_MAX], outside[FRAMES_MAX];
	uint32_t n = tp_stacks_frames(stacks, stack, own, FRAMES_MAX);
	uint32_t n_outside = around ? tp_stacks_frames(stacks, around, outside, FRAMES_MAX) : 0;
	uint32_t n_put = 0;

	if (n > FRAMES_MAX)
		n = FRAMES_MAX;
	if (n_outside > FRAMES_MAX)
		n_outside = FRAMES_MAX;
	while (n && n_outside && is_same_function(&own[n - 1], &outside[n_outside - 1])) {
		n--;
		n_outside--;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (is_glue(&own[i]))
			continue;
		if (n_put < max)
			frame[n_put] = own[i];
		n_put++;
	}
	return n_put;
}

static struct tp_frame frame_of_name(const struct tp_timebook *book, uint32_t name)
{
	const char *title = book->title[name];

	return (struct tp_frame){
		.function = title ? title : tp_names_at(book->names, name)->bytes, .file = "",
		.module = "", .function_id = ID_NAME + name,
	};
}

static uint32_t frames_of(const void *of, uint32_t node, struct tp_frame *frame, uint32_t max)
{
	static const struct tp_frame backward = {
		.function = "(its backward pass)", .file = "", .module = "",
		.function_id = ID_BACKWARD,
	};
	const struct tp_timebook *book = of;
	uint32_t n = 0, row, parent;

	for (; (parent = book->paths.path[node].parent); node = parent) {
		row = book->paths.path[node].row;
		if (row & SEGMENT_BACKWARD) {
			if (n < max)
				frame[n] = backward;
			n++;
		}
		if (row & (SEGMENT_PYTHON | SEGMENT_BACKWARD)) {
			n += put_python(book, row & SEGMENT_VALUE, book->cost[parent].stack,
					n < max ? frame + n : NULL, n < max ? max - n : 0);
			continue;
		}
		if (n < max)
			frame[n] = frame_of_name(book, row & SEGMENT_VALUE);
		n++;
	}
	if (n && n <= max && book->cost[node].is_cut)
		frame[n - 1].is_cut = true;
	return n;
}

static void row_of(const void *of, uint32_t at, uint32_t *proc, uint32_t *stack)
{
	const struct tp_timebook *book = of;

	*stack = at + 1;
	*proc = book->cost[at + 1].proc;
}

static uint64_t value_of(const void *of, uint32_t at, uint32_t cost)
{
	const struct tp_timebook *book = of;
	int64_t ns = book->cost[at + 1].ns[cost];

	return ns > 0 ? (uint64_t)ns : 0;
}

static void make_titles(struct tp_timebook *book)
{
	uint32_t n = tp_names_count(book->names), n_text;
	char *readable = malloc(TP_DEMANGLE_TO);

	book->title = calloc((size_t)n + 1, sizeof(book->title[0]));
	book->n_titles = n;
	for (uint32_t i = 0; readable && book->title && i < n; i++) {
		const struct tp_name *name = tp_names_at(book->names, i);
		const char *text = tp_demangle(name->bytes, name->n_bytes, readable, &n_text);

		if (text)
			book->title[i] = strndup(text, n_text);
	}
	free(readable);
}

const struct tp_flame_rows *tp_timebook_rows(struct tp_timebook *book)
{
	static const struct tp_flame_cost costs[TP_TIME_COSTS] = {
		[TP_TIME_HOST] = {"host-time", "time of the host in operators", "host", TP_FLAME_NS,
				  false},
		[TP_TIME_DEVICE] = {"device-time", "time of devices", "device", TP_FLAME_NS, false},
	};

	if (book->is_ended)
		return &book->rows;
	book->is_ended = true;
	make_titles(book);
	book->rows = (struct tp_flame_rows){
		.run = book->run, .what = "time", .cost = costs, .n_costs = TP_TIME_COSTS,
		.row = row_of, .value = value_of, .of = book, .frames = frames_of, .stacks = book,
	};
	if (!book->title || tp_stacks_resolve(tp_origins_stacks(book->origins), NULL))
		book->is_incomplete = true;
	else if (book->paths.n)
		book->rows.n_rows = book->paths.n - 1;
	return &book->rows;
}

bool tp_timebook_is_incomplete(const struct tp_timebook *book)
{
	return book->is_incomplete || tp_origins_is_incomplete(book->origins);
}

bool tp_timebook_has_python(const struct tp_timebook *book)
{
	return tp_origins_has_any(book->origins);
}

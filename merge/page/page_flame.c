/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_flame.c - part of the page: operators by what they were called in, as a flame graph
 *
 * A node is a name below the names around it; processes and threads are the outermost. Its own
 * time is the host's without the spans inside of it; the time of devices is that of the work
 * launched in it. Memory: nodes, up to a limit; beyond it a span counts for the one around it.
 */
#include <stdlib.h>
#include <string.h>

#include "merge/facts/time/launches.h"
#include "merge/facts/time/paths.h"
#include "merge/facts/time/spans.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"
#include "merge/model/label.h"
#include "merge/page/page_part.h"

enum {
	NODES_MAX = 1 << 18,
	NODES_WRITTEN = 6000,
	NOT_WRITTEN = UINT32_MAX,
};

struct node {
	uint32_t depth;		/* 1: a process, 2: a thread */
	uint64_t calls;
	int64_t self_ns, device_ns;
};

/* A node is a path of names; its outermost two rows are a process and a thread. 0: none. */
struct flame {
	const struct tp_run *run;
	struct tp_names *names;
	struct tp_spans *spans;
	uint32_t *open;		/* the node of an open span, by tp_nest_span.slot */
	uint32_t cap_open;
	struct tp_launches *launches;
	struct tp_launch_notes node_of;	/* of calls */
	struct tp_paths paths;
	struct node *node;	/* by number of the path */
	uint32_t n_nodes, cap_nodes;
	bool is_full;
};

/* The parent itself when there is no room. */
static uint32_t child_of(struct flame *f, uint32_t parent, uint32_t row)
{
	uint32_t node = tp_paths_child(&f->paths, parent, row);

	if (node == TP_NO_PATH) {
		f->is_full = true;
		return parent;
	}
	if (node >= f->n_nodes) {
		tp_need_room(&f->node, &f->cap_nodes, (uint64_t)node + 1, sizeof(*f->node));
		f->node[node].depth = f->node[parent].depth + 1;
		f->n_nodes = node + 1;
	}
	return node;
}

/* Threads of one name are one: a backward pass has as many as there are devices. */
static uint32_t thread_of(const struct tp_event *event)
{
	const struct tp_proc *proc = event->proc;

	for (uint32_t i = 0; i < proc->n_threads; i++)
		if (proc->thread[i].is_main == event->thread->is_main &&
		    (event->thread->is_main ||
		     !strcmp(proc->thread[i].name, event->thread->name)))
			return i;
	return 0;
}

/* The node that the span's stands below. */
static uint32_t around(struct flame *f, const struct tp_event *event,
		       const struct tp_nest_span *span)
{
	uint32_t node = span->depth ? f->open[span[-1].slot] : 0;

	if (node)
		return node;
	node = child_of(f, 0, event->proc->at);
	return node ? child_of(f, node, thread_of(event)) : 0;
}

static void close_span(void *ctx, const struct tp_nest_span *span)
{
	struct flame *f = ctx;
	struct node *node = &f->node[f->open[span->slot]];

	node->calls++;
	node->self_ns = tp_add(node->self_ns, tp_nest_self_ns(span));
}

static void take_span(void *state, const struct tp_event *event)
{
	struct flame *f = state;
	const struct tp_nest_span *span = tp_spans_now(f->spans);
	uint32_t node;

	if (!span)
		return;
	node = around(f, event, span);
	if (node)
		node = child_of(f, node, span->name);
	tp_need_room(&f->open, &f->cap_open, (uint64_t)span->slot + 1, sizeof(*f->open));
	f->open[span->slot] = node;
	if (event->kind == TP_REC_CALL)
		tp_launch_note(&f->node_of, f->launches, event, node);
}

static void take_launched(void *ctx, const struct tp_event *event, struct tp_launch_call *call)
{
	struct flame *f = ctx;
	uint32_t node = tp_launch_noted(&f->node_of, call);

	if (node)
		f->node[node].device_ns =
			tp_add(f->node[node].device_ns, event->end_ns - event->begin_ns);
}

static void begin_tree(void *state, struct tp_facts *facts, const void *params)
{
	struct flame *f = state;

	f->run = tp_facts_run(facts);
	f->launches = tp_facts_want(facts, &tp_fact_launches_cut, NULL);
	f->spans = tp_facts_want(facts, &tp_fact_spans, NULL);
	f->names = tp_spans_names(f->spans);
	f->paths.most = NODES_MAX + 1;
	/* The one of what found no room. */
	tp_need_room(&f->node, &f->cap_nodes, 1, sizeof(*f->node));
	f->n_nodes = 1;
	tp_spans_read(f->spans, close_span, f);
	tp_launches_read(f->launches, take_launched, NULL, f);
}

static void free_tree(void *state)
{
	struct flame *f = state;

	tp_launch_notes_free(&f->node_of);
	tp_paths_free(&f->paths);
	free(f->open);
	free(f->node);
}

static const struct tp_fact fact_tree = {
	.name = "operators by what they are called in",
	.bytes = sizeof(struct flame),
	.kinds = TP_FACT_KIND(TP_REC_OP) | TP_FACT_KIND(TP_REC_RANGE) | TP_FACT_KIND(TP_REC_CALL),
	.is_cut = true,
	.begin = begin_tree,
	.event = take_span,
	.free = free_tree,
};

static void *begin(struct tp_facts *facts)
{
	return tp_facts_want(facts, &fact_tree, NULL);
}

/* What a node and all below it cost, on the host or on devices, by which they are chosen. */
struct total {
	int64_t ns, device_ns;
	uint32_t at;		/* when it is written: its number; NOT_WRITTEN: it is not */
};

static int compare_down(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x < y) - (x > y);
}

/* The least total that is written: below it are all but NODES_WRITTEN. */
static int64_t find_least(const struct flame *f, const struct total *total)
{
	int64_t *sorted, least = 0;

	if (f->n_nodes <= NODES_WRITTEN + 1)
		return 0;
	sorted = malloc(f->n_nodes * sizeof(*sorted));
	if (!sorted)
		return INT64_MAX;
	for (uint32_t i = 1; i < f->n_nodes; i++)
		sorted[i - 1] = total[i].ns > total[i].device_ns ? total[i].ns : total[i].device_ns;
	qsort(sorted, f->n_nodes - 1, sizeof(*sorted), compare_down);
	least = sorted[NODES_WRITTEN] + 1;
	free(sorted);
	return least;
}

static void choose(const struct flame *f, struct total *total)
{
	uint32_t n = 0;
	int64_t least;

	/* A node stands behind the one it is in. */
	for (uint32_t i = f->n_nodes; --i > 0;) {
		struct total *parent = &total[f->paths.path[i].parent];

		total[i].ns = tp_add(total[i].ns, f->node[i].self_ns);
		total[i].device_ns = tp_add(total[i].device_ns, f->node[i].device_ns);
		parent->ns = tp_add(parent->ns, total[i].ns);
		parent->device_ns = tp_add(parent->device_ns, total[i].device_ns);
	}
	least = find_least(f, total);
	for (uint32_t i = 1; i < f->n_nodes; i++)
		total[i].at = (total[i].ns || total[i].device_ns) &&
					      (total[i].ns >= least || total[i].device_ns >= least)
				      ? n++
				      : NOT_WRITTEN;
}

static void put_name(const struct flame *f, uint32_t node, struct tp_html *html)
{
	const struct tp_path *path = &f->paths.path[node];
	const struct tp_proc *proc;
	const struct tp_name *name;
	char label[64];

	if (f->node[node].depth == 1) {
		tp_html_text(html, NULL, tp_label_proc(label, f->run, f->run->proc[path->row]));
	} else if (f->node[node].depth == 2) {
		proc = f->run->proc[f->paths.path[path->parent].row];
		if (proc->thread[path->row].is_main)
			tp_html_text(html, NULL, "main thread");
		else
			tp_html_text(html, NULL, proc->thread[path->row].name[0]
							 ? proc->thread[path->row].name
							 : "threads without a name");
	} else {
		name = tp_names_at(f->names, path->row);
		tp_html_bytes(html, NULL, name->bytes, name->n_bytes);
	}
}

/* Names are written once: most stand in many places. */
static void put_names(const struct flame *f, const struct total *total, uint32_t *number,
		      struct tp_html *html)
{
	uint32_t n = 0;

	tp_html_open(html, "names", '[');
	for (uint32_t i = 1; i < f->n_nodes; i++) {
		bool is_span = f->node[i].depth > 2;
		uint32_t name = f->paths.path[i].row;

		if (total[i].at == NOT_WRITTEN || (is_span && number[name]))
			continue;
		put_name(f, i, html);
		n++;
		if (is_span)
			number[name] = n;
	}
	tp_html_close(html, ']');
}

static void put_nodes(const struct flame *f, const struct total *total, uint32_t *number,
		      struct tp_html *html)
{
	uint32_t n = 0;

	/* parent, name, calls, own ns, ns with all below it, ns of devices with all below it */
	tp_html_open(html, "nodes", '[');
	for (uint32_t i = 1; i < f->n_nodes; i++) {
		const struct node *node = &f->node[i];
		const struct tp_path *path = &f->paths.path[i];
		bool is_new = node->depth < 3 || number[path->row] == n + 1;

		if (total[i].at == NOT_WRITTEN)
			continue;
		tp_html_integer(html, NULL, path->parent ? (int64_t)total[path->parent].at : -1);
		tp_html_integer(html, NULL, is_new ? n : number[path->row] - 1);
		n += is_new;
		tp_html_integer(html, NULL, (int64_t)node->calls);
		tp_html_integer(html, NULL, node->self_ns);
		tp_html_integer(html, NULL, total[i].ns);
		tp_html_integer(html, NULL, total[i].device_ns);
	}
	tp_html_close(html, ']');
}

static void write(void *state, const struct tp_run *run, struct tp_html *html)
{
	struct flame *f = state;
	struct total *total;
	uint32_t *number;

	total = calloc((size_t)f->n_nodes + 1, sizeof(*total));
	number = calloc((size_t)tp_names_count(f->names) + 1, sizeof(*number));
	if (total && number) {
		choose(f, total);
		put_names(f, total, number, html);
		put_nodes(f, total, number, html);
	}
	if (f->is_full || !total || !number)
		tp_html_integer(html, "is_cut", 1);
	free(total);
	free(number);
}

const struct tp_page_part tp_page_flame = {
	.id = "data-flame",
	.begin = begin,
	.write = write,
};

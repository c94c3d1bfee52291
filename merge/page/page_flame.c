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

#include "merge/facts/time/gpu_time.h"
#include "merge/facts/time/launches.h"
#include "merge/facts/time/names.h"
#include "merge/facts/time/nest.h"
#include "merge/kit/grow.h"
#include "merge/kit/keyed.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"
#include "merge/model/label.h"
#include "merge/page/page_part.h"

enum {
	NODES_MAX = 1 << 18,
	NODES_WRITTEN = 6000,
	NO_NODE = UINT32_MAX,
};

struct node {
	uint32_t parent;
	uint32_t name;		/* of names; of the outermost two: a process, a thread */
	uint32_t depth;		/* 0: a process, 1: a thread */
	uint64_t calls;
	int64_t self_ns, device_ns;
};

struct flame {
	const struct tp_run *run;
	struct tp_names *names;
	struct tp_nest *nest;
	struct tp_launches *launches;
	struct tp_launch_notes node_of;	/* of calls, plus one */
	struct node *node;
	uint32_t n_nodes, cap_nodes;
	struct tp_keyed keyed;	/* by parent and name */
	bool is_full;
};

static uint32_t child_of(struct flame *f, uint32_t parent, uint32_t depth, uint32_t name)
{
	uint32_t hash = tp_keyed_hash((uint64_t)(parent + 1) << 32 | name), at, i;

	for (i = tp_keyed_first(&f->keyed, hash, &at); i != TP_NO_KEYED;
	     i = tp_keyed_next(&f->keyed, hash, &at))
		if (f->node[i].parent == parent && f->node[i].name == name)
			return i;
	if (f->n_nodes == NODES_MAX ||
	    !tp_grow(&f->node, &f->cap_nodes, (uint64_t)f->n_nodes + 1, sizeof(*f->node)) ||
	    !tp_keyed_add(&f->keyed, hash, f->n_nodes)) {
		f->is_full = true;
		return parent;
	}
	f->node[f->n_nodes] = (struct node){.parent = parent, .name = name, .depth = depth};
	return f->n_nodes++;
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

/* The node of what is open on the event's thread. */
static uint32_t around(struct flame *f, const struct tp_event *event)
{
	uint32_t open;

	if (tp_nest_open(f->nest, event, &open, 1))
		return open;
	open = child_of(f, NO_NODE, 0, event->proc->at);
	return open == NO_NODE ? NO_NODE : child_of(f, open, 1, thread_of(event));
}

static void close_span(void *ctx, const struct tp_nest_span *span)
{
	struct flame *f = ctx;
	struct node *node = &f->node[span->row];

	node->calls++;
	node->self_ns = tp_add(node->self_ns, tp_nest_self_ns(span));
}

static void take_span(struct flame *f, const struct tp_event *event)
{
	uint32_t name = tp_names_row(f->names, event), parent, node;

	if (name == TP_NO_NAME || tp_names_at(f->names, name)->is_private ||
	    (event->flags & TP_F_ASYNC && event->kind != TP_REC_CALL))
		return;
	parent = around(f, event);
	if (parent == NO_NODE)
		return;
	node = child_of(f, parent, f->node[parent].depth + 1, name);
	tp_nest_span(f->nest, event, node, name);
	if (event->kind == TP_REC_CALL)
		tp_launch_note(&f->node_of, f->launches, event, node + 1);
}

static void take_launched(void *ctx, const struct tp_event *event, struct tp_launch_call *call)
{
	struct flame *f = ctx;
	uint32_t noted = tp_launch_noted(&f->node_of, call);

	if (noted)
		f->node[noted - 1].device_ns = tp_add(f->node[noted - 1].device_ns,
						      event->end_ns - event->begin_ns);
}

static void take_event(void *state, const struct tp_event *event)
{
	take_span(state, event);
}

static void begin_tree(void *state, struct tp_facts *facts, const void *params)
{
	struct flame *f = state;

	f->run = tp_facts_run(facts);
	f->launches = tp_facts_want(facts, &tp_fact_launches_cut, NULL);
	f->names = tp_names_new();
	f->nest = tp_nest_new(close_span, f);
	if (!f->nest)
		tp_need_failed();
	tp_launches_read(f->launches, take_launched, NULL, f);
}

static void end_tree(void *state)
{
	struct flame *f = state;

	tp_nest_end(f->nest);
	f->nest = NULL;
}

static void free_tree(void *state)
{
	struct flame *f = state;

	tp_nest_end(f->nest);
	tp_names_free(f->names);
	tp_launch_notes_free(&f->node_of);
	tp_keyed_free(&f->keyed);
	free(f->node);
}

static const struct tp_fact fact_tree = {
	.name = "operators by what they are called in",
	.bytes = sizeof(struct flame),
	.kinds = TP_FACT_KIND(TP_REC_OP) | TP_FACT_KIND(TP_REC_RANGE) | TP_FACT_KIND(TP_REC_CALL),
	.is_cut = true,
	.begin = begin_tree,
	.event = take_event,
	.end = end_tree,
	.free = free_tree,
};

static void *begin(struct tp_facts *facts)
{
	return tp_facts_want(facts, &fact_tree, NULL);
}

/* What a node and all below it cost, on the host or on devices, by which they are chosen. */
struct total {
	int64_t ns, device_ns;
	uint32_t at;		/* when it is written: its number; NO_NODE: it is not */
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

	if (f->n_nodes <= NODES_WRITTEN)
		return 0;
	sorted = malloc(f->n_nodes * sizeof(*sorted));
	if (!sorted)
		return INT64_MAX;
	for (uint32_t i = 0; i < f->n_nodes; i++)
		sorted[i] = total[i].ns > total[i].device_ns ? total[i].ns : total[i].device_ns;
	qsort(sorted, f->n_nodes, sizeof(*sorted), compare_down);
	least = sorted[NODES_WRITTEN] + 1;
	free(sorted);
	return least;
}

static void choose(const struct flame *f, struct total *total)
{
	uint32_t n = 0;
	int64_t least;

	/* A node stands behind the one it is in. */
	for (uint32_t i = f->n_nodes; i--;) {
		const struct node *node = &f->node[i];

		total[i].ns = tp_add(total[i].ns, node->self_ns);
		total[i].device_ns = tp_add(total[i].device_ns, node->device_ns);
		if (node->parent == NO_NODE)
			continue;
		total[node->parent].ns = tp_add(total[node->parent].ns, total[i].ns);
		total[node->parent].device_ns =
			tp_add(total[node->parent].device_ns, total[i].device_ns);
	}
	least = find_least(f, total);
	for (uint32_t i = 0; i < f->n_nodes; i++)
		total[i].at = (total[i].ns || total[i].device_ns) &&
					      (total[i].ns >= least || total[i].device_ns >= least)
				      ? n++
				      : NO_NODE;
}

static void put_name(const struct flame *f, const struct node *node, struct tp_html *html)
{
	const struct tp_proc *proc;
	const struct tp_name *name;
	char label[64];

	if (node->depth == 0) {
		tp_html_text(html, NULL, tp_label_proc(label, f->run, f->run->proc[node->name]));
	} else if (node->depth == 1) {
		proc = f->run->proc[f->node[node->parent].name];
		if (proc->thread[node->name].is_main)
			tp_html_text(html, NULL, "main thread");
		else
			tp_html_text(html, NULL, proc->thread[node->name].name[0]
							 ? proc->thread[node->name].name
							 : "threads without a name");
	} else {
		name = tp_names_at(f->names, node->name);
		tp_html_bytes(html, NULL, name->bytes, name->n_bytes);
	}
}

/* Names are written once: most stand in many places. */
static void put_names(const struct flame *f, const struct total *total, uint32_t *number,
		      struct tp_html *html)
{
	uint32_t n = 0;

	tp_html_open(html, "names", '[');
	for (uint32_t i = 0; i < f->n_nodes; i++) {
		const struct node *node = &f->node[i];

		if (total[i].at == NO_NODE || (node->depth > 1 && number[node->name]))
			continue;
		put_name(f, node, html);
		n++;
		if (node->depth > 1)
			number[node->name] = n;
	}
	tp_html_close(html, ']');
}

static void put_nodes(const struct flame *f, const struct total *total, uint32_t *number,
		      struct tp_html *html)
{
	uint32_t n = 0;

	/* parent, name, calls, own ns, ns with all below it, ns of devices with all below it */
	tp_html_open(html, "nodes", '[');
	for (uint32_t i = 0; i < f->n_nodes; i++) {
		const struct node *node = &f->node[i];
		bool is_new = node->depth < 2 || number[node->name] == n + 1;

		if (total[i].at == NO_NODE)
			continue;
		tp_html_integer(html, NULL,
				node->parent == NO_NODE ? -1 : (int64_t)total[node->parent].at);
		tp_html_integer(html, NULL, is_new ? n : number[node->name] - 1);
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

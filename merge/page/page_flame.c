/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_flame.c - part of the page: operators by what they were called in, as a flame graph
 *
 * The call tree without Python's frames: a node is a name below the names around it; processes and
 * threads are the outermost. The time of devices is that of the work launched in it.
 */
#include <stdlib.h>
#include <string.h>

#include "merge/facts/code/call_tree.h"
#include "merge/facts/time/paths.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"
#include "merge/model/label.h"
#include "merge/page/page_part.h"

enum {
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
	struct tp_call_tree *tree;
	struct tp_names *names;
	struct tp_paths paths;
	struct node *node;	/* by number of the path */
	uint32_t n_nodes, cap_nodes;
};

static void begin_flame(void *state, struct tp_facts *facts, const void *params)
{
	struct flame *f = state;

	f->run = tp_facts_run(facts);
	f->tree = tp_facts_want(facts, &tp_fact_call_tree, NULL);
	f->names = tp_call_tree_names(f->tree);
}

static void free_flame(void *state)
{
	struct flame *f = state;

	free(f->node);
	tp_paths_free(&f->paths);
}

static const struct tp_fact fact_flame = {
	.name = "flame graph of operators",
	.bytes = sizeof(struct flame),
	.begin = begin_flame,
	.free = free_flame,
};

static uint32_t child_of(struct flame *f, uint32_t parent, uint32_t row)
{
	uint32_t node = tp_paths_child(&f->paths, parent, row);

	if (node == TP_NO_PATH)
		tp_need_failed();
	if (node >= f->n_nodes) {
		tp_need_room(&f->node, &f->cap_nodes, (uint64_t)node + 1, sizeof(*f->node));
		f->node[node].depth = f->node[parent].depth + 1;
		f->n_nodes = node + 1;
	}
	return node;
}

/* Takes the call tree's nodes: of Python's frames their parents' node, of work its call's. */
static void take_tree(struct flame *f)
{
	uint32_t n, n_works, *at;
	const struct tp_call_node *tree = tp_call_tree_nodes(f->tree, &n);
	const struct tp_call_work *work = tp_call_tree_works(f->tree, &n_works);

	tp_need_room(&f->node, &f->cap_nodes, 1, sizeof(*f->node));
	f->n_nodes = 1;
	at = tp_need((size_t)n + 1, sizeof(*at));
	for (uint32_t i = 1; i < n; i++) {
		struct node *node;

		at[i] = at[tree[i].parent];
		if (tree[i].kind == TP_CALL_PROCESS || tree[i].kind == TP_CALL_THREAD ||
		    tree[i].kind == TP_CALL_SPAN)
			at[i] = child_of(f, at[i], tree[i].value);
		/* Work of which no call is known is in no operator. */
		if (!at[i])
			continue;
		node = &f->node[at[i]];
		node->calls += tree[i].calls;
		node->self_ns = tp_add(node->self_ns, tree[i].ns[TP_TIME_HOST]);
		node->device_ns = tp_add(node->device_ns, tree[i].ns[TP_TIME_DEVICE]);
	}
	for (uint32_t i = 0; i < n_works; i++) {
		struct node *node = &f->node[at[work[i].node]];

		if (at[work[i].node])
			node->device_ns = tp_add(node->device_ns, work[i].ns);
	}
	free(at);
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

/* Returns how many there are. */
static uint32_t put_nodes(const struct flame *f, const struct total *total, uint32_t *number,
		      struct tp_html *html)
{
	uint32_t n = 0, n_written = 0;

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
		n_written++;
	}
	tp_html_close(html, ']');
	return n_written;
}

static bool write(void *state, const struct tp_run *run, struct tp_html *html)
{
	struct flame *f = state;
	struct total *total;
	uint32_t *number, n_nodes = 0;

	take_tree(f);
	total = calloc((size_t)f->n_nodes + 1, sizeof(*total));
	number = calloc((size_t)tp_names_count(f->names) + 1, sizeof(*number));
	if (total && number) {
		choose(f, total);
		put_names(f, total, number, html);
		n_nodes = put_nodes(f, total, number, html);
	}
	if (tp_call_tree_is_full(f->tree) || !total || !number)
		tp_html_integer(html, "is_cut", 1);
	free(total);
	free(number);
	return n_nodes > 0;
}

const struct tp_page_part tp_page_flame = {
	.id = "data-flame",
	.fact = &fact_flame,
	.write = write,
};

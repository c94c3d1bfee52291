/* SPDX-License-Identifier: Apache-2.0 */
/*
 * excerpt_tree.c - the rows of an excerpt folded so that they fit a screen
 */
#include "merge/facts/program/excerpt_tree.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"
#include "runtime/trace/torch_names.h"

enum { DEVICE_PART = 6 };	/* of the lines */

/* ---- what lies in what ---- */

static bool link_rows(struct tp_excerpt_tree *tree)
{
	const struct tp_excerpt_step *step = tree->step;
	size_t size = ((size_t)step->n + 1) * sizeof(uint32_t);

	tree->first_in = malloc(size);
	tree->last_in = malloc(size);
	tree->next = malloc(size);
	if (!tree->first_in || !tree->last_in || !tree->next)
		return false;
	memset(tree->first_in, 0xff, size);
	memset(tree->next, 0xff, size);
	/* Of a call: first what the host did in it, then what it started, stream by stream. */
	for (uint32_t i = 0, last = 0; i < step->n; i++) {
		const struct tp_excerpt_row *row = &tree->row[step->first + i];
		uint32_t outer = row->outer;

		if (outer == TP_EXCERPT_NONE) {
			if (i && tp_excerpt_is_one_lane(&tree->row[step->first + last], row))
				tree->next[last] = i;
			last = i;
			continue;
		}
		outer -= step->first;
		if (tree->first_in[outer] == TP_EXCERPT_NONE)
			tree->first_in[outer] = i;
		else
			tree->next[tree->last_in[outer]] = i;
		tree->last_in[outer] = i;
	}
	return true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "blocks.0.attention" and "blocks.11.attention" */
static bool differ_in_numbers_only(const char *a, uint32_t n_a, const char *b, uint32_t n_b)
{
	uint32_t i = 0, k = 0;

	while (i < n_a && k < n_b) {
		if (is_digit(a[i]) && is_digit(b[k])) {
			while (i < n_a && is_digit(a[i]))
				i++;
			while (k < n_b && is_digit(b[k]))
				k++;
		} else if (a[i++] != b[k++]) {
			return false;
		}
	}
	return i == n_a && k == n_b;
}

static bool are_modules_alike(const struct tp_excerpt_tree *tree, uint32_t a, uint32_t b)
{
	const struct tp_module_path *x = tp_module_paths_at(tree->paths, a),
				    *y = tp_module_paths_at(tree->paths, b);
	uint32_t n_x, n_y;
	const char *of_x = tp_module_class(x, &n_x), *of_y = tp_module_class(y, &n_y);

	if (n_x != n_y || memcmp(of_x, of_y, n_x))
		return false;
	of_x = tp_module_name(x, &n_x);
	of_y = tp_module_name(y, &n_y);
	return differ_in_numbers_only(of_x, n_x, of_y, n_y);
}

static bool are_alike(const struct tp_excerpt_tree *tree, const struct tp_excerpt_row *a,
		      const struct tp_excerpt_row *b)
{
	if (a->kind != b->kind || (a->flags ^ b->flags) & TP_F_BACKWARD || a->queue != b->queue)
		return false;
	if (a->kind == TP_REC_NNMODULE)
		return are_modules_alike(tree, a->path, b->path);
	return a->name->same == b->name->same;
}

struct tp_excerpt_node *tp_excerpt_tree_add(struct tp_excerpt_tree *tree, uint32_t outer)
{
	struct tp_excerpt_node *node;

	if (!tp_grow(&tree->node, &tree->cap_nodes, (uint64_t)tree->n_nodes + 1, sizeof(*node))) {
		tree->is_incomplete = true;
		return NULL;
	}
	node = &tree->node[tree->n_nodes];
	*node = (struct tp_excerpt_node){.outer = outer, .row = TP_EXCERPT_NONE,
					 .last_row = TP_EXCERPT_NONE};
	if (outer != TP_EXCERPT_NONE) {
		if (!tree->node[outer].n_inner++)
			tree->node[outer].first = tree->n_nodes;
	}
	tree->n_nodes++;
	return node;
}

/* The engine's range around a node, or, of older versions, the node itself. */
static bool is_autograd(const struct tp_excerpt_row *row)
{
	return row->kind == TP_REC_OP &&
	       (row->flags & TP_F_BACKWARD ||
		tp_begins(row->name->bytes, row->name->n_bytes, TP_NAME_NODE) ||
		tp_begins(row->name->bytes, row->name->n_bytes, TP_NAME_AUTOGRAD));
}

/* Those of a place are one node, unless that is a node of autograd itself; with them sums of
 * gradients, which have no node. */
static bool is_gathered(const struct tp_excerpt_tree *tree, uint32_t outer, uint32_t at)
{
	const struct tp_excerpt_node *of = &tree->node[outer], *last = &tree->node[tree->n_nodes - 1];
	uint32_t next = tree->next[at - tree->step->first];

	if (of->kind == TP_NODE_BACKWARD ||
	    (of->kind == TP_NODE_ROWS && is_autograd(&tree->row[of->row])))
		return false;
	return is_autograd(&tree->row[at]) ||
	       (last->outer == outer && last->kind == TP_NODE_BACKWARD &&
		tree->row[at].kind == TP_REC_OP && next != TP_EXCERPT_NONE &&
		is_autograd(&tree->row[tree->step->first + next]));
}

/* `row` goes on with what the node has so far. */
static bool goes_on(const struct tp_excerpt_tree *tree, const struct tp_excerpt_node *node,
		    enum tp_node_kind kind, const struct tp_excerpt_row *row)
{
	return node->n && node->kind == kind &&
	       (kind == TP_NODE_BACKWARD || are_alike(tree, &tree->row[node->last_row], row));
}

/* The next row of the place whose nodes are being made. */
static void put_row(struct tp_excerpt_tree *tree, uint32_t outer, uint32_t at)
{
	const struct tp_excerpt_row *row = &tree->row[at];
	int64_t ns = tp_sub(row->end_ns, row->begin_ns);
	int64_t inside = tp_excerpt_inside(tree->step, row->begin_ns, row->end_ns);
	struct tp_excerpt_node *node = &tree->node[tree->n_nodes - 1];
	enum tp_node_kind kind = is_gathered(tree, outer, at) ? TP_NODE_BACKWARD : TP_NODE_ROWS;

	if (node->outer != outer || !goes_on(tree, node, kind, row)) {
		node = tp_excerpt_tree_add(tree, outer);
		if (!node)
			return;
		node->kind = (uint8_t)kind;
		node->first_row = at;
		node->begin_ns = row->begin_ns;
		node->longest_ns = -1;
	}
	node->n++;
	node->last_row = at;
	node->ns = tp_add(node->ns, ns);
	node->device_ns = tp_add(node->device_ns, row->device_ns);
	/* Work that a step starts may run after it. */
	node->weight_ns = tp_add(node->weight_ns, inside || !row->queue ? inside : ns);
	if (ns > node->longest_ns) {
		node->longest_ns = ns;
		node->row = at;
	}
}

/* What lies in the longest of the node's rows; of the backward pass the rows themselves. */
static void put_inner(struct tp_excerpt_tree *tree, uint32_t outer)
{
	const struct tp_excerpt_node *node = &tree->node[outer];
	uint32_t first = tree->step->first, n = tree->step->n, in;

	if (node->kind == TP_NODE_BACKWARD) {
		in = node->first_row - first;
		n = node->n;
	} else {
		in = tree->first_in[node->row - first];
	}
	for (; in != TP_EXCERPT_NONE && n-- > 0; in = tree->next[in])
		put_row(tree, outer, first + in);
}

/* ---- lanes ---- */

static bool is_one_lane(const struct tp_excerpt_row *a, const struct tp_excerpt_row *b)
{
	if (a->lane == TP_LANE_QUEUE && b->lane == TP_LANE_QUEUE)
		return a->queue->device == b->queue->device;
	return tp_excerpt_is_one_lane(a, b);
}

static uint32_t lane_end(const struct tp_excerpt_tree *tree, uint32_t first)
{
	uint32_t end = tree->step->first + tree->step->n, i = first + 1;

	while (i < end && is_one_lane(&tree->row[first], &tree->row[i]))
		i++;
	return i;
}

static void put_lanes(struct tp_excerpt_tree *tree)
{
	uint32_t end = tree->step->first + tree->step->n;

	for (uint32_t i = tree->step->first; i < end; i = lane_end(tree, i)) {
		struct tp_excerpt_node *lane = tp_excerpt_tree_add(tree, TP_EXCERPT_NONE);

		if (!lane)
			return;
		lane->kind = TP_NODE_LANE;
		lane->row = i;
		lane->begin_ns = tree->row[i].begin_ns;
	}
	tree->n_lanes = tree->n_nodes;
	for (uint32_t lane = 0; lane < tree->n_lanes && !tree->is_incomplete; lane++) {
		uint32_t first = tree->node[lane].row, last = lane_end(tree, first);

		if (tree->row[first].lane == TP_LANE_QUEUE) {
			tp_excerpt_idle(tree, lane, first, last);
			continue;
		}
		/* The first of a lane lies in none. */
		for (uint32_t i = first - tree->step->first; i != TP_EXCERPT_NONE;
		     i = tree->next[i])
			put_row(tree, lane, tree->step->first + i);
	}
}

void tp_excerpt_tree_make(struct tp_excerpt_tree *tree, const struct tp_excerpt *excerpt,
			  uint32_t step)
{
	*tree = (struct tp_excerpt_tree){
		.step = tp_excerpt_step(excerpt, step), .row = tp_excerpt_rows(excerpt),
		.paths = tp_origins_paths(tp_excerpt_origins(excerpt)),
	};
	if (!link_rows(tree)) {
		tree->is_incomplete = true;
		return;
	}
	put_lanes(tree);
	for (uint32_t i = tree->n_lanes; i < tree->n_nodes && !tree->is_incomplete; i++)
		if (tree->node[i].kind == TP_NODE_ROWS || tree->node[i].kind == TP_NODE_BACKWARD)
			put_inner(tree, i);
	/* Whoever has more to show has more time. */
	for (uint32_t i = tree->n_nodes; i-- > tree->n_lanes;) {
		struct tp_excerpt_node *outer = &tree->node[tree->node[i].outer];

		if (outer->weight_ns < tree->node[i].weight_ns)
			outer->weight_ns = tree->node[i].weight_ns;
	}
}

void tp_excerpt_tree_free(struct tp_excerpt_tree *tree)
{
	free(tree->first_in);
	free(tree->last_in);
	free(tree->next);
	free(tree->node);
}

/* ---- what is shown ---- */

struct ordered {
	int64_t weight_ns;
	uint32_t node;
};

/* Outer ones have lower numbers. */
static int compare_ordered(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	if (x->weight_ns != y->weight_ns)
		return x->weight_ns < y->weight_ns ? 1 : -1;
	return (x->node > y->node) - (x->node < y->node);
}

/* What else there is takes less than that. */
static bool is_all_there_is(const struct tp_excerpt_tree *tree,
			    const struct tp_excerpt_node *outer,
			    const struct tp_excerpt_node *node, int64_t least_ns)
{
	int64_t ns = 0;

	if (outer->kind != TP_NODE_ROWS || node->kind != TP_NODE_ROWS || outer->n > 1 || node->n > 1)
		return false;
	for (uint32_t i = outer->first; i < outer->first + outer->n_inner; i++)
		if (&tree->node[i] != node)
			ns = tp_add(ns, tree->node[i].weight_ns);
	return outer->n_inner == 1 || ns < least_ns;
}

static void join(struct tp_excerpt_tree *tree, int64_t least_ns)
{
	for (uint32_t at = tree->n_lanes; at < tree->n_nodes; at++) {
		const struct tp_excerpt_node *outer = &tree->node[at];
		uint32_t longest = outer->first;

		for (uint32_t i = outer->first; i < outer->first + outer->n_inner; i++)
			if (tree->node[i].weight_ns > tree->node[longest].weight_ns)
				longest = i;
		if (outer->n_inner)
			tree->node[longest].is_joined =
				is_all_there_is(tree, outer, &tree->node[longest], least_ns);
	}
}

const struct tp_excerpt_node *tp_excerpt_tree_joined(const struct tp_excerpt_tree *tree,
						     const struct tp_excerpt_node *node)
{
	for (uint32_t i = node->first; i < node->first + node->n_inner && node->n_shown; i++)
		if (tree->node[i].is_joined && tree->node[i].is_shown)
			return &tree->node[i];
	return NULL;
}

/* Lines more: its own, and that which stands for those of its place that are not shown. */
static uint32_t cost_of(const struct tp_excerpt_tree *tree, const struct tp_excerpt_node *node)
{
	const struct tp_excerpt_node *outer;

	if (node->is_joined)
		return 0;
	if (node->outer == TP_EXCERPT_NONE)
		return 1;
	outer = &tree->node[node->outer];
	if (outer->n_inner == 1)
		return 1;
	if (!outer->n_shown)
		return 2;
	return outer->n_shown + 1 == outer->n_inner ? 0 : 1;
}

/* Times of a device come by the hundred, each as long as the next: they leave lines for what the host did. */
static bool has_enough(const struct tp_excerpt_tree *tree, const struct tp_excerpt_node *node, uint32_t lines)
{
	return lines && (node->kind == TP_NODE_BUSY || node->kind == TP_NODE_IDLE) &&
	       tree->node[node->outer].n_shown >= lines / DEVICE_PART + 1;
}

void tp_excerpt_tree_choose(struct tp_excerpt_tree *tree, uint32_t lines, int64_t least_ns)
{
	struct ordered *order = malloc(((size_t)tree->n_nodes + 1) * sizeof(*order));
	uint64_t n_lines = 0;

	if (!order) {
		tree->is_incomplete = true;
		return;
	}
	join(tree, lines ? least_ns : 0);
	for (uint32_t i = 0; i < tree->n_nodes; i++)
		order[i] = (struct ordered){tree->node[i].weight_ns, i};
	qsort(order, tree->n_nodes, sizeof(*order), compare_ordered);
	for (uint32_t i = 0; i < tree->n_nodes; i++) {
		struct tp_excerpt_node *node = &tree->node[order[i].node];

		if (has_enough(tree, node, lines))
			continue;
		n_lines += cost_of(tree, node);
		if (lines && (n_lines > lines || node->weight_ns < least_ns))
			break;
		node->is_shown = true;
		if (node->outer != TP_EXCERPT_NONE)
			tree->node[node->outer].n_shown++;
	}
	free(order);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_modules.c - the trees of nn.Modules of two runs become one
 *
 * A module of one tree is that of the other whose outer module is the same, and whose name and class are:
 * who calls it matters. What only one of them has stands behind the others of its outer module.
 */
#include "merge/view/diff/diff.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/need.h"
#include "merge/kit/sum.h"

struct tree {
	struct tp_diff_module *node;	/* 0: outside all modules, of both */
	uint32_t n;
	uint32_t *last;			/* by node: its last inner one so far; 0: none */
	uint32_t *first, *next;		/* by node: its first inner one; the one behind it */
	uint32_t *node_of[2];		/* by path of a side */
};

static bool has_part(const char *(*part)(const struct tp_module_path *, uint32_t *),
		     const struct tp_module_path *a, const struct tp_module_path *b)
{
	uint32_t n_a, n_b;
	const char *text_a = part(a, &n_a), *text_b = part(b, &n_b);

	return n_a == n_b && !memcmp(text_a, text_b, n_a);
}

static const struct tp_module_time *time_of(const struct tp_diff_side *side, uint32_t path)
{
	static const struct tp_module_time none;

	return path ? tp_module_times_at(side->modules, path) : &none;
}

static bool is_empty(const struct tp_diff_side *side, uint32_t path)
{
	const struct tp_module_time *time = time_of(side, path);

	return !time->n_calls && !time->n_ops && !time->n_backward_ops;
}

static uint32_t add_node(struct tree *tree, uint32_t outer)
{
	uint32_t at = tree->n++;

	tree->node[at].depth = tree->node[outer].depth + 1;
	tree->node[at].outer = outer;
	*(tree->last[outer] ? &tree->next[tree->last[outer]] : &tree->first[outer]) = at;
	tree->last[outer] = at;
	return at;
}

/* The node inside `outer` that the other side has for such a module; 0: none. */
static uint32_t find_node(const struct tree *tree, const struct tp_diff_side *other, uint32_t outer,
			  const struct tp_module_path *module)
{
	uint32_t at = tree->first[outer];

	for (; at; at = tree->next[at]) {
		const struct tp_diff_module *node = &tree->node[at];
		const struct tp_module_path *path = tp_module_paths_at(
			tp_module_times_paths(other->modules), node->path[TP_DIFF_NOW]);

		if (node->path[TP_DIFF_NOW] && !node->path[TP_DIFF_BASE] &&
		    has_part(tp_module_name, path, module) && has_part(tp_module_class, path, module))
			break;
	}
	return at;
}

/* Outer ones have lower numbers. `other`: the side that was added before; NULL: none. */
static void add_side(struct tree *tree, const struct tp_diff_side *side, enum tp_diff_which which,
		     const struct tp_diff_side *other)
{
	const struct tp_module_paths *paths = tp_module_times_paths(side->modules);

	for (uint32_t i = 1; i < tp_module_paths_count(paths); i++) {
		const struct tp_module_path *path = tp_module_paths_at(paths, i);
		uint32_t outer = tree->node_of[which][path->outer];
		uint32_t at = other ? find_node(tree, other, outer, path) : 0;

		if (!at)
			at = add_node(tree, outer);
		tree->node_of[which][i] = at;
		tree->node[at].path[which] = i;
	}
}

static void fill(struct tp_diff_module *node, const struct tp_diff_side *side, enum tp_diff_which which)
{
	const struct tp_module_time *time = time_of(side, node->path[which]);
	struct tp_diff_module_time *of = &node->time[which];

	of->calls = tp_diff_per_step(side, (int64_t)time->n_calls);
	of->forward_ns = tp_diff_per_step(side, time->total_ns);
	of->backward_ns = tp_diff_per_step(side, time->backward_ns);
	of->self_ns = tp_diff_per_step(side, tp_add(time->self_ns, time->backward_self_ns));
	of->device_ns = tp_diff_per_step(side, tp_add(time->device_ns, time->device_backward_ns));
}

/* In the order of the tree, without what is of neither run's steps. */
static struct tp_diff_module *list_tree(const struct tree *tree, const struct tp_diff_side *base,
					const struct tp_diff_side *now, uint32_t *n)
{
	struct tp_diff_module *list = tp_need(tree->n, sizeof(*list));
	uint32_t at = tree->first[0];

	*n = 0;
	while (at) {
		if (!is_empty(base, tree->node[at].path[TP_DIFF_BASE]) ||
		    !is_empty(now, tree->node[at].path[TP_DIFF_NOW])) {
			list[*n] = tree->node[at];
			fill(&list[*n], base, TP_DIFF_BASE);
			fill(&list[(*n)++], now, TP_DIFF_NOW);
		}
		if (tree->first[at]) {
			at = tree->first[at];
			continue;
		}
		while (at && !tree->next[at])
			at = tree->node[at].outer;
		at = at ? tree->next[at] : 0;
	}
	return list;
}

struct tp_diff_module *tp_diff_modules(const struct tp_diff_side *base, const struct tp_diff_side *now,
				       uint32_t *n)
{
	const uint32_t n_base = tp_module_paths_count(tp_module_times_paths(base->modules));
	const uint32_t n_now = tp_module_paths_count(tp_module_times_paths(now->modules));
	struct tree tree = {.n = 1};
	struct tp_diff_module *list;
	const size_t most = (size_t)n_base + n_now + 1;

	tree.node = tp_need(most, sizeof(*tree.node));
	tree.last = tp_need(most, sizeof(*tree.last));
	tree.first = tp_need(most, sizeof(*tree.first));
	tree.next = tp_need(most, sizeof(*tree.next));
	tree.node_of[TP_DIFF_BASE] = tp_need((size_t)n_base + 1, sizeof(uint32_t));
	tree.node_of[TP_DIFF_NOW] = tp_need((size_t)n_now + 1, sizeof(uint32_t));
	add_side(&tree, now, TP_DIFF_NOW, NULL);
	add_side(&tree, base, TP_DIFF_BASE, now);
	list = list_tree(&tree, base, now, n);
	free(tree.node);
	free(tree.last);
	free(tree.first);
	free(tree.next);
	free(tree.node_of[TP_DIFF_BASE]);
	free(tree.node_of[TP_DIFF_NOW]);
	return list;
}

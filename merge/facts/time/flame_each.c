/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flame_each.c - the tree of stacks from node to node: what is folded, and in which order
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/facts/time/flame_in.h"
#include "merge/kit/grow.h"

struct kept {
	uint32_t node, above;		/* numbers of nodes; [0] is the root */
	uint64_t weight;
	uint32_t first_child, n_children;	/* in the array of those */
};

struct tree {
	struct tp_flame *flame;
	uint32_t first, n_costs;
	struct kept *kept;
	uint32_t n_kept;
	uint64_t *other;	/* by kept, then cost: folded below it */
	uint64_t *own;		/* of one node */
	uint32_t *kept_of;	/* by node: number + 1 */
	uint8_t *is_kept;	/* by node */
};

static uint64_t total_of(const struct tree *tree, uint32_t node, uint32_t cost)
{
	return tree->flame->total[(uint64_t)node * tree->flame->n_costs + tree->first + cost];
}

static uint32_t count_from(const struct tree *tree, uint32_t cost, uint64_t least)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i < tree->flame->n_nodes; i++)
		n += total_of(tree, i, cost) >= least;
	return n;
}

/* A branch that is too small for one cost may be great enough for another. */
static void keep_nodes(struct tree *tree, uint32_t cost)
{
	uint64_t least = 1, max = tree->flame->nodes_max;
	double percent;

	if (count_from(tree, cost, least) > max) {
		least = total_of(tree, 0, cost) / max + 1;
		while (count_from(tree, cost, least) > max)
			least += least / 4 + 1;
	}
	for (uint32_t i = 1; i < tree->flame->n_nodes; i++) {
		if (total_of(tree, i, cost) >= least)
			tree->is_kept[i] = 1;
	}
	percent = 100 * (double)least / (double)total_of(tree, 0, cost);
	if (least > 1 && percent > tree->flame->percent)
		tree->flame->percent = percent;
}

/* Below each other, the largest first. */
static int compare_kept(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	if (x->above != y->above)
		return x->above < y->above ? -1 : 1;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

static bool take_kept(struct tree *tree)
{
	struct tp_flame *flame = tree->flame;
	uint32_t n = 1;

	for (uint32_t i = 1; i < flame->n_nodes; i++)
		n += tree->is_kept[i];
	tree->kept = calloc(n, sizeof(tree->kept[0]));
	tree->other = calloc((size_t)n * tree->n_costs, sizeof(tree->other[0]));
	if (!tree->kept || !tree->other)
		return false;
	tree->n_kept = 1;
	for (uint32_t i = 1; i < flame->n_nodes; i++) {
		if (tree->is_kept[i])
			tree->kept[tree->n_kept++] = (struct kept){
				.node = i, .above = flame->paths.path[i].parent,
				.weight = total_of(tree, i, 0)};
	}
	qsort(tree->kept + 1, tree->n_kept - 1, sizeof(tree->kept[0]), compare_kept);
	for (uint32_t i = 0; i < tree->n_kept; i++)
		tree->kept_of[tree->kept[i].node] = i + 1;
	for (uint32_t i = 1; i < tree->n_kept; i++) {
		struct kept *above = &tree->kept[tree->kept_of[tree->kept[i].above] - 1];

		if (!above->n_children++)
			above->first_child = i;
	}
	for (uint32_t i = 1; i < flame->n_nodes; i++) {
		uint32_t above = tree->kept_of[flame->paths.path[i].parent];

		for (uint32_t k = 0; k < tree->n_costs && above && !tree->is_kept[i]; k++)
			tree->other[(uint64_t)(above - 1) * tree->n_costs + k] +=
				total_of(tree, i, k);
	}
	return true;
}

static bool has_any(const uint64_t *value, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (value[i])
			return true;
	}
	return false;
}

/* One node: what it costs itself, and what is folded below it. path has room for one more. */
static void give_node(struct tree *tree, const struct kept *kept, uint32_t *path, uint32_t depth,
		      tp_flame_fn *each, void *ctx)
{
	const uint64_t *other = &tree->other[(uint64_t)(kept - tree->kept) * tree->n_costs];

	for (uint32_t k = 0; k < tree->n_costs; k++) {
		tree->own[k] = total_of(tree, kept->node, k) - other[k];
		for (uint32_t i = 0; i < kept->n_children; i++)
			tree->own[k] -= total_of(tree, tree->kept[kept->first_child + i].node, k);
	}
	if (has_any(tree->own, tree->n_costs))
		each(ctx, path, depth, tree->own);
	if (!has_any(other, tree->n_costs))
		return;
	path[depth] = PLACE_OTHER;
	each(ctx, path, depth + 1, other);
}

struct step {
	uint32_t kept, depth;
};

static bool give_nodes(struct tree *tree, tp_flame_fn *each, void *ctx)
{
	struct step *todo = NULL;
	uint32_t *path = NULL, n = 1, cap = 0, cap_path = 0;
	bool is_good = tp_grow(&todo, &cap, 1, sizeof(todo[0]));

	while (is_good && n) {
		struct step step = todo[--n];
		const struct kept *kept = &tree->kept[step.kept];

		is_good = tp_grow(&path, &cap_path, (uint64_t)step.depth + 2, sizeof(path[0])) &&
			  tp_grow(&todo, &cap, (uint64_t)n + kept->n_children, sizeof(todo[0]));
		if (!is_good)
			break;
		if (step.depth)
			path[step.depth - 1] = tree->flame->paths.path[kept->node].row;
		give_node(tree, kept, path, step.depth, each, ctx);
		for (uint32_t i = kept->n_children; i--;)
			todo[n++] = (struct step){kept->first_child + i, step.depth + 1};
	}
	free(todo);
	free(path);
	return is_good;
}

int tp_flame_each(struct tp_flame *flame, uint32_t first, uint32_t n, tp_flame_fn *each,
		  void *ctx)
{
	struct tree tree = {.flame = flame, .first = first, .n_costs = n};
	bool is_good;

	if (!flame->n_nodes)
		return 0;
	tree.is_kept = calloc(flame->n_nodes, 1);
	tree.kept_of = calloc(flame->n_nodes, sizeof(tree.kept_of[0]));
	tree.own = calloc(n, sizeof(tree.own[0]));
	is_good = tree.is_kept && tree.kept_of && tree.own;
	for (uint32_t i = 0; i < n && is_good; i++)
		keep_nodes(&tree, i);
	snprintf(flame->other, sizeof(flame->other),
		 "(other: branches below %.2g %% of the whole)", flame->percent);
	is_good = is_good && take_kept(&tree) && give_nodes(&tree, each, ctx);
	free(tree.is_kept);
	free(tree.kept_of);
	free(tree.kept);
	free(tree.other);
	free(tree.own);
	return is_good ? 0 : -ENOMEM;
}

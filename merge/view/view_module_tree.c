/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_module_tree.c - part of the view of modules: which of them are shown, in which order
 *
 * Order is that of the first calls. Where rows are limited those with most time are shown: a module
 * that is shown has its outer ones shown.
 */
#include "merge/view/view_module.h"

#include <stdlib.h>

#include "merge/kit/need.h"
#include "merge/kit/sum.h"

struct tree {
	const struct tp_module_times *times;
	const struct tp_module_paths *paths;
	uint32_t n;		/* paths, with 0 */
	uint8_t *is_shown;
	uint32_t *first, *next;	/* of a path, in order: its first inner one; the one behind it */
};

static int64_t figure_of(const struct tree *tree, uint32_t path)
{
	const struct tp_module_time *time = tp_module_times_at(tree->times, path);

	return tp_add(tp_add(time->total_ns, time->backward_ns),
		      tp_add(time->device_ns, time->device_backward_ns));
}

/* A stack of the warm-up may name modules that nothing in the window is of. */
static bool is_empty(const struct tree *tree, uint32_t path)
{
	const struct tp_module_time *time = tp_module_times_at(tree->times, path);

	return !time->n_calls && !time->n_ops && !time->n_backward_ops && !figure_of(tree, path);
}

struct ordered {
	int64_t figure;
	uint32_t depth, path;
};

/* Outer ones first where figures are equal, so that they are shown too. */
static int compare_ordered(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	if (x->figure != y->figure)
		return x->figure < y->figure ? 1 : -1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return (x->path > y->path) - (x->path < y->path);
}

/* Those that take most, and what they are in; returns how many could be shown. */
static uint32_t choose(struct tree *tree, const struct tp_view_options *options)
{
	struct ordered *order = tp_need(tree->n, sizeof(*order));
	uint32_t n = 0, n_all;

	for (uint32_t path = 1; path < tree->n; path++) {
		const uint32_t depth = tp_module_paths_at(tree->paths, path)->depth;

		if (!is_empty(tree, path) && (!options->depth || depth <= options->depth))
			order[n++] = (struct ordered){
				.figure = figure_of(tree, path), .path = path, .depth = depth,
			};
	}
	n_all = n;
	qsort(order, n, sizeof(*order), compare_ordered);
	if (options->top && options->top < n)
		n = options->top;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t path = order[i].path; path && !tree->is_shown[path];
		     path = tp_module_paths_at(tree->paths, path)->outer)
			tree->is_shown[path] = 1;
	free(order);
	return n_all;
}

static void link_inner(struct tree *tree)
{
	/* From the last on, so that each becomes the first of its outer one. */
	for (uint32_t path = tree->n - 1; path > 0; path--) {
		uint32_t outer = tp_module_paths_at(tree->paths, path)->outer;

		tree->next[path] = tree->first[outer];
		tree->first[outer] = path;
	}
}

/* Those that are shown, in the order of the tree. */
static uint32_t *list_tree(const struct tree *tree, uint32_t *n)
{
	uint32_t *list = tp_need(tree->n, sizeof(*list)), path = tree->first[0];

	*n = 0;
	while (path) {
		if (tree->is_shown[path])
			list[(*n)++] = path;
		if (tree->first[path]) {
			path = tree->first[path];
			continue;
		}
		while (path && !tree->next[path])
			path = tp_module_paths_at(tree->paths, path)->outer;
		path = path ? tree->next[path] : 0;
	}
	return list;
}

uint32_t *tp_view_module_tree(const struct tp_module_times *times, const struct tp_view_options *options,
			      uint32_t *n, uint32_t *n_all)
{
	struct tree tree = {.times = times, .paths = tp_module_times_paths(times)};
	uint32_t *list;

	tree.n = tp_module_paths_count(tree.paths);
	tree.is_shown = tp_need(tree.n, 1);
	tree.first = tp_need(tree.n, sizeof(*tree.first));
	tree.next = tp_need(tree.n, sizeof(*tree.next));
	*n_all = choose(&tree, options);
	link_inner(&tree);
	list = list_tree(&tree, n);
	free(tree.is_shown);
	free(tree.first);
	free(tree.next);
	return list;
}

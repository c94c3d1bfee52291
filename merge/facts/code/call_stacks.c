/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_stacks.c - the call tree as stacks, for flame graphs and profiles
 *
 * Frames of Python inside a span (a user's range) are given without those that stand around the
 * span already. What the backward pass does stands below the forward operator's frames, which it
 * was made by, behind one that says so.
 */
#include <stdlib.h>
#include <string.h>

#include "merge/facts/code/call_tree_in.h"
#include "merge/kit/demangle.h"
#include "merge/kit/need.h"

enum {
	FRAMES_MAX = 512,	/* of Python in one node; more are left out */
	ID_NAME = 0x40000000,	/* function_id of names: stacks.h counts its own from 0 */
	ID_BACKWARD = 0x7fffffff,
};

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
static uint32_t put_python(const struct tp_call_tree *tree, uint32_t stack, uint32_t around,
			   struct tp_frame *frame, uint32_t max)
{
	const struct tp_stacks *stacks = tp_origins_stacks(tree->origins);
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

static struct tp_frame frame_of_name(const struct tp_call_tree *tree, uint32_t name)
{
	const char *title = tree->title[name];

	return (struct tp_frame){
		.function = title ? title : tp_names_at(tree->names, name)->bytes, .file = "",
		.module = "", .function_id = ID_NAME + name,
	};
}

/* Frames of Python of a node of them. */
static uint32_t python_of(const struct tp_call_tree *tree, const struct tp_call_node *node,
			  struct tp_frame *frame, uint32_t max)
{
	static const struct tp_frame backward = {
		.function = "(its backward pass)", .file = "", .module = "",
		.function_id = ID_BACKWARD,
	};

	if (node->kind == TP_CALL_PYTHON)
		return put_python(tree, node->value, tree->node[node->parent].stack, frame, max);
	if (max)
		frame[0] = backward;
	return 1 + put_python(tree, node->value, 0, max ? frame + 1 : NULL, max ? max - 1 : 0);
}

static uint32_t frames_of(const void *of, uint32_t at, struct tp_frame *frame, uint32_t max)
{
	const struct tp_call_tree *tree = of;
	const struct tp_call_row *row = &tree->row[at];
	const struct tp_call_node *node = &tree->node[row->at];

	if (row->is_work) {
		const struct tp_call_work *work = &tree->work[row->at];

		if (max)
			frame[0] = frame_of_name(tree, work->name);
		if (max)
			frame[0].is_cut = tree->node[work->node].kind == TP_CALL_UNKNOWN;
		return 1;
	}
	if (node->kind < TP_CALL_SPAN)
		return 0;
	if (node->kind != TP_CALL_SPAN)
		return python_of(tree, node, frame, max);
	if (max)
		frame[0] = frame_of_name(tree, node->value);
	return 1;
}

static uint32_t around(const void *of, uint32_t at)
{
	const struct tp_call_tree *tree = of;
	const struct tp_call_row *row = &tree->row[at];

	/* The forward pass does not stand below the call of the backward pass. */
	if (!row->is_work && tree->node[row->at].kind == TP_CALL_BACKWARD)
		return TP_FLAME_NO_ROW;
	return tree->row_of[row->is_work ? tree->work[row->at].node : tree->node[row->at].parent];
}

static uint32_t proc_of(const struct tp_call_tree *tree, uint32_t node)
{
	while (tree->node[node].parent)
		node = tree->node[node].parent;
	return tree->node[node].value;
}

static void row_of(const void *of, uint32_t at, uint32_t *proc, uint32_t *stack)
{
	const struct tp_call_tree *tree = of;
	const struct tp_call_row *row = &tree->row[at];

	*stack = at;
	*proc = proc_of(tree, row->is_work ? tree->work[row->at].node : row->at);
}

static uint64_t value_of(const void *of, uint32_t at, uint32_t cost)
{
	const struct tp_call_tree *tree = of;
	const struct tp_call_row *row = &tree->row[at];
	int64_t ns;

	if (!row->is_work)
		ns = tree->node[row->at].ns[cost];
	else
		ns = cost == TP_TIME_DEVICE ? tree->work[row->at].ns : 0;
	return ns > 0 ? (uint64_t)ns : 0;
}

static bool has_frames(const struct tp_call_tree *tree, const struct tp_call_node *node)
{
	return node->kind != TP_CALL_PYTHON || python_of(tree, node, NULL, 0);
}

/* Nodes and work in the order in which they were met. */
static void make_rows(struct tp_call_tree *tree)
{
	uint32_t n_nodes = tree->paths.n, n = 0, work = 0;

	tree->row = tp_need((size_t)n_nodes + tree->n_works + 1, sizeof(*tree->row));
	tree->row_of = tp_need((size_t)n_nodes + 1, sizeof(*tree->row_of));
	for (uint32_t i = 1; i <= n_nodes; i++) {
		uint32_t before = i < n_nodes ? tree->node[i].works_before : tree->n_works;

		while (work < before)
			tree->row[n++] = (struct tp_call_row){work++, true};
		if (i == n_nodes)
			break;
		/* Frames that are all left out are not around anything. */
		if (tree->node[i].kind < TP_CALL_SPAN)
			tree->row_of[i] = TP_FLAME_NO_ROW;
		else
			tree->row_of[i] = has_frames(tree, &tree->node[i])
						  ? n : tree->row_of[tree->node[i].parent];
		tree->row[n++] = (struct tp_call_row){i, false};
	}
	tree->rows.n_rows = n;
}

static void make_titles(struct tp_call_tree *tree)
{
	uint32_t n = tp_names_count(tree->names), n_text;
	char *readable = malloc(TP_DEMANGLE_TO);

	tree->title = calloc((size_t)n + 1, sizeof(tree->title[0]));
	tree->n_titles = n;
	for (uint32_t i = 0; readable && tree->title && i < n; i++) {
		const struct tp_name *name = tp_names_at(tree->names, i);
		const char *text = tp_demangle(name->bytes, name->n_bytes, readable, &n_text);

		if (text)
			tree->title[i] = strndup(text, n_text);
	}
	free(readable);
}

const struct tp_flame_rows *tp_call_stacks(struct tp_call_tree *tree)
{
	static const struct tp_flame_cost costs[TP_TIME_COSTS] = {
		[TP_TIME_HOST] = {"host-time", "time of the host in operators", "host", TP_FLAME_NS,
				  false},
		[TP_TIME_DEVICE] = {"device-time", "time of devices", "device", TP_FLAME_NS, false},
	};

	if (tree->has_rows)
		return &tree->rows;
	tree->has_rows = true;
	make_titles(tree);
	tree->rows = (struct tp_flame_rows){
		.run = tree->run, .what = "time", .cost = costs, .n_costs = TP_TIME_COSTS,
		.row = row_of, .value = value_of, .around = around, .of = tree,
		.frames = frames_of, .stacks = tree,
	};
	if (!tree->title || tp_stacks_resolve(tp_origins_stacks(tree->origins), NULL))
		tree->is_incomplete = true;
	else
		make_rows(tree);
	return &tree->rows;
}

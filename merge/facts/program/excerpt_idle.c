/* SPDX-License-Identifier: Apache-2.0 */
/*
 * excerpt_idle.c - when a device was busy and when it was idle in a step, and what the host did then
 */
#include <stdlib.h>

#include "merge/facts/program/excerpt_tree.h"
#include "merge/facts/time/gpu_time.h"
#include "merge/kit/sum.h"

enum { GAP_SHARE = 500 };	/* gaps shorter than the step by that are none: between launches */

struct work {
	int64_t begin_ns, end_ns;
	uint32_t row;
};

static int compare_work(const void *a, const void *b)
{
	const struct work *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

/* What keeps the device busy within the step. */
static uint32_t collect(const struct tp_excerpt_tree *tree, uint32_t first, uint32_t end,
			struct work *work)
{
	const struct tp_excerpt_step *step = tree->step;
	uint32_t n = 0;

	for (uint32_t i = first; i < end; i++) {
		const struct tp_excerpt_row *row = &tree->row[i];

		if (row->kind == TP_REC_SYNC || row->begin_ns >= step->end_ns ||
		    row->end_ns < step->begin_ns)
			continue;
		work[n++] = (struct work){
			.begin_ns = row->begin_ns > step->begin_ns ? row->begin_ns : step->begin_ns,
			.end_ns = row->end_ns < step->end_ns ? row->end_ns : step->end_ns, .row = i,
		};
	}
	qsort(work, n, sizeof(*work), compare_work);
	return n;
}

static int64_t overlap(const struct tp_excerpt_row *row, int64_t begin_ns, int64_t end_ns)
{
	int64_t begin = row->begin_ns > begin_ns ? row->begin_ns : begin_ns;
	int64_t end = row->end_ns < end_ns ? row->end_ns : end_ns;

	return end > begin ? tp_sub(end, begin) : 0;
}

/* The outermost rows of the thread that asked for the work, or of the first thread. */
static uint32_t first_of_thread(const struct tp_excerpt_tree *tree, uint32_t work)
{
	uint32_t call = work == TP_EXCERPT_NONE ? TP_EXCERPT_NONE : tree->row[work].outer;

	for (uint32_t i = 0; i < tree->n_lanes && call != TP_EXCERPT_NONE; i++) {
		const struct tp_excerpt_row *first = &tree->row[tree->node[i].row];

		if (first->lane == TP_LANE_THREAD && first->thread == tree->row[call].thread)
			return tree->node[i].row;
	}
	return tree->step->first;
}

/* The innermost row that the host was in for half of the time. */
static uint32_t host_row(const struct tp_excerpt_tree *tree, int64_t begin_ns, int64_t end_ns,
			 uint32_t next_work)
{
	uint32_t first = first_of_thread(tree, next_work), found = TP_EXCERPT_NONE;
	int64_t half = tp_sub(end_ns, begin_ns) / 2;

	if (tree->row[first].lane != TP_LANE_THREAD)
		return TP_EXCERPT_NONE;
	for (uint32_t i = first; i < tree->step->first + tree->step->n &&
				 tp_excerpt_is_one_lane(&tree->row[first], &tree->row[i]) &&
				 tree->row[i].begin_ns < end_ns; i++)
		/* Inner ones come behind those that they lie in. */
		if (overlap(&tree->row[i], begin_ns, end_ns) > half)
			found = i;
	return found;
}

static void put_busy(struct tp_excerpt_tree *tree, uint32_t lane, const struct work *work,
		     uint32_t n, int64_t begin_ns, int64_t end_ns)
{
	struct tp_excerpt_node *node = tp_excerpt_tree_add(tree, lane);

	if (!node)
		return;
	node->kind = TP_NODE_BUSY;
	node->begin_ns = begin_ns;
	node->ns = node->weight_ns = tp_sub(end_ns, begin_ns);
	node->n = n;
	node->longest_ns = -1;
	for (uint32_t i = 0; i < n; i++) {
		int64_t ns = tp_sub(work[i].end_ns, work[i].begin_ns);

		node->device_ns = tp_add(node->device_ns, ns);
		if (ns > node->longest_ns) {
			node->longest_ns = ns;
			node->row = work[i].row;
		}
	}
}

static void put_idle(struct tp_excerpt_tree *tree, uint32_t lane, int64_t begin_ns, int64_t end_ns,
		     uint32_t next_work)
{
	struct tp_excerpt_node *node = tp_excerpt_tree_add(tree, lane);

	if (!node)
		return;
	node->kind = TP_NODE_IDLE;
	node->begin_ns = begin_ns;
	node->ns = node->longest_ns = node->weight_ns = tp_sub(end_ns, begin_ns);
	node->n = 1;
	node->row = host_row(tree, begin_ns, end_ns, next_work);
}

void tp_excerpt_idle(struct tp_excerpt_tree *tree, uint32_t lane, uint32_t first, uint32_t end)
{
	const struct tp_excerpt_step *step = tree->step;
	int64_t least_ns = tp_sub(step->end_ns, step->begin_ns) / GAP_SHARE;
	int64_t last_ns = step->begin_ns;
	int64_t busy_ns = 0;
	struct work *work = malloc(((size_t)(end - first) + 1) * sizeof(*work));
	uint32_t n, begun = 0;

	if (!work) {
		tree->is_incomplete = true;
		return;
	}
	n = collect(tree, first, end, work);
	for (uint32_t i = 0; i < n; i++) {
		if (tp_sub(work[i].begin_ns, last_ns) > least_ns) {
			if (i > begun)
				put_busy(tree, lane, &work[begun], i - begun, work[begun].begin_ns,
					 last_ns);
			put_idle(tree, lane, last_ns, work[i].begin_ns, work[i].row);
			begun = i;
		}
		if (work[i].end_ns > last_ns) {
			busy_ns = tp_add(busy_ns, tp_sub(work[i].end_ns, work[i].begin_ns > last_ns ?
									 work[i].begin_ns : last_ns));
			last_ns = work[i].end_ns;
		}
	}
	if (n > begun)
		put_busy(tree, lane, &work[begun], n - begun, work[begun].begin_ns, last_ns);
	if (tp_sub(step->end_ns, last_ns) > least_ns)
		put_idle(tree, lane, last_ns, step->end_ns, TP_EXCERPT_NONE);
	if (!tree->is_incomplete)
		tree->node[lane].device_ns = busy_ns;
	free(work);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_trace_answer.c - part of the view of a step: its first line
 */
#include "merge/view/view_trace.h"

#include "merge/kit/sum.h"
#include "runtime/base/text.h"

enum { ANSWER_PARTS = 3 };	/* of the step */

/* What the first thread does, and of others the backward pass, for which that one waits. */
static bool is_part(const struct tp_excerpt_tree *tree, const struct tp_excerpt_node *node)
{
	return node->outer == 0 || (node->outer < tree->n_lanes && node->kind == TP_NODE_BACKWARD);
}

/* The longest part of which none was said yet; NULL: no more. */
static const struct tp_excerpt_node *find_longest(const struct tp_excerpt_tree *tree,
						  const struct tp_excerpt_node *than)
{
	const struct tp_excerpt_node *longest = NULL;

	for (uint32_t i = tree->n_lanes; i < tree->n_nodes; i++) {
		const struct tp_excerpt_node *node = &tree->node[i];

		if (!is_part(tree, node) || (than && (node->weight_ns > than->weight_ns ||
			      (node->weight_ns == than->weight_ns && node <= than))) ||
		    (longest && node->weight_ns <= longest->weight_ns))
			continue;
		longest = node;
	}
	return longest;
}

void tp_view_trace_answer(struct tp_excerpt_show *show, const struct tp_excerpt_tree *tree,
			  struct tp_out *out)
{
	const int64_t all = tp_sub(tree->step->end_ns, tree->step->begin_ns);
	const struct tp_excerpt_node *node = NULL;
	char what[TP_EXCERPT_WHAT], text[1024], a[32], b[32];
	struct tp_text say;
	int64_t told_ns = 0;

	tp_text_init(&say, text, sizeof(text));
	for (uint32_t n = 0; n < ANSWER_PARTS && tree->n_lanes; n++) {
		node = find_longest(tree, node);
		if (!node || node->weight_ns < all / TP_VIEW_TRACE_LEAST)
			break;
		told_ns = tp_add(told_ns, node->weight_ns);
		tp_text_fmt(&say, "%s%s %s (%s)", n ? ", " : "",
			    node->kind == TP_NODE_BACKWARD
				    ? "backward" : tp_excerpt_what(show, what, tree, node),
			    tp_show_ns(a, node->weight_ns),
			    tp_show_percent(b, (double)node->weight_ns, (double)all));
	}
	for (uint32_t i = 0; i < tree->n_lanes; i++) {
		node = &tree->node[i];
		if (say.len && node->device_ns && tree->row[node->row].lane == TP_LANE_QUEUE)
			tp_text_fmt(&say, "; %s", tp_excerpt_what(show, what, tree, node));
	}
	if (say.len)
		tp_out_line(out, "bold", "%s %s.",
			    told_ns > all / 2 ? "Most of it is" : "The largest parts are", text);
}

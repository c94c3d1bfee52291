/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_trace_answer.c - part of the view of a step: its first line
 */
#include "merge/view/view_trace.h"

#include "merge/kit/sum.h"
#include "runtime/base/text.h"

enum { ANSWER_PARTS = 3 };	/* of the step */

/* The longest of what lies in a lane and none of which was said yet; NULL: no more. */
static const struct tp_excerpt_node *find_longest(const struct tp_excerpt_tree *tree,
						  const struct tp_excerpt_node *lane,
						  const struct tp_excerpt_node *than)
{
	const struct tp_excerpt_node *longest = NULL;

	for (uint32_t i = lane->first; i < lane->first + lane->n_inner; i++) {
		const struct tp_excerpt_node *node = &tree->node[i];

		if ((than && (node->weight_ns > than->weight_ns ||
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

	tp_text_init(&say, text, sizeof(text));
	for (uint32_t n = 0; n < ANSWER_PARTS && tree->n_lanes; n++) {
		node = find_longest(tree, &tree->node[0], node);
		if (!node || node->weight_ns < all / TP_VIEW_TRACE_LEAST)
			break;
		tp_text_fmt(&say, "%s%s %s (%s)", n ? ", " : "Most of it is ",
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
		tp_out_line(out, "bold", "%s.", text);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_trace.c - one step as text, for people on a terminal far away: threads with what they did
 * inside what, work of devices below the calls that started it, idle times and who made them
 *
 * Text is folded to what takes time (excerpt_tree.h); rows for programs are all events of the step.
 */
#include "merge/view/view_trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/need.h"
#include "merge/model/label.h"
#include "runtime/base/text.h"

enum {
	LINES = 56,		/* when --top does not say: a screen or two */
	REST_SHARE = 50,	/* of what they lie in, for those that are not shown to be counted */
	INDENT_MOST = 20,
	SHAPES_LEAST = 130,	/* columns of a terminal that has room for them */
};

struct state {
	struct tp_view_options options;
	struct tp_excerpt *excerpt;
	struct tp_excerpt_show show;
	struct tp_excerpt_tree tree;
	bool has_device, has_lines, has_shapes;
};

static void *begin_trace(struct tp_facts *facts, const struct tp_view_options *options)
{
	struct state *state = tp_need(1, sizeof(*state));

	state->options = *options;
	state->excerpt = tp_excerpt_want(facts, options->steps);
	tp_excerpt_show_init(&state->show, state->excerpt);
	return state;
}

/* ---- text ---- */

static const char *style_of(const struct state *state, const struct tp_excerpt_node *node)
{
	if (node->kind == TP_NODE_LANE)
		return "bold";
	if (node->kind == TP_NODE_IDLE)
		return "red";
	return node->kind == TP_NODE_ROWS &&
		       tp_excerpt_is_wait(&state->tree.row[node->row]) ? "yellow" : "";
}

/* A line: a node, or (rest) what lies in it and is not shown. */
struct line {
	const struct tp_excerpt_node *node;
	uint32_t depth;
	bool is_rest;
	uint64_t n;		/* of the rest */
	int64_t ns, device_ns;
};

static void put_begin(struct tp_row *r, const struct state *state, const struct line *line)
{
	if (!line->is_rest && line->node->kind != TP_NODE_LANE)
		tp_row_integer(r, tp_sub(line->node->begin_ns, state->tree.step->begin_ns));
}

static void put_what(struct tp_row *r, struct state *state, const struct line *line)
{
	char text[TP_EXCERPT_WHAT], a[32];

	if (line->is_rest)
		tp_row_text(r, "... %s more", tp_show_count(a, line->n));
	else
		tp_row_text(r, "%s", tp_excerpt_what(&state->show, text, &state->tree, line->node));
}

static const struct tp_excerpt_row *row_of(const struct state *state, const struct line *line)
{
	return !line->is_rest && line->node->kind == TP_NODE_ROWS ? &state->tree.row[line->node->row]
								  : NULL;
}

static void put_line(struct tp_row *r, const void *ctx, const void *of)
{
	struct state *state = *(struct state *const *)ctx;
	const struct line *line = of;
	char where[TP_EXCERPT_TEXT];

	TP_CELL(r, NULL, "start", TP_UNIT_NS, TP_SIGNED, "", put_begin(r, state, line));
	TP_CELL(r, NULL, "time", TP_UNIT_NS, 0, "",
		line->is_rest || line->node->kind != TP_NODE_LANE ? tp_row_integer(r, line->ns)
								  : (void)0);
	TP_WHEN(r, state->has_device)
		TP_CELL(r, NULL, "GPU", TP_UNIT_NS, 0, "",
			line->device_ns ? tp_row_integer(r, line->device_ns) : (void)0);
	TP_CELL(r, NULL, "", TP_UNIT_TEXT, TP_CUT | TP_TREE, "", put_what(r, state, line));
	TP_WHEN(r, state->has_lines)
		TP_CELL(r, NULL, "line", TP_UNIT_PLACE, TP_TO_RIGHT | TP_LESS(2), "",
			line->is_rest ? (void)0
				      : tp_row_text(r, "%s", tp_excerpt_where(&state->show, where,
									      &state->tree,
									      line->node)));
	TP_WHEN(r, state->has_shapes)
		TP_CELL(r, NULL, "shapes", TP_UNIT_TEXT, TP_CUT | TP_LESS(1), "",
			tp_view_trace_shapes(r, row_of(state, line)));
	TP_DEPTH(r, line->depth < INDENT_MOST ? line->depth : INDENT_MOST);
	TP_STYLE(r, line->is_rest ? "dim" : style_of(state, line->node));
}

static const struct tp_table_def lines_def = {.columns = put_line};

static void put_node(struct tp_table *table, const struct tp_excerpt_node *node, uint32_t depth)
{
	struct line line = {.node = node, .depth = depth, .ns = node->ns};

	if (node->kind == TP_NODE_BACKWARD || node->kind == TP_NODE_ROWS)
		line.device_ns = node->device_ns;
	tp_table_add(table, &line);
}

/* What lies in a node and is not shown, if some of it is. */
static void put_rest(struct state *state, struct tp_table *table,
		     const struct tp_excerpt_node *of, uint32_t depth)
{
	const struct tp_excerpt_tree *tree = &state->tree;
	struct line rest = {.node = of, .depth = depth, .is_rest = true};

	if (of->n_shown == of->n_inner)
		return;
	for (uint32_t i = of->first; i < of->first + of->n_inner; i++) {
		const struct tp_excerpt_node *node = &tree->node[i];

		if (node->is_shown)
			continue;
		rest.n += node->n;
		rest.ns = tp_add(rest.ns, node->ns);
		if (node->kind == TP_NODE_ROWS)
			rest.device_ns = tp_add(rest.device_ns, node->device_ns);
	}
	if (of->kind == TP_NODE_LANE || rest.ns >= of->ns / REST_SHARE ||
	    rest.device_ns > of->device_ns / REST_SHARE)
		tp_table_add(table, &rest);
}

/* The first node that is shown from `i` on, before `end`; `end`: none. */
static uint32_t next_shown(const struct tp_excerpt_tree *tree, uint32_t i, uint32_t end)
{
	while (i < end && !tree->node[i].is_shown)
		i++;
	return i;
}

/* The next node of the same place that is shown, or NULL; *outer: whose place it is. */
static const struct tp_excerpt_node *next_beside(const struct tp_excerpt_tree *tree,
						 const struct tp_excerpt_node *node,
						 const struct tp_excerpt_node **outer)
{
	uint32_t at, end;

	/* It is on the line of the one it is joined to. */
	while (node->is_joined)
		node = &tree->node[node->outer];
	*outer = &tree->node[node->outer];
	end = (*outer)->first + (*outer)->n_inner;
	at = next_shown(tree, (uint32_t)(node - tree->node) + 1, end);
	return at < end ? &tree->node[at] : NULL;
}

/* A lane and what is in it, in order of time. */
static void put_lane(struct state *state, struct tp_table *table, uint32_t lane)
{
	const struct tp_excerpt_tree *tree = &state->tree;
	const struct tp_excerpt_node *node = &tree->node[lane], *outer, *next;
	uint32_t depth = 0;

	put_node(table, node, 0);
	for (;;) {
		node = tp_excerpt_innermost(tree, node);
		if (node->n_shown) {
			node = &tree->node[next_shown(tree, node->first,
						      node->first + node->n_inner)];
			depth++;
		} else {
			if (node == &tree->node[lane])
				return;
			while (!(next = next_beside(tree, node, &outer))) {
				put_rest(state, table, outer, depth);
				if (outer == &tree->node[lane])
					return;
				node = outer;
				depth--;
			}
			node = next;
		}
		put_node(table, node, depth);
	}
}

static void put_title(const struct state *state, const struct tp_run *run,
		      const struct tp_excerpt_step *step, struct tp_out *out)
{
	char a[64], b[32], c[32], whose[96] = "", what[64] = "What happened in everything recorded";

	if (tp_label_is_needed(run))
		snprintf(whose, sizeof(whose), ", %s", tp_label_proc(a, run, step->proc));
	if (step->is_step)
		snprintf(what, sizeof(what), "What happened in step %" PRIu64, step->index);
	tp_out_title(out, "%s%s: %s%s%s%s", what, whose,
		     tp_show_ns(b, tp_sub(step->end_ns, step->begin_ns)),
		     step->n_of > 1 ? ", the slowest of " : "",
		     step->n_of > 1 ? tp_show_count(c, step->n_of) : "",
		     step->n_of > 1 ? (state->options.steps ? " requested" : " recorded") : "");
}

static void print_text(struct state *state, const struct tp_run *run, uint32_t at,
		       struct tp_out *out)
{
	const struct tp_excerpt_step *step = tp_excerpt_step(state->excerpt, at);
	uint32_t n_hidden = 0, lines = state->options.has_top ? state->options.top : LINES;
	struct tp_excerpt_tree *tree = &state->tree;
	struct tp_table *table;

	put_title(state, run, step, out);
	tp_excerpt_tree_make(tree, state->excerpt, at);
	tp_excerpt_tree_choose(tree, lines, tp_sub(step->end_ns, step->begin_ns) / TP_VIEW_TRACE_LEAST);
	state->has_device = step->n && tree->row[step->first + step->n - 1].lane == TP_LANE_QUEUE;
	state->has_lines = tp_origins_has_any(tp_excerpt_origins(state->excerpt));
	state->has_shapes = out->width >= SHAPES_LEAST;
	tp_view_trace_answer(&state->show, tree, out);
	table = tp_table_begin(&lines_def, &state, TP_TOP_NONE, out);
	for (uint32_t i = 0; i < tree->n_lanes; i++) {
		if (tree->node[i].is_shown)
			put_lane(state, table, i);
		else
			n_hidden++;
	}
	tp_table_end(table);
	if (n_hidden)
		tp_out_line(out, "dim", "%u more threads or devices did little.", n_hidden);
	if (tree->is_incomplete)
		tp_out_line(out, "red", "out of memory: some of it is missing here");
	tp_excerpt_tree_free(tree);
}

static void print_trace(void *opaque, const struct tp_run *run, struct tp_out *out)
{
	struct state *state = opaque;
	char a[32];
	uint32_t n;

	n = tp_excerpt_steps(state->excerpt);
	for (uint32_t i = 0; i < n; i++) {
		if (out->rows)
			tp_view_trace_rows(&state->show, state->excerpt, run, i,
					   state->options.has_top ? state->options.top : 0, out);
		else
			print_text(state, run, i, out);
	}
	if (!n) {
		tp_out_title(out, "What happened in a step");
		tp_out_line(out, "", "no event of a step was recorded%s",
			    state->options.steps ? " of those requested" : "");
	}
	if (tp_excerpt_left_out(state->excerpt))
		tp_out_line(out, "yellow", "%s events of the step are left out: there are too many.",
			    tp_show_count(a, tp_excerpt_left_out(state->excerpt)));
	tp_excerpt_show_fini(&state->show);
	free(state);
}

const struct tp_view tp_view_trace = {
	.name = "trace",
	.help = "one step as text, the slowest or that of --steps: its events, nested, with times",
	.begin = begin_trace,
	.tables = (const struct tp_table_def *const[]){&tp_table_trace, NULL},
	.print = print_trace,
};

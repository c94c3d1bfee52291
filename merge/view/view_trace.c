/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_trace.c - one step as text, for people on a terminal far away: threads with what they did
 * inside of what, work of devices below the calls that started it, idle times and who made them
 *
 * Text is folded to what takes time (excerpt_tree.h); rows for programs are all events of the step.
 */
#include "merge/model/view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "merge/facts/program/excerpt_show.h"
#include "merge/kit/need.h"
#include "merge/model/label.h"
#include "merge/model/shapes.h"

enum {
	LINES = 56,		/* when --top does not say: a screen or two */
	LEAST_SHARE = 1000,	/* of the step's time, to be worth a line */
	REST_SHARE = 50,	/* of what they lie in, for those that are not shown to be counted */
	INDENT_MOST = 20,
	SHAPES_LEAST = 130,	/* columns of a terminal that has room for them */
	ROWS_AT_A_TIME = 4096,	/* of those for programs: memory */
};

struct state {
	struct tp_view_options options;
	struct tp_excerpt *excerpt;
	struct tp_excerpt_show show;
	struct tp_excerpt_tree tree;
	bool has_device, has_lines, has_shapes;
};

static void *begin(struct tp_facts *facts, const struct tp_view_options *options)
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

static void put_offset(struct tp_old_table *table, int64_t ns)
{
	char a[32];

	tp_table_cell(table, "%s%s", ns < 0 ? "" : "+", tp_show_ns(a, ns));
}

static void put_device(struct tp_old_table *table, int64_t ns)
{
	if (ns)
		tp_cell_ns(table, ns);
	else
		tp_table_cell(table, "%s", "");
}

static void put_shapes(struct tp_old_table *table, const struct tp_excerpt_row *row)
{
	char shapes[200];

	tp_table_cell(table, "%s",
		      row && row->shapes ? tp_show_shapes(shapes, sizeof(shapes),
							  row->shapes->bytes, row->shapes->n_bytes)
					 : "");
}

static void put_node(struct state *state, struct tp_old_table *table,
		     const struct tp_excerpt_node *node, uint32_t depth)
{
	const struct tp_excerpt_tree *tree = &state->tree;
	uint32_t indent = 2 * (depth < INDENT_MOST ? depth : INDENT_MOST);
	const struct tp_excerpt_row *one =
		node->kind == TP_NODE_ROWS ? &tree->row[node->row] : NULL;
	char text[TP_EXCERPT_WHAT], where[TP_EXCERPT_TEXT];

	if (node->kind == TP_NODE_LANE) {
		tp_table_cell(table, "%s", "");
		tp_table_cell(table, "%s", "");
	} else {
		put_offset(table, tp_sub(node->begin_ns, tree->step->begin_ns));
		tp_cell_ns(table, node->ns);
	}
	if (state->has_device)
		put_device(table, node->kind == TP_NODE_BACKWARD || one ? node->device_ns : 0);
	tp_table_cell(table, "%*s%s", (int)indent, "",
		      tp_excerpt_what(&state->show, text, tree, node));
	if (state->has_lines)
		tp_table_cell(table, "%s", tp_excerpt_where(&state->show, where, tree, node));
	if (state->has_shapes)
		put_shapes(table, one);
	tp_table_style(table, style_of(state, node));
}

/* What lies in a node and is not shown, if some of it is. */
static void put_rest(struct state *state, struct tp_old_table *table,
		     const struct tp_excerpt_node *of, uint32_t depth)
{
	const struct tp_excerpt_tree *tree = &state->tree;
	int64_t ns = 0, device_ns = 0;
	uint64_t n = 0;
	char a[32];

	if (of->n_shown == of->n_inner)
		return;
	for (uint32_t i = of->first; i < of->first + of->n_inner; i++) {
		const struct tp_excerpt_node *node = &tree->node[i];

		if (node->is_shown)
			continue;
		n += node->n;
		ns = tp_add(ns, node->ns);
		if (node->kind == TP_NODE_ROWS)
			device_ns = tp_add(device_ns, node->device_ns);
	}
	if (of->kind != TP_NODE_LANE && ns < of->ns / REST_SHARE &&
	    device_ns <= of->device_ns / REST_SHARE)
		return;
	tp_table_cell(table, "%s", "");
	tp_cell_ns(table, ns);
	if (state->has_device)
		put_device(table, device_ns);
	tp_table_cell(table, "%*s... %s more", (int)(2 * (depth < INDENT_MOST ? depth : INDENT_MOST)),
		      "", tp_show_count(a, n));
	if (state->has_lines)
		tp_table_cell(table, "%s", "");
	if (state->has_shapes)
		tp_table_cell(table, "%s", "");
	tp_table_style(table, "dim");
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
static void put_lane(struct state *state, struct tp_old_table *table, uint32_t lane)
{
	const struct tp_excerpt_tree *tree = &state->tree;
	const struct tp_excerpt_node *node = &tree->node[lane], *outer, *next;
	uint32_t depth = 0;

	put_node(state, table, node, 0);
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
		put_node(state, table, node, depth);
	}
}

static void put_title(const struct state *state, const struct tp_run *run,
		      const struct tp_excerpt_step *step, struct tp_out *out)
{
	char a[64], b[32], c[32], whose[96] = "", what[64] = "Trace of all there is";

	if (tp_label_is_needed(run))
		snprintf(whose, sizeof(whose), ", %s", tp_label_proc(a, run, step->proc));
	if (step->is_step)
		snprintf(what, sizeof(what), "Trace of step %" PRIu64, step->index);
	tp_out_title(out, "%s%s: %s%s%s%s", what, whose,
		     tp_show_ns(b, tp_sub(step->end_ns, step->begin_ns)),
		     step->n_of > 1 ? ", the slowest of " : "",
		     step->n_of > 1 ? tp_show_count(c, step->n_of) : "",
		     step->n_of > 1 ? (state->options.steps ? " asked for" : " recorded") : "");
}

static void print_text(struct state *state, const struct tp_run *run, uint32_t at,
		       struct tp_out *out)
{
	static const struct tp_old_column begin_ns = {.title = "begin", .align = TP_RIGHT},
				      time_ns = {.title = "time", .align = TP_RIGHT},
				      device = {.title = "GPU", .align = TP_RIGHT},
				      what = {.title = "", .may_cut = true},
				      line = {.title = "line", .align = TP_RIGHT, .is_extra = 2},
				      shapes = {.title = "shapes", .is_extra = 1, .may_cut = true};
	struct tp_old_column column[6] = {begin_ns, time_ns};
	const struct tp_excerpt_step *step = tp_excerpt_step(state->excerpt, at);
	uint32_t n_columns = 2, n_hidden = 0,
		 lines = state->options.has_top ? state->options.top : LINES;
	struct tp_excerpt_tree *tree = &state->tree;
	struct tp_old_table *table;

	put_title(state, run, step, out);
	tp_excerpt_tree_make(tree, state->excerpt, at);
	tp_excerpt_tree_choose(tree, lines, tp_sub(step->end_ns, step->begin_ns) / LEAST_SHARE);
	state->has_device = step->n && tree->row[step->first + step->n - 1].lane == TP_LANE_QUEUE;
	state->has_lines = tp_origins_has_any(tp_excerpt_origins(state->excerpt));
	state->has_shapes = out->width >= SHAPES_LEAST;
	if (state->has_device)
		column[n_columns++] = device;
	column[n_columns++] = what;
	if (state->has_lines)
		column[n_columns++] = line;
	if (state->has_shapes)
		column[n_columns++] = shapes;
	table = tp_table_new(column, n_columns);
	for (uint32_t i = 0; i < tree->n_lanes; i++) {
		if (tree->node[i].is_shown)
			put_lane(state, table, i);
		else
			n_hidden++;
	}
	tp_table_print(table, out);
	if (n_hidden)
		tp_out_line(out, "dim", "%u more threads or devices did little.", n_hidden);
	if (tree->is_incomplete)
		tp_out_line(out, "red", "out of memory: some of it is missing here");
	tp_excerpt_tree_free(tree);
}

/* ---- rows ---- */

static struct tp_old_table *new_rows_table(void)
{
	static const struct tp_old_column column[] = {
		{.title = "step", .align = TP_RIGHT, .field = "step"},
		{.title = "place", .field = "place"},
		{.title = "depth", .align = TP_RIGHT, .field = "depth"},
		{.title = "name", .field = "name"},
		{.title = "category", .field = "category"},
		{.title = "begin", .align = TP_RIGHT, .field = "begin_ns"},
		{.title = "time", .align = TP_RIGHT, .field = "time_ns"},
		{.title = "GPU", .align = TP_RIGHT, .field = "device_ns"},
		{.title = "delay", .align = TP_RIGHT, .field = "delay_ns"},
		{.title = "correlation", .align = TP_RIGHT, .field = "correlation"},
		{.title = "shapes", .field = "shapes"},
		{.title = "module", .field = "module"},
		{.title = "line", .field = "line"},
	};
	struct tp_old_table *table = tp_table_new(column, sizeof(column) / sizeof(column[0]));

	tp_table_name(table, "trace");
	return table;
}

static void put_row(struct state *state, struct tp_old_table *table,
		    const struct tp_excerpt_step *step, const struct tp_excerpt_row *row)
{
	char text[TP_EXCERPT_TEXT];

	if (step->is_step)
		tp_table_cell(table, "%" PRIu64, step->index);
	else
		tp_table_cell(table, "%s", "");
	tp_table_cell(table, "%s", tp_excerpt_place(text, step->proc, row));
	tp_table_cell(table, "%u", row->depth);
	tp_table_cell(table, "%s", tp_excerpt_name(&state->show, text, row, true));
	tp_table_cell(table, "%s", tp_excerpt_category(row));
	tp_cell_ns(table, tp_sub(row->begin_ns, step->begin_ns));
	tp_cell_ns(table, tp_sub(row->end_ns, row->begin_ns));
	tp_cell_ns(table, row->device_ns);
	if (row->delay_ns >= 0)
		tp_cell_ns(table, row->delay_ns);
	else
		tp_table_cell(table, "%s", "");
	if (row->correlation)
		tp_table_cell(table, "%u", row->correlation);
	else
		tp_table_cell(table, "%s", "");
	put_shapes(table, row);
	tp_table_cell(table, "%s", tp_excerpt_module(&state->show, text, row->path));
	tp_table_cell(table, "%s", tp_excerpt_line(&state->show, text, row->stack));
}

static void print_rows(struct state *state, const struct tp_run *run, uint32_t at,
		       struct tp_out *out)
{
	const struct tp_excerpt_step *step = tp_excerpt_step(state->excerpt, at);
	const struct tp_excerpt_row *row = tp_excerpt_rows(state->excerpt) + step->first;
	uint32_t top = state->options.has_top ? state->options.top : 0;
	uint32_t n = top && top < step->n ? top : step->n;
	struct tp_old_table *table = new_rows_table();
	char a[64];

	out->who = tp_label_proc(a, run, step->proc);
	for (uint32_t i = 0; i < n; i++) {
		put_row(state, table, step, &row[i]);
		if (i % ROWS_AT_A_TIME == ROWS_AT_A_TIME - 1)
			tp_table_flush(table, out);
	}
	tp_table_print(table, out);
	out->who = NULL;
}

static void print(void *opaque, const struct tp_run *run, struct tp_out *out)
{
	struct state *state = opaque;
	char a[32];
	uint32_t n;

	n = tp_excerpt_steps(state->excerpt);
	for (uint32_t i = 0; i < n; i++) {
		if (out->rows)
			print_rows(state, run, i, out);
		else
			print_text(state, run, i, out);
	}
	if (!n) {
		tp_out_title(out, "Trace");
		tp_out_line(out, "", "no event of a step was recorded%s",
			    state->options.steps ? " of those asked for" : "");
	}
	if (tp_excerpt_left_out(state->excerpt))
		tp_out_line(out, "yellow", "%s events of the step are too many and not in it.",
			    tp_show_count(a, tp_excerpt_left_out(state->excerpt)));
	tp_excerpt_show_fini(&state->show);
	free(state);
}

const struct tp_view tp_view_trace = {
	.name = "trace",
	.help = "one step as text, the slowest or that of --steps: what lay in what, and when",
	.begin = begin,
	.print = print,
};

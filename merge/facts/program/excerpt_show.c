/* SPDX-License-Identifier: Apache-2.0 */
/*
 * excerpt_show.c - what rows and nodes of an excerpt are called
 */
#include "merge/facts/program/excerpt_show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/facts/origin/hostmem_frames.h"
#include "merge/kit/demangle.h"
#include "merge/model/coll.h"
#include "merge/model/label.h"
#include "merge/model/table.h"
#include "merge/model/title.h"
#include "runtime/base/text.h"
#include "runtime/trace/torch_names.h"

enum {
	KERNEL_MAX = 64,	/* of a name as C++ has them */
	FRAMES_MAX = 64,
	PLACE_MAX = 34,		/* of a file's name and line: its end */
};

void tp_excerpt_show_init(struct tp_excerpt_show *show, const struct tp_excerpt *excerpt)
{
	show->excerpt = excerpt;
	show->readable = malloc(TP_DEMANGLE_TO);
}

void tp_excerpt_show_fini(struct tp_excerpt_show *show)
{
	free(show->readable);
}

/* ---- rows ---- */

const char *tp_excerpt_module(const struct tp_excerpt_show *show, char text[TP_EXCERPT_TEXT],
			      uint32_t path)
{
	const struct tp_module_paths *paths = tp_origins_paths(tp_excerpt_origins(show->excerpt));
	const struct tp_module_path *at = tp_module_paths_at(paths, path);
	char name[TP_EXCERPT_TEXT / 2], class[TP_EXCERPT_TEXT / 4];
	const char *bytes;
	uint32_t n;

	*text = 0;
	if (!path)
		return text;
	bytes = tp_module_class(at, &n);
	tp_show_text(class, sizeof(class), n ? bytes : "?", n ? n : 1);
	bytes = tp_module_name(at, &n);
	tp_show_text(name, sizeof(name), bytes, n);
	if (n)
		snprintf(text, TP_EXCERPT_TEXT, "%s (%s)", name, class);
	else
		snprintf(text, TP_EXCERPT_TEXT, "%s", class);
	return text;
}

/* Without its result, what it is made of and its parameters; "(anonymous namespace)::" stays. */
static const char *cut_kernel(char text[TP_EXCERPT_TEXT], const char *bytes, uint32_t n)
{
	uint32_t end = 1;

	if (n > 5 && !memcmp(bytes, "void ", 5)) {
		bytes += 5;
		n -= 5;
	}
	while (end < n && bytes[end] != '<' && !(bytes[end] == '(' && bytes[end - 1] != ':'))
		end++;
	/* "Memcpy HtoD (Pageable -> Device)" is no C++. */
	if (end < n && bytes[end - 1] == ' ')
		end = n;
	if (end < n || n < KERNEL_MAX)
		return tp_show_text(text, TP_EXCERPT_TEXT, bytes, end < n ? end : n);
	tp_show_text(text, KERNEL_MAX - 3, bytes, n);
	return strcat(text, "...");
}

const char *tp_excerpt_name(const struct tp_excerpt_show *show, char text[TP_EXCERPT_TEXT],
			    const struct tp_excerpt_row *row, bool is_full)
{
	const char *bytes, *better = NULL;
	uint32_t n;

	if (row->kind == TP_REC_NNMODULE)
		return tp_excerpt_module(show, text, row->path);
	if (row->lane == TP_LANE_COLL)
		return tp_coll_title(text, row->name);
	bytes = row->name->bytes ? row->name->bytes : "";
	n = (uint32_t)strnlen(bytes, row->name->n_bytes);
	if (!n)
		return strcpy(text, "(no name)");
	if (row->lane != TP_LANE_QUEUE)
		return tp_show_text(text, TP_EXCERPT_TEXT, bytes, n);
	if (show->readable)
		better = tp_demangle(bytes, n, show->readable, &n);
	bytes = better ? better : bytes;
	return is_full ? tp_show_text(text, TP_EXCERPT_TEXT, bytes, n) : cut_kernel(text, bytes, n);
}

const char *tp_excerpt_line(const struct tp_excerpt_show *show, char text[TP_EXCERPT_TEXT],
			    uint32_t stack)
{
	const struct tp_stacks *stacks = tp_origins_stacks(tp_excerpt_origins(show->excerpt));
	struct tp_frame frame[FRAMES_MAX];
	char raw[TP_EXCERPT_TEXT];
	uint32_t n, at;

	*text = 0;
	if (!stack)
		return text;
	n = tp_stacks_frames(stacks, stack, frame, FRAMES_MAX);
	n = n < FRAMES_MAX ? n : FRAMES_MAX;
	at = tp_hostmem_telling_frame(frame, n);
	if (at == n)
		return text;
	tp_hostmem_show_frame(raw, sizeof(raw), &frame[at], TP_HOSTMEM_SHORT);
	return tp_show_text(text, TP_EXCERPT_TEXT, raw, (uint32_t)strlen(raw));
}

const char *tp_excerpt_place(char text[TP_EXCERPT_TEXT], const struct tp_proc *proc,
			     const struct tp_excerpt_row *row)
{
	char label[TP_TITLE_MAX];

	switch (row->lane) {
	case TP_LANE_THREAD:
		snprintf(text, TP_EXCERPT_TEXT, "%s", tp_label_thread(label, row->thread));
		break;
	case TP_LANE_ASYNC:
		snprintf(text, TP_EXCERPT_TEXT, "asynchronous");
		break;
	case TP_LANE_COLL:
		snprintf(text, TP_EXCERPT_TEXT, "collectives");
		break;
	default:
		snprintf(text, TP_EXCERPT_TEXT, "GPU %u %s", row->queue->device,
			 tp_title_stream(label, proc, row->queue, 0, false));
	}
	return text;
}

/* ---- nodes ---- */

const struct tp_excerpt_node *tp_excerpt_innermost(const struct tp_excerpt_tree *tree,
						   const struct tp_excerpt_node *node)
{
	const struct tp_excerpt_node *inner;

	while ((inner = tp_excerpt_tree_joined(tree, node)) != NULL)
		node = inner;
	return node;
}

/* The stack of the row or of what it lies in. */
static uint32_t stack_of(const struct tp_excerpt_row *row, const struct tp_excerpt_row *all)
{
	while (!row->stack && row->outer != TP_EXCERPT_NONE)
		row = &all[row->outer];
	return row->stack;
}

/* Where it was called, unless that is where what it lies in was. */
static uint32_t telling_stack(const struct tp_excerpt_row *row, const struct tp_excerpt_row *all)
{
	if (row->lane != TP_LANE_THREAD || !row->stack ||
	    (row->outer != TP_EXCERPT_NONE && stack_of(&all[row->outer], all) == row->stack))
		return 0;
	return row->stack;
}

/* "aten::mul"; of several modules "blocks.0 to blocks.11 (Block)" */
static void put_name(const struct tp_excerpt_show *show, struct tp_text *out,
		     const struct tp_excerpt_tree *tree, const struct tp_excerpt_node *node)
{
	const struct tp_excerpt_row *row = &tree->row[node->row];
	char name[TP_EXCERPT_TEXT], *class;

	if (node->n > 1 && row->kind == TP_REC_NNMODULE) {
		tp_excerpt_name(show, name, &tree->row[node->first_row], false);
		class = strrchr(name, '(');
		if (class)
			tp_text_fmt(out, "%.*sto ", (int)(class - name), name);
		row = &tree->row[node->last_row];
	}
	tp_text_str(out, tp_excerpt_name(show, name, row, false));
}

/* " x 12, the longest:"; "  stream 7 +5.2 us" */
static void put_facts(struct tp_text *out, const struct tp_excerpt_node *node,
		      const struct tp_excerpt_row *row)
{
	char a[32];

	if (node->n > 1)
		tp_text_fmt(out, " x %s%s", tp_show_count(a, node->n),
			    node->n_shown ? ", the longest:" : "");
	if (row->lane != TP_LANE_QUEUE)
		return;
	tp_text_fmt(out, "  stream %d", (int)row->queue->stream);
	if (row->delay_ns >= 0)
		tp_text_fmt(out, " +%s", tp_show_ns(a, row->delay_ns));
}

/* Of nodes that are joined the first that says something: the engine's own range around a node of
 * autograd does not. */
static const struct tp_excerpt_node *first_telling(const struct tp_excerpt_tree *tree,
						   const struct tp_excerpt_node *node)
{
	const struct tp_excerpt_node *inner = tp_excerpt_tree_joined(tree, node);
	const struct tp_string *name = tree->row[node->row].name;

	return inner && name && name->bytes && tp_begins(name->bytes, name->n_bytes, TP_NAME_ENGINE) ?
		inner : node;
}

/* "aten::linear > aten::addmm", "aten::conv2d > ... > its kernel": the first and the last of what
 * is joined. */
static void put_rows(const struct tp_excerpt_show *show, struct tp_text *out,
		     const struct tp_excerpt_tree *tree, const struct tp_excerpt_node *node)
{
	const struct tp_excerpt_node *first = first_telling(tree, node);
	const struct tp_excerpt_node *last = tp_excerpt_innermost(tree, first);
	const struct tp_excerpt_row *row = &tree->row[first->row];
	char name[TP_EXCERPT_TEXT];

	put_name(show, out, tree, first);
	if (row->is_backward && row->path && row->flags & TP_F_BACKWARD)
		tp_text_fmt(out, " of %s", tp_excerpt_module(show, name, row->path));
	if (last != first) {
		/* That there is a call between an operator and its kernel is no news. */
		if (tp_excerpt_tree_joined(tree, first) != last &&
		    tree->row[last->row].lane != TP_LANE_QUEUE)
			tp_text_str(out, " > ...");
		tp_text_str(out, " > ");
		put_name(show, out, tree, last);
	}
	put_facts(out, last, &tree->row[last->row]);
}

/* What the host was in: the innermost, and what that lies in. */
static void put_idle(const struct tp_excerpt_show *show, struct tp_text *out,
		     const struct tp_excerpt_tree *tree, const struct tp_excerpt_node *node)
{
	const struct tp_excerpt_row *row;
	char name[TP_EXCERPT_TEXT];

	if (node->row == TP_EXCERPT_NONE) {
		tp_text_str(out, "idle: the host was between operators");
		return;
	}
	row = &tree->row[node->row];
	tp_text_str(out, "idle: the host was in ");
	if (row->outer != TP_EXCERPT_NONE)
		tp_text_fmt(out, "%s > ", tp_excerpt_name(show, name, &tree->row[row->outer], false));
	tp_text_str(out, tp_excerpt_name(show, name, row, false));
}

static void put_lane(struct tp_text *out, const struct tp_excerpt_tree *tree,
		     const struct tp_excerpt_node *node)
{
	const struct tp_excerpt_row *row = &tree->row[node->row];
	char place[TP_EXCERPT_TEXT], a[32];

	if (row->lane != TP_LANE_QUEUE) {
		tp_text_str(out, tp_excerpt_place(place, tree->step->proc, row));
		return;
	}
	tp_text_fmt(out, "GPU %u, busy %s of the step", row->queue->device,
		    tp_show_percent(a, (double)node->device_ns,
				    (double)tp_sub(tree->step->end_ns, tree->step->begin_ns)));
}

const char *tp_excerpt_what(const struct tp_excerpt_show *show, char text[TP_EXCERPT_WHAT],
			    const struct tp_excerpt_tree *tree, const struct tp_excerpt_node *node)
{
	char name[TP_EXCERPT_TEXT], a[32], b[32];
	struct tp_text out;

	tp_text_init(&out, text, TP_EXCERPT_WHAT);
	switch (node->kind) {
	case TP_NODE_LANE:
		put_lane(&out, tree, node);
		break;
	case TP_NODE_ROWS:
		put_rows(show, &out, tree, node);
		break;
	case TP_NODE_BACKWARD:
		tp_text_fmt(&out, "backward: %s", tp_show_count(a, node->n));
		break;
	case TP_NODE_BUSY:
		tp_excerpt_name(show, name, &tree->row[node->row], false);
		if (node->n > 1)
			tp_text_fmt(&out, "busy: %s pieces of work, the longest %s ",
				    tp_show_count(a, node->n), tp_show_ns(b, node->longest_ns));
		else
			tp_text_str(&out, "busy: ");
		tp_text_str(&out, name);
		break;
	default:
		put_idle(show, &out, tree, node);
	}
	return text;
}

/* The stack that a line of the tree is about; 0: none, or that of what it lies in. */
static uint32_t stack_of_node(const struct tp_excerpt_tree *tree,
			      const struct tp_excerpt_node *node)
{
	uint32_t stack = 0;

	if (node->kind == TP_NODE_IDLE && node->row != TP_EXCERPT_NONE)
		return stack_of(&tree->row[node->row], tree->row);
	if (node->kind != TP_NODE_ROWS)
		return 0;
	for (; node; node = tp_excerpt_tree_joined(tree, node)) {
		const struct tp_excerpt_row *row = &tree->row[node->row];

		/* Of a node of autograd the line of its forward operator. */
		if (row->stack && row->flags & TP_F_BACKWARD && row->is_backward)
			return row->stack;
		stack = stack ? stack : telling_stack(row, tree->row);
	}
	return stack;
}

const char *tp_excerpt_where(const struct tp_excerpt_show *show, char text[TP_EXCERPT_TEXT],
			     const struct tp_excerpt_tree *tree, const struct tp_excerpt_node *node)
{
	size_t n;

	tp_excerpt_line(show, text, stack_of_node(tree, node));
	/* The function is known from what it calls. */
	n = strcspn(text, " ");
	text[n] = 0;
	return n < PLACE_MAX ? text : text + n - PLACE_MAX;
}

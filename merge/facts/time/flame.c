/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flame.c - stacks and what they cost as one tree
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/facts/time/flame_in.h"
#include "merge/kit/grow.h"
#include "merge/kit/show.h"

/* Nodes of the tree for each one that is given out; what is left of a stack when it is full stays
 * one node. Two million (of 50,000) are 100 MB; PyTorch with its imports has fewer. */
enum { TREE_FACTOR = 40 };

/* ---- places ---- */

static uint64_t hash_place(const struct tp_flame_place *place)
{
	return place->offset ^ (uint64_t)place->line << 32 ^ (uint64_t)place->is_inlined << 63 ^
	       (uint64_t)place->function_id * 0xff51afd7ed558ccdull;
}

static bool is_same_place(const struct tp_flame_place *a, const struct tp_flame_place *b)
{
	return a->function_id == b->function_id && a->line == b->line &&
	       a->offset == b->offset && a->is_inlined == b->is_inlined && a->kind == b->kind &&
	       (a->module == b->module || !strcmp(a->module, b->module));
}

static bool add_place(struct tp_flame *flame, const struct tp_flame_place *place, uint32_t *at)
{
	if (!tp_grow(&flame->place, &flame->cap_places, (uint64_t)flame->n_places + 1,
		     sizeof(*place)))
		return false;
	flame->place[flame->n_places] = *place;
	*at = flame->n_places++;
	return true;
}

static bool find_place(struct tp_flame *flame, const struct tp_flame_place *place, uint32_t *number)
{
	uint32_t hash = tp_keyed_hash(hash_place(place)), at, i;

	for (i = tp_keyed_first(&flame->by_place, hash, &at); i != TP_NO_KEYED;
	     i = tp_keyed_next(&flame->by_place, hash, &at)) {
		if (is_same_place(&flame->place[i], place)) {
			*number = i;
			return true;
		}
	}
	return add_place(flame, place, number) && tp_keyed_add(&flame->by_place, hash, *number);
}

/* Without what these nodes do not tell apart. */
static struct tp_flame_place place_of(const struct tp_flame *flame, const struct tp_frame *frame)
{
	struct tp_flame_place place = {
		.kind = TP_PLACE_FRAME, .function = frame->function, .file = frame->file,
		.module = frame->module, .offset = frame->offset, .line = frame->line,
		.function_id = frame->function_id, .is_python = frame->is_python,
		.is_inlined = frame->is_inlined,
	};

	if (flame->by == TP_FLAME_BY_FUNCTION) {
		place.line = 0;
		place.is_inlined = false;
	}
	if (!*place.function)
		place.function_id = 0;
	if (flame->by == TP_FLAME_BY_FUNCTION ||
	    (flame->by == TP_FLAME_BY_LINE && *place.function && place.line))
		place.offset = 0;
	return place;
}

/* ---- nodes ---- */

/* From row to row: neighbours have most of their outer frames in common. */
struct walk {
	struct tp_frame *frame, *before;	/* of this row and of the last one, innermost first */
	uint32_t cap_frames, cap_before, n_before;
	uint32_t proc;
	uint32_t *node;		/* of the last row, by distance from the outermost frame */
	uint32_t cap_nodes;
	uint32_t *row;		/* one, the one around it, ... */
	uint32_t cap_rows;
};

static bool load_frames(const struct tp_flame_rows *rows, uint32_t stack, struct walk *walk,
			uint32_t *n)
{
	*n = rows->frames(rows->stacks, stack, walk->frame, walk->cap_frames);
	if (*n > walk->cap_frames) {
		if (!tp_grow(&walk->frame, &walk->cap_frames, *n, sizeof(walk->frame[0])))
			return false;
		*n = rows->frames(rows->stacks, stack, walk->frame, walk->cap_frames);
	}
	return true;
}

static bool is_same_frame(const struct tp_frame *a, const struct tp_frame *b)
{
	return a->function_id == b->function_id && a->offset == b->offset && a->line == b->line &&
	       a->module == b->module && a->is_inlined == b->is_inlined && a->is_cut == b->is_cut;
}

/* How many of the outermost frames are those of the last row. */
static uint32_t count_common(const struct walk *walk, uint32_t n)
{
	uint32_t most = n < walk->n_before ? n : walk->n_before, k = 0;

	while (k < most && is_same_frame(&walk->frame[n - 1 - k],
					 &walk->before[walk->n_before - 1 - k]))
		k++;
	return k;
}

/* What is outside the outermost frame: the process, callers that are not known. */
static uint32_t root_of(struct tp_flame *flame, uint32_t proc, bool is_cut)
{
	uint32_t most = flame->paths.most, node = 0;

	flame->paths.most = 0;
	if (flame->process)
		node = tp_paths_child(&flame->paths, node, flame->process[proc]);
	if (is_cut && node != TP_NO_PATH)
		node = tp_paths_child(&flame->paths, node, PLACE_CUT);
	flame->paths.most = most;
	return node;
}

/* What there is no room for, below a node that is there. */
static uint32_t rest_of(struct tp_flame *flame, uint32_t above)
{
	uint32_t most = flame->paths.most, node;

	flame->paths.most = 0;
	node = tp_paths_child(&flame->paths, above, PLACE_REST);
	flame->paths.most = most;
	return node;
}

static bool is_rest(const struct tp_flame *flame, uint32_t node)
{
	return node && node != TP_NO_PATH && flame->paths.path[node].row == PLACE_REST;
}

/* The node of a frame inside a node's; TP_NO_PATH: out of memory. */
static uint32_t node_inside(struct tp_flame *flame, uint32_t node, const struct tp_frame *frame)
{
	struct tp_flame_place place = place_of(flame, frame);
	uint32_t at, inner = TP_NO_PATH;

	if (find_place(flame, &place, &at))
		inner = tp_paths_child(&flame->paths, node, at);
	if (inner == TP_NO_PATH && flame->paths.n >= flame->paths.most)
		inner = rest_of(flame, node);
	return inner;
}

/* The node of a row's stack, from that of the row around it on; TP_NO_PATH: out of memory. */
static uint32_t find_inside(struct tp_flame *flame, const struct tp_flame_rows *rows,
			    uint32_t at_row, struct walk *walk, uint32_t *node_of)
{
	uint32_t n_rows = 0, at = at_row, node, n, proc, stack;

	do {
		if (!tp_grow(&walk->row, &walk->cap_rows, (uint64_t)n_rows + 1, sizeof(walk->row[0])))
			return TP_NO_PATH;
		walk->row[n_rows++] = at;
		at = rows->around(rows->of, at);
	} while (at != TP_FLAME_NO_ROW && !node_of[at]);
	node = at != TP_FLAME_NO_ROW ? node_of[at] : 0;
	while (n_rows-- && node != TP_NO_PATH) {
		rows->row(rows->of, walk->row[n_rows], &proc, &stack);
		if (!load_frames(rows, stack, walk, &n))
			return TP_NO_PATH;
		if (!node)
			node = root_of(flame, proc, !n || walk->frame[n - 1].is_cut);
		while (n-- && node != TP_NO_PATH && !is_rest(flame, node))
			node = node_inside(flame, node, &walk->frame[n]);
		node_of[walk->row[n_rows]] = node;
	}
	return node;
}

/* The same of a row that none is around. */
static uint32_t find_node(struct tp_flame *flame, const struct tp_flame_rows *rows,
			  uint32_t at_row, struct walk *walk)
{
	struct tp_frame *before = walk->before;
	uint32_t n, k = 0, node, cap = walk->cap_before, proc, stack;

	rows->row(rows->of, at_row, &proc, &stack);
	if (!load_frames(rows, stack, walk, &n) ||
	    !tp_grow(&walk->node, &walk->cap_nodes, n, sizeof(walk->node[0])))
		return TP_NO_PATH;
	if (walk->proc == proc)
		k = count_common(walk, n);
	node = k ? walk->node[k - 1]
		 : root_of(flame, proc, !n || walk->frame[n - 1].is_cut);
	for (; k < n && node != TP_NO_PATH; k++) {
		node = node_inside(flame, node, &walk->frame[n - 1 - k]);
		if (is_rest(flame, node))
			break;
		walk->node[k] = node;
	}
	/* The outer frames that have a node: all, or up to where the tree was full. */
	if (k)
		memmove(walk->frame, walk->frame + (n - k), k * sizeof(walk->frame[0]));
	walk->before = walk->frame;
	walk->cap_before = walk->cap_frames;
	walk->n_before = k;
	walk->proc = proc;
	walk->frame = before;
	walk->cap_frames = cap;
	return node;
}

static bool has_cost(const struct tp_flame_rows *rows, uint32_t at)
{
	for (uint32_t i = 0; i < rows->n_costs; i++) {
		if (rows->value(rows->of, at, i))
			return true;
	}
	return false;
}

/* A node's number is greater than that of the one above it. */
static bool add_up(struct tp_flame *flame, const struct tp_flame_rows *rows,
		   const uint32_t *node_of)
{
	uint32_t n_costs = flame->n_costs;

	flame->n_nodes = flame->paths.n;
	flame->total = calloc((size_t)flame->n_nodes * n_costs + 1, sizeof(flame->total[0]));
	if (!flame->total)
		return false;
	for (uint32_t i = 0; i < rows->n_rows; i++) {
		for (uint32_t k = 0; k < n_costs && node_of[i]; k++)
			flame->total[(size_t)node_of[i] * n_costs + k] +=
				rows->value(rows->of, i, k);
	}
	for (uint32_t i = flame->n_nodes; i-- > 1;) {
		size_t above = flame->paths.path[i].parent;

		for (uint32_t k = 0; k < n_costs; k++)
			flame->total[above * n_costs + k] += flame->total[(size_t)i * n_costs + k];
	}
	return true;
}

static bool add_rows(struct tp_flame *flame, const struct tp_flame_rows *rows)
{
	uint32_t *node_of = calloc((size_t)rows->n_rows + 1, sizeof(*node_of));
	struct walk walk = {0};
	bool is_good = node_of != NULL;

	for (uint32_t i = 0; i < rows->n_rows && is_good; i++) {
		if (!has_cost(rows, i))
			continue;
		node_of[i] = rows->around ? find_inside(flame, rows, i, &walk, node_of)
					  : find_node(flame, rows, i, &walk);
		is_good = node_of[i] != TP_NO_PATH;
	}
	free(walk.frame);
	free(walk.before);
	free(walk.node);
	free(walk.row);
	is_good = is_good && add_up(flame, rows, node_of);
	free(node_of);
	return is_good;
}

/* A place for each process, unless all rows are of one. */
static bool add_processes(struct tp_flame *flame, const struct tp_flame_rows *rows)
{
	uint32_t n = rows->run->n_procs, first = 0, proc, stack;
	bool has_several = false;

	for (uint32_t i = 0; i < rows->n_rows; i++) {
		rows->row(rows->of, i, &proc, &stack);
		first = i ? first : proc;
		has_several |= proc != first;
	}
	if (!has_several)
		return true;
	flame->process = calloc(n, sizeof(flame->process[0]));
	flame->process_title = calloc(n, sizeof(flame->process_title[0]));
	if (!flame->process || !flame->process_title)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		struct tp_flame_place place = {.kind = TP_PLACE_PROCESS, .file = "", .module = ""};

		place.function = tp_title_process(flame->process_title[i], rows->run->proc[i]);
		place.function_id = i;
		if (!find_place(flame, &place, &flame->process[i]))
			return false;
	}
	return true;
}

struct tp_flame *tp_flame_new(const struct tp_flame_rows *rows, enum tp_flame_by by,
			      uint32_t nodes_max)
{
	static const struct tp_flame_place fixed[N_FIXED_PLACES] = {
		[PLACE_OTHER] = {.kind = TP_PLACE_OTHER, .function = "", .file = "", .module = ""},
		[PLACE_REST] = {.kind = TP_PLACE_REST, .function = "", .file = "", .module = ""},
		[PLACE_CUT] = {.kind = TP_PLACE_CUT, .function = "", .file = "", .module = ""},
	};
	struct tp_flame *flame = calloc(1, sizeof(*flame));
	bool is_good = true;
	uint32_t at;

	if (!flame)
		return NULL;
	flame->by = by;
	flame->n_costs = rows->n_costs;
	flame->nodes_max = nodes_max;
	flame->paths.most = nodes_max * TREE_FACTOR;
	for (uint32_t i = 0; i < N_FIXED_PLACES && is_good; i++)
		is_good = add_place(flame, &fixed[i], &at);
	if (is_good && add_processes(flame, rows) && add_rows(flame, rows))
		return flame;
	tp_flame_free(flame);
	return NULL;
}

void tp_flame_free(struct tp_flame *flame)
{
	if (!flame)
		return;
	free(flame->place);
	tp_keyed_free(&flame->by_place);
	free(flame->process);
	free(flame->process_title);
	tp_paths_free(&flame->paths);
	free(flame->total);
	free(flame);
}

uint32_t tp_flame_places(const struct tp_flame *flame)
{
	return flame->n_places;
}

const struct tp_flame_place *tp_flame_place(const struct tp_flame *flame, uint32_t at)
{
	return &flame->place[at];
}

uint64_t tp_flame_total(const struct tp_flame *flame, uint32_t cost_at)
{
	return flame->n_nodes ? flame->total[cost_at] : 0;
}

const char *tp_flame_title(const struct tp_flame *flame, uint32_t at,
			   char buf[TP_FLAME_TITLE_MAX], uint32_t *n)
{
	const struct tp_flame_place *place = &flame->place[at];
	const char *text = place->function;
	int n_written = -1;

	if (place->kind == TP_PLACE_OTHER)
		text = flame->other;
	else if (place->kind == TP_PLACE_REST)
		text = "(other: more stacks than are kept)";
	else if (place->kind == TP_PLACE_CUT)
		text = "(callers not known)";
	else if (!*text && !*place->module)
		text = "(unknown)";
	else if (!*text && flame->by == TP_FLAME_BY_FUNCTION)
		n_written = snprintf(buf, TP_FLAME_TITLE_MAX, "[%s]", tp_show_base(place->module));
	else if (!*text)
		n_written = snprintf(buf, TP_FLAME_TITLE_MAX, "%s+0x%llx", tp_show_base(place->module),
				     (unsigned long long)place->offset);
	else if (place->is_python && *place->file && flame->by == TP_FLAME_BY_FUNCTION)
		n_written = snprintf(buf, TP_FLAME_TITLE_MAX, "%s (%s)", text,
				     tp_show_file(place->file));
	if (n_written >= 0) {
		*n = n_written < TP_FLAME_TITLE_MAX ? (uint32_t)n_written : TP_FLAME_TITLE_MAX - 1;
		return buf;
	}
	*n = (uint32_t)strlen(text);
	return text;
}

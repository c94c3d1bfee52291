/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flame.c - stacks and what they cost as one tree
 */
#include "merge/flame.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/grow.h"
#include "merge/keyed.h"
#include "merge/paths.h"
#include "merge/title.h"

enum { PLACE_OTHER, PLACE_REST, PLACE_CUT, N_FIXED_PLACES };

/* Of the tree, for each node that is given out: what is left of a stack when it is full stays one
 * node. 40 times 50,000 are 100 MB and less than two million stacks of PyTorch's imports need. */
enum { TREE_FACTOR = 40 };

struct tp_flame {
	enum tp_flame_by by;
	uint32_t n_costs, nodes_max;
	struct tp_place *place;
	uint32_t n_places, cap_places;
	struct tp_keyed by_place;
	uint32_t *process;	/* by proc: its place; NULL: there is only one */
	char (*process_title)[TP_TITLE_MAX];
	struct tp_paths paths;
	uint64_t *total;	/* by node, then cost: of it and all nodes below it */
	uint32_t n_nodes;
	double percent;		/* of the whole: branches below it may be folded; 0: none was */
	char other[96];
};

/* ---- places ---- */

static uint64_t hash_place(const struct tp_place *place)
{
	return place->offset ^ (uint64_t)place->line << 32 ^ (uint64_t)place->is_inlined << 63 ^
	       (uint64_t)place->function_id * 0xff51afd7ed558ccdull;
}

static bool is_same_place(const struct tp_place *a, const struct tp_place *b)
{
	return a->function_id == b->function_id && a->line == b->line &&
	       a->offset == b->offset && a->is_inlined == b->is_inlined && a->kind == b->kind &&
	       (a->module == b->module || !strcmp(a->module, b->module));
}

static bool add_place(struct tp_flame *flame, const struct tp_place *place, uint32_t *at)
{
	if (!tp_grow(&flame->place, &flame->cap_places, (uint64_t)flame->n_places + 1,
		     sizeof(*place)))
		return false;
	flame->place[flame->n_places] = *place;
	*at = flame->n_places++;
	return true;
}

static bool find_place(struct tp_flame *flame, const struct tp_place *place, uint32_t *number)
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
static struct tp_place place_of(const struct tp_flame *flame, const struct tp_frame *frame)
{
	struct tp_place place = {
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
};

static bool load_frames(const struct tp_heap_rows *rows, uint32_t stack, struct walk *walk,
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

/* What is outside of the outermost frame: the process, callers that are not known. */
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

/* The node of a row's stack; TP_NO_PATH: out of memory. */
static uint32_t find_node(struct tp_flame *flame, const struct tp_heap_rows *rows,
			  const struct tp_hostmem_row *row, struct walk *walk)
{
	struct tp_frame *before = walk->before;
	uint32_t n, k = 0, node, cap = walk->cap_before;

	if (!load_frames(rows, row->stack, walk, &n) ||
	    !tp_grow(&walk->node, &walk->cap_nodes, n, sizeof(walk->node[0])))
		return TP_NO_PATH;
	if (walk->proc == row->proc)
		k = count_common(walk, n);
	node = k ? walk->node[k - 1]
		 : root_of(flame, row->proc, !n || walk->frame[n - 1].is_cut);
	for (; k < n && node != TP_NO_PATH; k++) {
		struct tp_place place = place_of(flame, &walk->frame[n - 1 - k]);
		uint32_t at, inner = TP_NO_PATH;

		if (find_place(flame, &place, &at))
			inner = tp_paths_child(&flame->paths, node, at);
		if (inner == TP_NO_PATH && flame->paths.n >= flame->paths.most) {
			node = rest_of(flame, node);
			break;
		}
		node = walk->node[k] = inner;
	}
	/* The outer frames that have a node: all, or up to where the tree was full. */
	memmove(walk->frame, walk->frame + (n - k), k * sizeof(walk->frame[0]));
	walk->before = walk->frame;
	walk->cap_before = walk->cap_frames;
	walk->n_before = k;
	walk->proc = row->proc;
	walk->frame = before;
	walk->cap_frames = cap;
	return node;
}

static bool has_cost(const struct tp_flame *flame, const struct tp_hostmem_row *row,
		     const enum tp_heap_cost *cost)
{
	for (uint32_t i = 0; i < flame->n_costs; i++) {
		if (tp_heap_value(row, cost[i]))
			return true;
	}
	return false;
}

/* A node's number is greater than that of the one above it. */
static bool add_up(struct tp_flame *flame, const struct tp_heap_rows *rows,
		   const enum tp_heap_cost *cost, const uint32_t *node_of)
{
	uint32_t n_costs = flame->n_costs;

	flame->n_nodes = flame->paths.n;
	flame->total = calloc((size_t)flame->n_nodes * n_costs + 1, sizeof(flame->total[0]));
	if (!flame->total)
		return false;
	for (uint32_t i = 0; i < rows->n_rows; i++) {
		for (uint32_t k = 0; k < n_costs && node_of[i]; k++)
			flame->total[(size_t)node_of[i] * n_costs + k] +=
				tp_heap_value(&rows->row[i], cost[k]);
	}
	for (uint32_t i = flame->n_nodes; i-- > 1;) {
		size_t above = flame->paths.path[i].parent;

		for (uint32_t k = 0; k < n_costs; k++)
			flame->total[above * n_costs + k] += flame->total[(size_t)i * n_costs + k];
	}
	return true;
}

static bool add_rows(struct tp_flame *flame, const struct tp_heap_rows *rows,
		     const enum tp_heap_cost *cost)
{
	uint32_t *node_of = calloc((size_t)rows->n_rows + 1, sizeof(*node_of));
	struct walk walk = {0};
	bool is_good = node_of != NULL;

	for (uint32_t i = 0; i < rows->n_rows && is_good; i++) {
		if (!has_cost(flame, &rows->row[i], cost))
			continue;
		node_of[i] = find_node(flame, rows, &rows->row[i], &walk);
		is_good = node_of[i] != TP_NO_PATH;
	}
	free(walk.frame);
	free(walk.before);
	free(walk.node);
	is_good = is_good && add_up(flame, rows, cost, node_of);
	free(node_of);
	return is_good;
}

/* A place for each process, unless all rows are of one. */
static bool add_processes(struct tp_flame *flame, const struct tp_heap_rows *rows)
{
	uint32_t n = rows->run->n_procs;
	bool has_several = false;

	for (uint32_t i = 1; i < rows->n_rows; i++)
		has_several |= rows->row[i].proc != rows->row[0].proc;
	if (!has_several)
		return true;
	flame->process = calloc(n, sizeof(flame->process[0]));
	flame->process_title = calloc(n, sizeof(flame->process_title[0]));
	if (!flame->process || !flame->process_title)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		struct tp_place place = {.kind = TP_PLACE_PROCESS, .file = "", .module = ""};

		place.function = tp_title_process(flame->process_title[i], rows->run->proc[i]);
		place.function_id = i;
		if (!find_place(flame, &place, &flame->process[i]))
			return false;
	}
	return true;
}

struct tp_flame *tp_flame_new(const struct tp_heap_rows *rows, enum tp_flame_by by,
			      const enum tp_heap_cost *cost, uint32_t n_costs, uint32_t nodes_max)
{
	static const struct tp_place fixed[N_FIXED_PLACES] = {
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
	flame->n_costs = n_costs;
	flame->nodes_max = nodes_max;
	flame->paths.most = nodes_max * TREE_FACTOR;
	for (uint32_t i = 0; i < N_FIXED_PLACES && is_good; i++)
		is_good = add_place(flame, &fixed[i], &at);
	if (is_good && add_processes(flame, rows) && add_rows(flame, rows, cost))
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

const struct tp_place *tp_flame_place(const struct tp_flame *flame, uint32_t at)
{
	return &flame->place[at];
}

uint64_t tp_flame_total(const struct tp_flame *flame, uint32_t cost_at)
{
	return flame->n_nodes ? flame->total[cost_at] : 0;
}

/* The last two parts of a path: "torch/__init__.py" tells more than "__init__.py". */
static const char *short_path(const char *path, uint32_t n_parts)
{
	const char *p = path + strlen(path);

	while (p > path && !(p[-1] == '/' && !--n_parts))
		p--;
	return p;
}

const char *tp_flame_title(const struct tp_flame *flame, uint32_t at,
			   char buf[TP_FLAME_TITLE_MAX], uint32_t *n)
{
	const struct tp_place *place = &flame->place[at];
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
		n_written = snprintf(buf, TP_FLAME_TITLE_MAX, "[%s]", short_path(place->module, 1));
	else if (!*text)
		n_written = snprintf(buf, TP_FLAME_TITLE_MAX, "%s+0x%llx", short_path(place->module, 1),
				     (unsigned long long)place->offset);
	else if (place->is_python && *place->file && flame->by == TP_FLAME_BY_FUNCTION)
		n_written = snprintf(buf, TP_FLAME_TITLE_MAX, "%s (%s)", text,
				     short_path(place->file, 2));
	if (n_written >= 0) {
		*n = n_written < TP_FLAME_TITLE_MAX ? (uint32_t)n_written : TP_FLAME_TITLE_MAX - 1;
		return buf;
	}
	*n = (uint32_t)strlen(text);
	return text;
}

/* ---- from node to node ---- */

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

/* Below each other, the greatest first. */
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keep_walk.c - what the program's own code can reach by name
 *
 * In order of distance from a variable: of a large model or trainer only what lies near is looked at, and
 * nothing else suffers from it. Objects and keys are held until the walk ends; names are put together only
 * for those who ask.
 */
#include "runtime/probe/keep/keep_in.h"

#include <string.h>

#include "runtime/base/hash.h"
#include "runtime/base/text.h"
#include "runtime/base/thread.h"
#include "runtime/probe/python/pyapi.h"

enum {
	DEPTH = 6,		/* from a variable on; */
	DEPTH_OTHERS = 4,	/* from what a library runs on, */
	OTHERS_US = 1000,	/* for so long at most */
	SMALL = 32,		/* items: of a larger container only the size is looked at */
	VISITED_BITS = 12,
	NODES = 3 << (VISITED_BITS - 2),
	ASK_CLOCK = 64,		/* objects */
};

static struct {
	struct tp_keep_node node[NODES];
	uint32_t n;
	uint64_t visited[1 << VISITED_BITS];
} walk;

/* True: for the first time in this walk. */
static bool visit(const void *object)
{
	const uint32_t mask = (1u << VISITED_BITS) - 1;
	const uint64_t key = (uintptr_t)object;
	uint32_t place = (uint32_t)tp_hash_mix(key) & mask;

	while (walk.visited[place] && walk.visited[place] != key)
		place = (place + 1) & mask;
	if (walk.visited[place])
		return false;
	walk.visited[place] = key;
	return true;
}

/* What may hold something, once, as long as there is room. */
struct tp_keep_node *tp_keep_add(void *object, enum tp_keep_way way, void *key,
				 const struct tp_keep_node *parent)
{
	struct tp_keep_node *node = &walk.node[walk.n];

	if (walk.n == NODES || tp_keep_kind_of(object) == TP_KEEP_LEAF || !visit(object))
		return NULL;
	*node = (struct tp_keep_node){
		.object = object, .key = key, .way = (uint8_t)way,
		.parent = parent ? (uint32_t)(parent - walk.node) : 0,
		.depth = (uint8_t)(parent ? parent->depth + 1 : 0),
		.is_others = parent && parent->is_others,
	};
	tp_py.take(object);
	if (key)
		tp_py.take(key);
	walk.n++;
	return node;
}

/* ---- what an object holds ---- */

static void add_values(const struct tp_keep_node *parent, void *dict, enum tp_keep_way way)
{
	void *key, *value;
	ptrdiff_t at = 0;

	while (tp_py.dict_next(dict, &at, &key, &value)) {
		const char *name = way == TP_WAY_ATTRIBUTE ? tp_pyapi_text(key) : NULL;

		if (!name || !tp_keep_is_dunder(name))
			tp_keep_add(value, way, key, parent);
	}
}

static void add_items(const struct tp_keep_node *parent, enum tp_keep_kind kind, ptrdiff_t n)
{
	for (ptrdiff_t i = 0; i < n; i++) {
		void *item = tp_keep_item(parent->object, kind, i);
		struct tp_keep_node *node = item ? tp_keep_add(item, TP_WAY_ITEM, NULL, parent) : NULL;

		if (node)
			node->index = (uint32_t)i;
	}
}

/* What a function has as an attribute of its own: part of it. */
static void add_part(const struct tp_keep_node *parent, const char *attribute)
{
	void *value = tp_pyapi_get(parent->object, attribute);

	if (value) {
		tp_keep_add(value, TP_WAY_SAME, NULL, parent);
		tp_py.drop(value);
	}
}

/* Variables of outer functions that it uses, and its arguments' defaults. */
static void add_function(const struct tp_keep_node *parent)
{
	void *code = tp_pyapi_get(parent->object, "__code__"), *cells = tp_pyapi_get(parent->object, "__closure__");
	void *names = code ? tp_pyapi_get(code, "co_freevars") : NULL;
	const ptrdiff_t n = cells && names && cells != tp_py.none ? tp_py.size(cells) : 0;

	for (ptrdiff_t i = 0; i < n; i++) {
		void *cell = tp_keep_item(cells, TP_KEEP_TUPLE, i);
		void *name = tp_keep_item(names, TP_KEEP_TUPLE, i);
		void *inside = cell ? tp_pyapi_get(cell, "cell_contents") : NULL;

		if (inside) {
			tp_keep_add(inside, TP_WAY_CLOSURE, name, parent);
			tp_py.drop(inside);
		}
	}
	add_part(parent, "__defaults__");
	add_part(parent, "__kwdefaults__");
	add_part(parent, "__dict__");
	tp_pyapi_drop(code);
	tp_pyapi_drop(cells);
	tp_pyapi_drop(names);
}

static void add_instance(const struct tp_keep_node *parent, void *dict)
{
	if (!dict)
		return;
	add_values(parent, dict, TP_WAY_ATTRIBUTE);
	tp_py.drop(dict);
}

static void open_node(const struct tp_keep_node *node, enum tp_keep_kind kind, ptrdiff_t size)
{
	if (kind == TP_KEEP_FUNCTION && !node->is_others)
		add_function(node);
	else if (kind == TP_KEEP_OTHER)
		add_instance(node, tp_keep_instance_dict(node->object));
	else if (kind == TP_KEEP_CLASS && !node->depth)
		add_instance(node, tp_keep_class_dict(node->object));
	else if (kind == TP_KEEP_DICT && size <= SMALL)
		add_values(node, node->object, TP_WAY_KEY);
	else if ((kind == TP_KEEP_LIST || kind == TP_KEEP_TUPLE) && size <= SMALL)
		add_items(node, kind, size);
}

/* ---- what is told ---- */

static void tell(tp_keep_take *take, const struct tp_keep_node *node, void *object, enum tp_keep_kind kind)
{
	const struct tp_keep_found found = {
		.object = object, .kind = kind, .node = (uint32_t)(node - walk.node),
		.size = tp_keep_size(object, kind == TP_KEEP_CACHE ? TP_KEEP_DICT : kind),
	};

	take(&found);
}

static void tell_cache(tp_keep_take *take, const struct tp_keep_node *node)
{
	void *referents = tp_keep_referents(node->object);
	const ptrdiff_t n = referents ? tp_keep_size(referents, TP_KEEP_LIST) : 0;
	void *largest = NULL;

	/* Its own attributes are a dict, too, with a few. */
	for (ptrdiff_t i = 0; i < n; i++) {
		void *item = tp_keep_item(referents, TP_KEEP_LIST, i);

		if (item && tp_keep_kind_of(item) == TP_KEEP_DICT &&
		    (!largest || tp_keep_size(item, TP_KEEP_DICT) > tp_keep_size(largest, TP_KEEP_DICT)))
			largest = item;
	}
	if (largest)
		tell(take, node, largest, TP_KEEP_CACHE);
	tp_pyapi_drop(referents);
}

static void tell_node(tp_keep_take *take, const struct tp_keep_node *node, enum tp_keep_kind kind)
{
	if (kind == TP_KEEP_CACHE)
		tell_cache(take, node);
	else if (kind == TP_KEEP_LIST || kind == TP_KEEP_DICT || kind == TP_KEEP_SET || kind == TP_KEEP_DEQUE)
		tell(take, node, node->object, kind);
}

static void put_key(struct tp_text *out, const struct tp_keep_node *node, const char *before,
		    const char *behind)
{
	const char *text = node->key ? tp_pyapi_text(node->key) : NULL;

	tp_text_str(out, before);
	tp_text_str(out, text ? text : "...");
	tp_text_str(out, behind);
}

static void put_name(struct tp_text *out, const struct tp_keep_node *node)
{
	const char *function;

	switch ((enum tp_keep_way)node->way) {
	case TP_WAY_LOCAL:
		function = tp_pyapi_text(node->function);
		tp_text_str(out, function ? function : "");
		put_key(out, node, "().", "");
		return;
	case TP_WAY_VARIABLE:
		put_key(out, node, "", "");
		return;
	default:
		put_name(out, &walk.node[node->parent]);
	}
	if (node->way == TP_WAY_ATTRIBUTE)
		put_key(out, node, ".", "");
	else if (node->way == TP_WAY_KEY)
		put_key(out, node, "['", "']");
	else if (node->way == TP_WAY_CLOSURE)
		put_key(out, node, "'s ", "");
	else if (node->way == TP_WAY_ITEM)
		tp_text_fmt(out, "[%u]", node->index);
}

void tp_keep_name(const struct tp_keep_found *found, struct tp_text *name)
{
	put_name(name, &walk.node[found->node]);
}

const char *tp_keep_file(const struct tp_keep_found *found)
{
	const struct tp_keep_node *node = &walk.node[found->node];

	while (node->depth)
		node = &walk.node[node->parent];
	return node->file;
}

/* ---- the walk ---- */

static void let_go(void)
{
	for (uint32_t i = 0; i < walk.n; i++) {
		const struct tp_keep_node *node = &walk.node[i];

		tp_py.drop(node->object);
		tp_pyapi_drop(node->key);
		tp_pyapi_drop(node->function);
	}
	walk.n = 0;
}

/* All that is there, and what that holds. False: it takes too long. */
static bool go_on(tp_keep_take *take, uint32_t *at, uint64_t end_ns)
{
	for (; *at < walk.n; ++*at) {
		struct tp_keep_node *node = &walk.node[*at];
		const enum tp_keep_kind kind = tp_keep_kind_of(node->object);

		if (node->is_others && kind == TP_KEEP_OTHER)
			tp_keep_claim(node);
		if (!node->is_others)
			tell_node(take, node, kind);
		if (node->depth < (node->is_others ? DEPTH_OTHERS : DEPTH))
			open_node(node, kind, tp_keep_size(node->object, kind));
		if (*at % ASK_CLOCK == 0 && tp_thread_cpu_ns() > end_ns)
			return false;
	}
	return true;
}

bool tp_keep_walk(tp_keep_take *take)
{
	const uint64_t end_ns = tp_thread_cpu_ns() + TP_KEEP_TIME_US * 1000ull;
	uint32_t at = 0;
	bool is_whole;

	memset(walk.visited, 0, sizeof(walk.visited));
	tp_keep_add_modules(false);
	tp_keep_add_locals();
	is_whole = go_on(take, &at, end_ns);
	/* There may be thousands of functions, and few of them hold anything. */
	if (is_whole) {
		tp_keep_add_modules(true);
		is_whole = go_on(take, &at, end_ns);
	}
	if (is_whole) {
		const uint64_t others_ns = tp_thread_cpu_ns() + OTHERS_US * 1000ull;

		tp_keep_add_libraries();
		go_on(take, &at, others_ns < end_ns ? others_ns : end_ns);
	}
	let_go();
	return is_whole;
}

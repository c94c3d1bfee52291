/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_stacks.c - part of the page: time and host memory by stack, as flame graphs, one for each cost
 */
#include <stdlib.h>
#include <string.h>

#include "merge/facts/code/call_tree.h"
#include "merge/facts/heap/heapstacks.h"
#include "merge/kit/grow.h"
#include "merge/page/page_part.h"

enum { NODES_MAX = 3000 };	/* of a cost */

struct stacks {
	const struct tp_heap_rows *heap;
	struct tp_call_tree *time;
	struct tp_html *html;
	const struct tp_flame *flame;
	/* The stack that came last, and its nodes' numbers: the next one shares its beginning. */
	struct at {
		uint32_t place, node;
	} *at;
	uint32_t n_at, cap_at;
	uint32_t n_nodes, n_costs;
	bool is_by_process;	/* the outermost places are processes */
	uint32_t *name;		/* by place: the number of its name in this cost, plus one */
	uint32_t cap_names, n_names;
};

static void begin_stacks(void *state, struct tp_facts *facts, const void *params)
{
	struct stacks *stacks = state;

	stacks->heap = tp_facts_want(facts, &tp_fact_heap_rows, NULL);
	stacks->time = tp_facts_want(facts, &tp_fact_call_tree, NULL);
}

static void free_stacks(void *state)
{
	struct stacks *stacks = state;

	free(stacks->at);
	free(stacks->name);
}

static const struct tp_fact fact_stacks = {
	.name = "flame graphs of stacks",
	.bytes = sizeof(struct stacks),
	.begin = begin_stacks,
	.free = free_stacks,
};

/* A name when it first comes; then its number among those. */
static void put_name(struct stacks *stacks, uint32_t place)
{
	char buf[TP_FLAME_TITLE_MAX];
	const char *title;
	uint32_t n;

	if (place < stacks->cap_names && stacks->name[place]) {
		tp_html_integer(stacks->html, NULL, stacks->name[place] - 1);
		return;
	}
	title = tp_flame_title(stacks->flame, place, buf, &n);
	tp_html_bytes(stacks->html, NULL, title, n);
	stacks->n_names++;
	if (tp_grow(&stacks->name, &stacks->cap_names, (uint64_t)place + 1, sizeof(*stacks->name)))
		stacks->name[place] = stacks->n_names;
}

/* parent, its own value, its name: a node of each new place. */
static void put_node(struct stacks *stacks, uint32_t depth, uint32_t place, uint64_t value)
{
	tp_html_integer(stacks->html, NULL, depth ? (int64_t)stacks->at[depth - 1].node : -1);
	tp_html_integer(stacks->html, NULL, (int64_t)value);
	put_name(stacks, place);
	stacks->at[depth].place = place;
	stacks->at[depth].node = stacks->n_nodes++;
}

static void put_stack(void *ctx, const uint32_t *place, uint32_t n, const uint64_t *value)
{
	struct stacks *stacks = ctx;
	uint32_t common = 0;

	if (!n || !tp_grow(&stacks->at, &stacks->cap_at, n, sizeof(*stacks->at)))
		return;
	stacks->is_by_process |= tp_flame_place(stacks->flame, place[0])->kind == TP_PLACE_PROCESS;
	/* A stack that is the beginning of another one comes before it. */
	while (common < stacks->n_at && common + 1 < n && stacks->at[common].place == place[common])
		common++;
	for (uint32_t i = common; i < n; i++)
		put_node(stacks, i, place[i], i + 1 == n ? *value : 0);
	stacks->n_at = n;
}

static void put_costs(struct stacks *stacks, const struct tp_flame_rows *rows)
{
	static const char *const units[] = {
		[TP_FLAME_BYTES] = "bytes", [TP_FLAME_NS] = "ns", [TP_FLAME_COUNT] = "count",
	};
	struct tp_flame *flame = tp_flame_new(rows, TP_FLAME_BY_FUNCTION, NODES_MAX);

	stacks->flame = flame;
	for (uint32_t i = 0; flame && i < rows->n_costs; i++) {
		const struct tp_flame_cost *cost = &rows->cost[i];

		if (cost->is_extra || !tp_flame_total(flame, i))
			continue;
		tp_html_open(stacks->html, NULL, '{');
		tp_html_text(stacks->html, "what", rows->what);
		tp_html_text(stacks->html, "title", cost->title);
		tp_html_text(stacks->html, "unit", units[cost->unit]);
		tp_html_open(stacks->html, "nodes", '[');
		stacks->n_nodes = stacks->n_at = stacks->n_names = 0;
		stacks->is_by_process = false;
		if (stacks->cap_names)
			memset(stacks->name, 0, stacks->cap_names * sizeof(*stacks->name));
		tp_flame_each(flame, i, 1, put_stack, stacks);
		tp_html_close(stacks->html, ']');
		if (stacks->is_by_process)
			tp_html_integer(stacks->html, "is_by_process", 1);
		tp_html_close(stacks->html, '}');
		stacks->n_costs++;
	}
	tp_flame_free(flame);
}

static bool write(void *state, const struct tp_run *run, struct tp_html *html)
{
	struct stacks *stacks = state;
	const struct tp_heap_rows *heap = stacks->heap;
	const struct tp_flame_rows *time = tp_call_stacks(stacks->time);
	struct tp_flame_rows heap_rows = tp_heap_flame(heap);

	stacks->html = html;
	tp_html_integer(html, "sample_bytes", (int64_t)heap->sample_bytes);
	tp_html_open(html, "costs", '[');
	/* Operators alone have a graph of their own. */
	if (time->n_rows && tp_call_tree_has_python(stacks->time))
		put_costs(stacks, time);
	if (heap->n_rows)
		put_costs(stacks, &heap_rows);
	tp_html_close(html, ']');
	return stacks->n_costs > 0;
}

const struct tp_page_part tp_page_stacks = {
	.id = "data-stacks",
	.fact = &fact_stacks,
	.write = write,
};

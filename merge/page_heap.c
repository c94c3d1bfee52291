/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_heap.c - part of the page: host memory by stack, as flame graphs, one for each cost
 */
#include <stdlib.h>
#include <string.h>

#include "merge/flame.h"
#include "merge/grow.h"
#include "merge/heapbook.h"
#include "merge/page_part.h"

enum { NODES_MAX = 3000 };	/* of a cost */

struct heap {
	struct tp_heapbook *book;
	struct tp_html *html;
	const struct tp_flame *flame;
	/* The stack that came last, and its nodes' numbers: the next one shares its beginning. */
	struct at {
		uint32_t place, node;
	} *at;
	uint32_t n_at, cap_at;
	uint32_t n_nodes;
	uint32_t *name;		/* by place: the number of its name in this cost, plus one */
	uint32_t cap_names, n_names;
};

static void *begin(const struct tp_run *run)
{
	struct heap *heap = calloc(1, sizeof(*heap));

	if (!heap)
		return NULL;
	heap->book = tp_heapbook_take(run);
	if (!heap->book) {
		free(heap);
		return NULL;
	}
	return heap;
}

static void event(void *state, const struct tp_event *ev)
{
	struct heap *heap = state;

	tp_heapbook_event(heap->book, heap, ev);
}

/* A name when it first comes; then its number among those. */
static void put_name(struct heap *heap, uint32_t place)
{
	char buf[TP_FLAME_TITLE_MAX];
	const char *title;
	uint32_t n;

	if (place < heap->cap_names && heap->name[place]) {
		tp_html_integer(heap->html, NULL, heap->name[place] - 1);
		return;
	}
	title = tp_flame_title(heap->flame, place, buf, &n);
	tp_html_bytes(heap->html, NULL, title, n);
	heap->n_names++;
	if (tp_grow(&heap->name, &heap->cap_names, (uint64_t)place + 1, sizeof(*heap->name)))
		heap->name[place] = heap->n_names;
}

/* parent, its own value, its name: a node of each new place. */
static void put_node(struct heap *heap, uint32_t depth, uint32_t place, uint64_t value)
{
	tp_html_integer(heap->html, NULL, depth ? (int64_t)heap->at[depth - 1].node : -1);
	tp_html_integer(heap->html, NULL, (int64_t)value);
	put_name(heap, place);
	heap->at[depth].place = place;
	heap->at[depth].node = heap->n_nodes++;
}

static void put_stack(void *ctx, const uint32_t *place, uint32_t n, const uint64_t *value)
{
	struct heap *heap = ctx;
	uint32_t common = 0;

	if (!n || !tp_grow(&heap->at, &heap->cap_at, n, sizeof(*heap->at)))
		return;
	/* A stack that is the beginning of another one comes before it. */
	while (common < heap->n_at && common + 1 < n && heap->at[common].place == place[common])
		common++;
	for (uint32_t i = common; i < n; i++)
		put_node(heap, i, place[i], i + 1 == n ? *value : 0);
	heap->n_at = n;
}

static void put_costs(struct heap *heap, const struct tp_heap_rows *rows)
{
	static const enum tp_heap_cost costs[] = {TP_HEAP_PEAK, TP_HEAP_ALLOCS, TP_HEAP_LEAKED,
						  TP_HEAP_TEMPORARY};
	struct tp_flame *flame = tp_flame_new(rows, TP_FLAME_BY_FUNCTION, costs, TP_HEAP_COSTS,
					      NODES_MAX);

	heap->flame = flame;
	for (uint32_t i = 0; flame && i < TP_HEAP_COSTS; i++) {
		const struct tp_heap_figure *figure = tp_heap_figure(costs[i]);

		if (!tp_flame_total(flame, i))
			continue;
		tp_html_open(heap->html, NULL, '{');
		tp_html_text(heap->html, "title", figure->title);
		tp_html_text(heap->html, "unit", figure->is_bytes ? "b" : "c");
		tp_html_open(heap->html, "nodes", '[');
		heap->n_nodes = heap->n_at = heap->n_names = 0;
		if (heap->cap_names)
			memset(heap->name, 0, heap->cap_names * sizeof(*heap->name));
		tp_flame_each(flame, i, 1, put_stack, heap);
		tp_html_close(heap->html, ']');
		tp_html_close(heap->html, '}');
	}
	tp_flame_free(flame);
}

static void write(void *state, const struct tp_run *run, struct tp_html *html)
{
	struct heap *heap = state;
	const struct tp_heap_rows *rows = tp_heapbook_rows(heap->book);

	heap->html = html;
	tp_html_integer(html, "sample_bytes", (int64_t)rows->sample_bytes);
	tp_html_open(html, "costs", '[');
	if (rows->n_rows)
		put_costs(heap, rows);
	tp_html_close(html, ']');
	tp_heapbook_leave(heap->book);
	free(heap->at);
	free(heap->name);
	free(heap);
}

const struct tp_page_part tp_page_heap = {
	.id = "data-heap",
	.begin = begin,
	.event = event,
	.write = write,
};

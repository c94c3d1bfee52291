/* SPDX-License-Identifier: Apache-2.0 */
/*
 * learned.c - layers that run in steps, with and without a backward pass: see learned.h
 */
#include "merge/facts/program/learned.h"

#include <stdlib.h>

#include "merge/facts/code/sites.h"
#include "merge/kit/need.h"
#include "merge/kit/order.h"
#include "merge/kit/sum.h"
#include "merge/model/model.h"

struct layer {
	uint32_t kind, tag, at;		/* of the step's */
	uint32_t sequence;		/* TP_NO_SEQ: it records no gradient */
	uint16_t torch_id;		/* of its thread */
	int64_t ns;
};

struct tp_learned {
	struct layer *layer;		/* of the step */
	uint64_t *node;			/* of the same: the forward thread, and the number */
	uint32_t n_layers, layers_cap, n_nodes, nodes_cap;
};

struct tp_learned *tp_learned_make(void)
{
	return tp_need(1, sizeof(struct tp_learned));
}

void tp_learned_free(struct tp_learned *learned)
{
	free(learned->layer);
	free(learned->node);
	free(learned);
}

static uint64_t key_of(uint16_t torch_id, uint32_t sequence)
{
	return (uint64_t)torch_id << 32 | sequence;
}

void tp_learned_layer(struct tp_learned *learned, const struct tp_event *event, uint32_t kind, uint32_t tag)
{
	tp_need_room(&learned->layer, &learned->layers_cap, (uint64_t)learned->n_layers + 1,
		     sizeof(*learned->layer));
	learned->layer[learned->n_layers] = (struct layer){
		.kind = kind, .tag = tag, .at = learned->n_layers, .sequence = event->link,
		.torch_id = event->thread->torch_id, .ns = tp_sub(event->end_ns, event->begin_ns)};
	learned->n_layers++;
}

void tp_learned_node(struct tp_learned *learned, const struct tp_event *event)
{
	if (event->link == TP_NO_SEQ)
		return;
	tp_need_room(&learned->node, &learned->nodes_cap, (uint64_t)learned->n_nodes + 1,
		     sizeof(*learned->node));
	learned->node[learned->n_nodes++] = key_of(TP_ARG_THREAD(event->arg), event->link);
}

/* Of threads, one after the other, the last layer first. */
static int compare_layers(const void *a, const void *b)
{
	const struct layer *x = a, *y = b;

	if (x->torch_id != y->torch_id)
		return x->torch_id < y->torch_id ? -1 : 1;
	return x->at > y->at ? -1 : x->at < y->at;
}

/* Some node goes back to the layer, or there are none. What comes from `next` on is of another layer. */
static bool is_learned(const struct tp_learned *learned, const struct layer *layer, uint32_t next)
{
	const uint64_t from = key_of(layer->torch_id, layer->sequence), to = key_of(layer->torch_id, next);
	uint32_t low = 0, high = learned->n_nodes;

	if (!learned->n_nodes)
		return true;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (learned->node[middle] < from)
			low = middle + 1;
		else
			high = middle;
	}
	return low < learned->n_nodes && learned->node[low] < to;
}

static void count_layer(const struct tp_learned *learned, const struct layer *layer, uint32_t next,
			struct tp_sites *sites, struct tp_learned_calls *calls)
{
	if (layer->sequence != TP_NO_SEQ) {
		if (learned->n_nodes && next == layer->sequence)
			return;
		if (is_learned(learned, layer, next)) {
			calls->n_with++;
			tp_sites_charge(sites, layer->tag, TP_SITE_GRAD_CALLS, 1);
			return;
		}
		calls->n_forgotten++;
	}
	calls->n_without++;
	tp_sites_charge(sites, layer->tag, TP_SITE_NO_GRAD_CALLS, 1);
	tp_sites_charge(sites, layer->tag, TP_SITE_NO_GRAD, layer->ns);
}

void tp_learned_step(struct tp_learned *learned, struct tp_sites *sites, struct tp_learned_calls *by_kind)
{
	uint32_t next = TP_NO_SEQ;

	if (learned->n_nodes)
		qsort(learned->node, learned->n_nodes, sizeof(*learned->node), tp_order_u64);
	if (learned->n_layers)
		qsort(learned->layer, learned->n_layers, sizeof(*learned->layer), compare_layers);
	for (uint32_t i = 0; i < learned->n_layers; i++) {
		const struct layer *layer = &learned->layer[i];

		if (i && layer->torch_id != layer[-1].torch_id)
			next = TP_NO_SEQ;
		count_layer(learned, layer, next, sites, &by_kind[layer->kind]);
		if (layer->sequence != TP_NO_SEQ)
			next = layer->sequence;
	}
	learned->n_layers = learned->n_nodes = 0;
}

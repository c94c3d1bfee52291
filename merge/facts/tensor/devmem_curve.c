/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devmem_curve.c - sums of device memory carried on from sample to sample
 */
#include "merge/facts/tensor/devmem_curve.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"
#include "merge/kit/sum.h"
#include "merge/model/device.h"
#include "runtime/trace/counter_names.h"

void tp_devmem_curve_fini(struct tp_devmem_curve *curve)
{
	free(curve->sum);
	memset(curve, 0, sizeof(*curve));
}

static struct tp_devmem_sum *find_sum(struct tp_devmem_curve *curve, uint32_t proc,
				      uint32_t device)
{
	for (uint32_t i = 0; i < curve->n_sums; i++) {
		if (curve->sum[i].proc == proc && curve->sum[i].device == device)
			return &curve->sum[i];
	}
	return NULL;
}

void tp_devmem_curve_counter(struct tp_devmem_curve *curve, const struct tp_event *event)
{
	static const char known[] = TP_COUNTER_DEVICE_KNOWN;
	struct tp_devmem_sum *sum;

	if (event->name != curve->name) {
		if (curve->name || event->name->kind != TP_STRING_COUNTER ||
		    strcmp(event->name->bytes, known))
			return;
		curve->name = event->name;
	}
	sum = find_sum(curve, event->proc->at, event->link);
	if (!sum) {
		if (!tp_grow(&curve->sum, &curve->cap_sums, (uint64_t)curve->n_sums + 1,
			     sizeof(*sum)))
			return;
		sum = &curve->sum[curve->n_sums++];
		sum->proc = event->proc->at;
		sum->device = event->link;
	}
	sum->bytes = (int64_t)event->arg;
}

/* Mapped and reserved are addresses only, pinned and registered lie on the host, another process's
 * memory counts there. */
static bool takes_memory(uint8_t kind)
{
	return kind == TP_DEVMEM_DEVICE || kind == TP_DEVMEM_POOL || kind == TP_DEVMEM_MANAGED ||
	       kind == TP_DEVMEM_PHYSICAL || kind == TP_DEVMEM_ARRAY || kind == TP_DEVMEM_GRAPH;
}

bool tp_devmem_curve_change(struct tp_devmem_curve *curve, const struct tp_event *event,
			    struct tp_event *counter)
{
	const char *owner;
	struct tp_devmem_what what = tp_device_memory(event, &owner);
	struct tp_devmem_sum *sum = find_sum(curve, event->proc->at, what.device);

	if (!sum || !event->len || !takes_memory(what.kind))
		return false;
	sum->bytes = event->kind == TP_REC_DEVALLOC ? tp_add(sum->bytes, (int64_t)event->len)
						    : tp_sub(sum->bytes, (int64_t)event->len);
	*counter = *event;
	counter->kind = TP_REC_COUNTER;
	counter->flags = 0;
	counter->name = curve->name;
	counter->link = what.device;
	counter->arg = (uint64_t)sum->bytes;
	return true;
}

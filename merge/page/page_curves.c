/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_curves.c - part of the page: memory and counters over time
 *
 * Tensor memory by device as its blocks come and go, host memory of the heap, memory of devices
 * below the framework, and the counters of the trace. Single cores are left out: a hundred
 * curves beside the host's own say nothing more. Memory: curves, each bounded.
 */
#include <stdlib.h>
#include <string.h>

#include "merge/facts/heap/heapcurve.h"
#include "merge/facts/tensor/devmem_curve.h"
#include "merge/facts/tensor/tensors.h"
#include "merge/kit/grow.h"
#include "merge/kit/keyed.h"
#include "merge/kit/need.h"
#include "merge/model/title.h"
#include "merge/page/page_curve.h"
#include "merge/page/page_part.h"
#include "runtime/trace/counter_names.h"

enum {
	SERIES_MAX = 1024,
	SLOTS_WRITTEN = 48000,	/* of all curves */
	SLOTS_LEAST = 60,	/* of one */
};

enum kind { TENSORS, RESERVED, COUNTER };
static const char *const kind_word[] = {"tensors", "reserved", "counter"};

struct series {
	enum kind kind;
	uint32_t proc, instance;
	const struct tp_string *name;	/* COUNTER */
	struct tp_page_curve curve;
};

struct curves {
	struct series *series;
	uint32_t n_series, cap_series;
	struct tp_keyed keyed;
	struct tp_tensors *tensors;
	struct tp_heapcurve heap;
	struct tp_devmem_curve device;
	uint64_t n_left_out;
};

static uint32_t name_of(const struct series *series)
{
	return series->name ? series->name->same : UINT32_MAX;
}

static struct series *find(struct curves *c, enum kind kind, const struct tp_event *event,
			   uint32_t instance, const struct tp_string *name)
{
	struct series wanted = {.kind = kind, .proc = event->proc->at, .instance = instance,
				.name = name};
	uint32_t hash = tp_keyed_hash(((uint64_t)name_of(&wanted) << 32 | instance) ^
				      ((uint64_t)kind << 61 | (uint64_t)wanted.proc << 40));
	uint32_t at, i;

	for (i = tp_keyed_first(&c->keyed, hash, &at); i != TP_NO_KEYED;
	     i = tp_keyed_next(&c->keyed, hash, &at)) {
		struct series *its = &c->series[i];

		if (its->kind == kind && its->proc == wanted.proc && its->instance == instance &&
		    name_of(its) == name_of(&wanted))
			return its;
	}
	if (c->n_series == SERIES_MAX ||
	    !tp_grow(&c->series, &c->cap_series, (uint64_t)c->n_series + 1, sizeof(wanted)) ||
	    !tp_keyed_add(&c->keyed, hash, c->n_series)) {
		c->n_left_out++;
		return NULL;
	}
	c->series[c->n_series] = wanted;
	return &c->series[c->n_series++];
}

static void add(struct curves *c, struct series *series, int64_t ns, double value)
{
	if (series && !tp_page_curve_add(&series->curve, ns, value))
		c->n_left_out++;
}

static void take_counter(void *ctx, const struct tp_event *event)
{
	struct curves *c = ctx;
	double value = (double)(int64_t)event->arg;

	if (event->name->bytes && !strcmp(event->name->bytes, TP_COUNTER_CORE))
		return;
	if (event->flags & TP_F_DOUBLE)
		memcpy(&value, &event->arg, sizeof(value));
	add(c, find(c, COUNTER, event, event->link, event->name), event->begin_ns, value);
}

static void take_tensors(struct curves *c, const struct tp_event *event)
{
	struct tp_tensor_change change;
	uint32_t device;

	/* Totals come right after the first block: no curve begins with that one alone. */
	if (!tp_tensors_note(c->tensors, event, &change) || !change.is_total_known)
		return;
	device = (uint32_t)change.device_index;
	add(c, find(c, TENSORS, event, device, NULL), event->begin_ns, (double)change.allocated);
	if (change.reserved > 0)
		add(c, find(c, RESERVED, event, device, NULL), event->begin_ns,
		    (double)change.reserved);
}

static void begin_curves(void *state, struct tp_facts *facts, const void *params)
{
	const struct tp_run *run = tp_facts_run(facts);
	struct curves *c = state;

	c->tensors = tp_tensors_new(run);
	if (!c->tensors)
		tp_need_failed();
	tp_heapcurve_init(&c->heap, run, tp_hostmem_want(facts, false), take_counter, c);
}

static void take_event(void *state, const struct tp_event *ev)
{
	struct curves *c = state;
	struct tp_event counter;

	switch (ev->kind) {
	case TP_REC_ALLOC:
	case TP_REC_FREE:
	case TP_REC_TOTALS:
	case TP_REC_STEP:
		take_tensors(c, ev);
		break;
	case TP_REC_COUNTER:
		tp_devmem_curve_counter(&c->device, ev);
		take_counter(c, ev);
		break;
	case TP_REC_DEVALLOC:
	case TP_REC_DEVFREE:
		if (tp_devmem_curve_change(&c->device, ev, &counter))
			take_counter(c, &counter);
		break;
	case TP_REC_HEAPALLOC:
	case TP_REC_HEAPFREE:
		tp_heapcurve_event(&c->heap, ev);
		break;
	default:
		break;
	}
}

static void free_curves(void *state)
{
	struct curves *c = state;

	for (uint32_t i = 0; i < c->n_series; i++)
		tp_page_curve_free(&c->series[i].curve);
	tp_heapcurve_fini(&c->heap);
	tp_devmem_curve_fini(&c->device);
	tp_tensors_free(c->tensors);
	tp_keyed_free(&c->keyed);
	free(c->series);
}

static const struct tp_fact fact_curves = {
	.name = "curves",
	.bytes = sizeof(struct curves),
	.kinds = TP_FACT_KIND(TP_REC_ALLOC) | TP_FACT_KIND(TP_REC_FREE) | TP_FACT_KIND(TP_REC_TOTALS) |
		 TP_FACT_KIND(TP_REC_STEP) | TP_FACT_KIND(TP_REC_COUNTER) |
		 TP_FACT_KIND(TP_REC_DEVALLOC) | TP_FACT_KIND(TP_REC_DEVFREE) |
		 TP_FACT_KIND(TP_REC_HEAPALLOC) | TP_FACT_KIND(TP_REC_HEAPFREE),
	.begin = begin_curves,
	.event = take_event,
	.free = free_curves,
};

static void put_curve(struct tp_html *html, const struct tp_page_curve *curve)
{
	bool is_flat = true;
	int64_t before = 0;

	tp_html_integer(html, "width_ns", curve->width_ns);
	/* Each as the distance from the one before. */
	tp_html_open(html, "at", '[');
	for (uint32_t i = 0; i < curve->n; i++) {
		tp_html_integer(html, NULL, curve->slot[i].at - before);
		before = curve->slot[i].at;
		is_flat &= curve->slot[i].least == curve->slot[i].most;
	}
	tp_html_close(html, ']');
	tp_html_open(html, "most", '[');
	for (uint32_t i = 0; i < curve->n; i++)
		tp_html_real(html, NULL, curve->slot[i].most);
	tp_html_close(html, ']');
	if (is_flat)
		return;
	tp_html_open(html, "least", '[');
	for (uint32_t i = 0; i < curve->n; i++)
		tp_html_real(html, NULL, curve->slot[i].least);
	tp_html_close(html, ']');
}

static void put_series(struct tp_html *html, struct series *series, uint32_t most)
{
	char title[TP_TITLE_MAX];

	tp_page_curve_shrink(&series->curve, most);
	tp_html_open(html, NULL, '{');
	tp_html_integer(html, "proc", series->proc);
	tp_html_text(html, "kind", kind_word[series->kind]);
	if (series->kind == COUNTER) {
		tp_html_text(html, "name",
			     tp_title_counter(title, series->name, series->instance));
		tp_html_text(html, "unit", tp_title_unit(series->name));
		tp_html_text(html, "group", tp_title_group(series->name));
		if (tp_title_is_of_device(series->name))
			tp_html_integer(html, "device", series->instance);
	} else if (series->instance != UINT32_MAX) {
		tp_html_integer(html, "device", series->instance);
	}
	put_curve(html, &series->curve);
	tp_html_close(html, '}');
}

static bool write(void *state, const struct tp_run *run, struct tp_html *html)
{
	struct curves *c = state;
	uint32_t most, n;

	tp_heapcurve_end(&c->heap, &n);
	most = c->n_series ? SLOTS_WRITTEN / c->n_series : 0;
	most = most < SLOTS_LEAST ? SLOTS_LEAST : most;
	tp_html_open(html, "curves", '[');
	for (uint32_t i = 0; i < c->n_series; i++)
		put_series(html, &c->series[i], most);
	tp_html_close(html, ']');
	if (c->n_left_out)
		tp_html_integer(html, "left_out", (int64_t)c->n_left_out);
	return c->n_series > 0;
}

const struct tp_page_part tp_page_curves = {
	.id = "data-curves",
	.fact = &fact_curves,
	.write = write,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_curve.c - a curve that keeps its extremes in bounded memory
 */
#include "merge/page/page_curve.h"

#include <stdlib.h>

#include "merge/kit/grow.h"

enum { FIRST_WIDTH_NS = 1000 };

static int64_t slot_of(int64_t ns, int64_t width_ns)
{
	return ns >= 0 ? ns / width_ns : -((-(ns + 1)) / width_ns) - 1;
}

static void double_width(struct tp_page_curve *curve)
{
	uint32_t n = 0;

	curve->width_ns *= 2;
	for (uint32_t i = 0; i < curve->n; i++) {
		struct tp_page_slot slot = curve->slot[i], *last = n ? &curve->slot[n - 1] : NULL;

		slot.at = slot_of(slot.at, 2);
		if (last && last->at == slot.at) {
			last->least = slot.least < last->least ? slot.least : last->least;
			last->most = slot.most > last->most ? slot.most : last->most;
		} else {
			curve->slot[n++] = slot;
		}
	}
	curve->n = n;
}

bool tp_page_curve_add(struct tp_page_curve *curve, int64_t ns, double value)
{
	struct tp_page_slot *last;
	int64_t at;

	if (!curve->width_ns)
		curve->width_ns = FIRST_WIDTH_NS;
	at = slot_of(ns, curve->width_ns);
	last = curve->n ? &curve->slot[curve->n - 1] : NULL;
	if (last && at <= last->at) {
		last->least = value < last->least ? value : last->least;
		last->most = value > last->most ? value : last->most;
		return true;
	}
	if (curve->n == TP_PAGE_CURVE_MAX) {
		tp_page_curve_shrink(curve, TP_PAGE_CURVE_MAX / 2);
		return tp_page_curve_add(curve, ns, value);
	}
	if (!tp_grow(&curve->slot, &curve->cap, (uint64_t)curve->n + 1, sizeof(*curve->slot)))
		return false;
	curve->slot[curve->n++] = (struct tp_page_slot){at, value, value};
	return true;
}

void tp_page_curve_shrink(struct tp_page_curve *curve, uint32_t n_slots)
{
	/* Slots far apart never fall together: a run of many years is no run. */
	while (curve->n > (n_slots ? n_slots : 1) && curve->width_ns < INT64_MAX / 4)
		double_width(curve);
	if (curve->n > n_slots)
		curve->n = n_slots;
}

void tp_page_curve_free(struct tp_page_curve *curve)
{
	free(curve->slot);
	*curve = (struct tp_page_curve){0};
}

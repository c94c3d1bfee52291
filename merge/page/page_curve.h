/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_curve.h - a curve that keeps its extremes in bounded memory, however long it gets
 *
 * Time is cut into slots of one width; a slot keeps the smallest and the largest value in it. When
 * there are too many, the width doubles and pairs become one. Slots without a value take nothing,
 * so a window is as sharp as if the time between windows did not exist.
 */
#ifndef TP_MERGE_PAGE_CURVE_H
#define TP_MERGE_PAGE_CURVE_H

#include <stdbool.h>
#include <stdint.h>

enum { TP_PAGE_CURVE_MAX = 2048 };	/* slots */

struct tp_page_curve {
	int64_t width_ns;	/* 0: empty */
	struct tp_page_slot {
		int64_t at;	/* its time: at * width_ns */
		double least, most;
	} *slot;
	uint32_t n, cap;
};

/* In time order, about: what comes late counts for the last slot. False: out of memory. */
bool tp_page_curve_add(struct tp_page_curve *curve, int64_t ns, double value);
/* Not more than that many slots from now on. */
void tp_page_curve_shrink(struct tp_page_curve *curve, uint32_t n_slots);
void tp_page_curve_free(struct tp_page_curve *curve);

#endif

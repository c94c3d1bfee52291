/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_diff_places.h - places of the program whose time changed: what view_diff_places.c collects
 * and view_diff_answer.c names one of
 */
#ifndef TP_MERGE_VIEW_DIFF_PLACES_H
#define TP_MERGE_VIEW_DIFF_PLACES_H

#include "merge/view/diff/view_diff.h"

enum tp_diff_kind {
	TP_SPOT_FUNCTION, TP_SPOT_WORKER, TP_SPOT_LINE, TP_SPOT_LINES, TP_SPOT_MODULE,
	TP_SPOT_OPERATOR, TP_SPOT_KERNEL, TP_SPOT_PART, TP_DIFF_KINDS
};

/* said: in the answer. */
extern const struct tp_diff_kind_words {
	const char *name, *source, *said;
} tp_diff_kinds[TP_DIFF_KINDS];

enum { TP_DIFF_NAME_MAX = 400 };

struct tp_diff_spot {
	enum tp_diff_kind kind;
	char name[TP_DIFF_NAME_MAX];
	double base, now;	/* per step */
	double more_wait;
	bool has_gaps;		/* of lines: with the time before their operators */
	uint64_t n_samples[2];
};

struct tp_diff_places {
	struct tp_diff_spot *row;
	uint32_t n, cap;
	uint32_t first[TP_DIFF_KINDS];	/* the one that changed most in the step's direction, plus one */
	double change_ns;	/* of the average step, or of the median one: the greater */
	double direction;	/* 1: steps are longer, -1 */
	bool is_full;		/* all that is known, not what people want to see */
};

static inline double tp_diff_spot_change(const struct tp_diff_spot *row)
{
	return row->now - row->base;
}

/* So much longer is the median step, in ns. */
int64_t tp_diff_median_more(const struct tp_diff_shown *shown);
/* It is a quarter of the step's change, or more. */
bool tp_diff_explains(const struct tp_diff_places *places, const struct tp_diff_spot *row);
/* A sentence: by how much the median step changed, and the place that explains it. */
void tp_diff_print_answer(const struct tp_diff_shown *shown, const struct tp_diff_places *places);

#endif

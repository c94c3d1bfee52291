/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_inside.h - which function of a library the samples of a function of the user's are in
 *
 * A training that a library's trainer runs is one line of the user's: which of the library's functions takes
 * the time says more. It is the public function of an installed package (torch's are none) with fewest of
 * the samples that has half of them or more; the innermost of those.
 *
 * Memory: functions of packages, for each of the user's that calls them.
 */
#ifndef TP_MERGE_SAMPLE_INSIDE_H
#define TP_MERGE_SAMPLE_INSIDE_H

#include "merge/facts/code/sample_owners.h"
#include "merge/kit/keyed.h"

struct tp_sample_inside {
	struct tp_inside_row {
		uint32_t owner;		/* row of the user's function */
		uint32_t stack;		/* that was counted last, plus one */
		uint32_t depth;		/* below it, in that stack */
		struct tp_frame frame;	/* its line: most samples */
		uint64_t n, line_n;
	} *row;
	uint32_t n_rows, cap_rows;
	struct tp_keyed by;
	struct tp_tally lines;
};

/* A stack of n_samples of that owner, of which frame[0] to frame[n - 1] are what it called. Gives up (need.h)
 * where memory is out. */
void tp_sample_inside_add(struct tp_sample_inside *inside, uint32_t owner, uint32_t stack,
			  const struct tp_frame *frame, uint32_t n, uint64_t n_samples);
/* Sets owner[].inside, where there is one. */
void tp_sample_inside_choose(const struct tp_sample_inside *inside, struct tp_sample_owner *owner);
void tp_sample_inside_free(struct tp_sample_inside *inside);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inside.h - which function of a library has most of what one of the user's has
 *
 * A training that a library's trainer runs is one line of the user's: which of the library's functions takes
 * the time says more. It is the public function of an installed package (torch's are none) with least of
 * the user's that has half of it or more; the innermost of those. Where that is what the user's calls itself
 * (Trainer.train), a private one in it that has three quarters or more says more (Trainer._save_checkpoint).
 *
 * Memory: functions of packages, for each of the user's that calls them.
 */
#ifndef TP_MERGE_INSIDE_H
#define TP_MERGE_INSIDE_H

#include "merge/facts/code/samples.h"
#include "merge/kit/keyed.h"

struct tp_inside {
	struct tp_inside_row {
		uint32_t owner;		/* the user's: a number of the caller's */
		uint32_t stack;		/* that was counted last, plus one */
		uint32_t depth;		/* below it, in that stack */
		struct tp_frame frame;	/* its line: most of it */
		bool is_private;
		uint64_t n, line_n;
	} *row;
	uint32_t n_rows, cap_rows;
	struct tp_keyed by;
	struct tp_tally lines;
};

/* The functions that count: public ones; in a data loader also the methods by which datasets and transforms
 * are asked for samples. */
enum tp_inside_names { TP_INSIDE_PUBLIC, TP_INSIDE_LOADER };

/* n_more (samples, calls, ns) of that owner, in a stack of which frame[0] to frame[n - 1] are what it called:
 * each stack once. Gives up (need.h) where memory is out. */
void tp_inside_add(struct tp_inside *inside, uint32_t owner, uint32_t stack, const struct tp_frame *frame,
		   uint32_t n, enum tp_inside_names names, uint64_t n_more);
/* Of an owner with n_all: `row`, if it has enough of that and tells more than `other` (NULL: none), else
 * `other`. */
const struct tp_inside_row *tp_inside_better(const struct tp_inside_row *row,
					     const struct tp_inside_row *other, uint64_t n_all);
/* Of a loader's with n_all; NULL: none. Where that has nearly all (a chain of transforms), the dearest of
 * what it calls says more: one that has a quarter or more. */
const struct tp_inside_row *tp_inside_of_loader(const struct tp_inside *inside, uint32_t owner,
						uint64_t n_all);
void tp_inside_free(struct tp_inside *inside);

#endif

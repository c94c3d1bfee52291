/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_picture.h - the run by samples outside windows: counts of the program's lines, of bounded size
 *
 * A sample counts for the innermost line of the user's own code, else for the innermost line at all. For one
 * that finds no room the rarest gives way, whose samples are then only counted as not listed. What is told
 * is all that was counted so far, each time there is half as much again: in a month some 35 times.
 * Pure; one thread.
 */
#ifndef TP_PROBE_PYSAMPLE_PICTURE_H
#define TP_PROBE_PYSAMPLE_PICTURE_H

#include "runtime/probe/sample/pysample_slow.h"

enum {
	TP_PICTURE_ROWS = 64,
	TP_PICTURE_TOLD = 12,	/* of them */
	TP_PICTURE_BYTES = 1500,	/* that are told at a time */
	TP_PICTURE_FIRST = 32,	/* samples, before anything is told but at the end */
	TP_PICTURE_STEPS = 1000,	/* from one time to the next, unless there is twice as much */
};

struct tp_picture_row {
	uint32_t string, line;	/* PYFRAME */
	bool is_other;		/* of another thread than the one that trains */
	uint64_t n;
};

struct tp_picture {
	struct tp_picture_row row[TP_PICTURE_ROWS];
	uint32_t n_rows;
	uint64_t n_training, n_other, n_unlisted;
	uint64_t n_collecting;	/* of the training thread: garbage */
	uint32_t n_told;
	uint64_t told_samples, told_steps;	/* when that was */
};

void tp_picture_take(struct tp_picture *picture, const struct tp_pysample_look *look, bool is_other,
		     bool is_collecting, tp_slow_name *name);
/* It is time to tell, in a run that has done so many steps; is_last: for the last time. */
bool tp_picture_is_due(const struct tp_picture *picture, uint64_t steps, bool is_last);
/* "outside.N=TRAINING OTHER COLLECTING UNLISTED ROWS\n" and ROWS of "outside.N.K=SAMPLES WHO FILE:LINE FUNCTION\n",
 * WHO is t or o; TP_PICTURE_BYTES at most. */
void tp_picture_tell(struct tp_picture *picture, uint64_t steps, tp_slow_name *name, struct tp_text *out);

#endif

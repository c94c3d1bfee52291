/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_slow.h - which step is slow while it runs, and which of the program's functions it stands in
 *
 * Slow is a step of 1.5 times the median of the last ones. Of its samples those functions of the user's
 * are told, outermost first, that are in four of five of them (of three or four in all but one), or, where
 * only the outermost one is, in more than half: what they call is their work, and what calls them is where
 * to look; of an installed package's below them the innermost one whose name says what such steps do beside
 * training (Trainer.evaluate, save_model), else the innermost public one; and that half of the samples or
 * more met a collection of garbage, which any line may have set off. Pure; one thread.
 */
#ifndef TP_PROBE_PYSAMPLE_SLOW_H
#define TP_PROBE_PYSAMPLE_SLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/text.h"
#include "runtime/probe/sample/pysample_frames.h"

enum {
	TP_SLOW_STEPS = 32,	/* whose median counts */
	TP_SLOW_LEAST = 8,	/* of them, before any step is slow */
	TP_SLOW_FUNCTIONS = 64,	/* of one step; more are not counted */
	TP_SLOW_TOLD = 3,	/* of them, at most */
	TP_SLOW_SAMPLES = 3,	/* fewer say nothing */
};

enum tp_slow_part {
	TP_SLOW_OTHER,		/* of Python, of torch */
	TP_SLOW_OWN,		/* of the user's */
	TP_SLOW_DOING,		/* of a package's, and its name says what it does */
	TP_SLOW_LIBRARY,	/* of a package's, public */
};

struct tp_slow_function {
	uint32_t string;	/* PYFRAME */
	enum tp_slow_part part;
	uint32_t n, last;	/* samples that it is in; the last of them */
	uint32_t depth;		/* in that one, from outside */
	uint32_t line, votes;	/* the line that most say, by majority */
};

struct tp_slow {
	uint64_t step[TP_SLOW_STEPS];	/* durations; a ring */
	uint64_t n_steps;
	uint32_t n_samples;		/* of the step that runs, and of slow ones before it that had few */
	uint32_t n_collecting;		/* of these: the interpreter collected garbage */
	struct tp_slow_function function[TP_SLOW_FUNCTIONS];
	uint32_t n_functions;
};

/* "function\0file" of a PYFRAME string; false: there is none. */
typedef bool tp_slow_name(uint32_t string, const char **bytes, uint32_t *n_bytes);

/* A function of the user's own, and no part of another one. */
bool tp_slow_is_own(uint32_t string, tp_slow_name *name);
/* "/home/me/train.py:12 save"; bytes that end a line are '?'. False: it has no name. */
bool tp_slow_put(struct tp_text *out, uint32_t string, uint32_t line, tp_slow_name *name);

/* A step has ended that was not recorded. */
void tp_slow_step(struct tp_slow *slow, uint64_t duration);
/* The longest that a step may take and is not slow, in the unit of durations; UINT64_MAX: not known yet. */
uint64_t tp_slow_limit(const struct tp_slow *slow);
/* A slow step begins, or is over. */
void tp_slow_reset(struct tp_slow *slow);
void tp_slow_take(struct tp_slow *slow, const struct tp_pysample_look *look, bool is_collecting,
		  tp_slow_name *name);
/* "/home/me/train.py:31 main > /home/me/train.py:12 save", the `most` innermost of the user's, then perhaps one
 * of a package's and " > garbage collection", into the empty `out`; false: its samples say nothing. */
bool tp_slow_tell(const struct tp_slow *slow, uint32_t most, tp_slow_name *name, struct tp_text *out);

#endif

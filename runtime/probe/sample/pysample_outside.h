/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_outside.h - outside windows: what slow steps do, and the whole run at a low rate, for the ledger
 *
 * Ten times a second it is asked how long the step takes that runs; in one that is slow already
 * (pysample_slow.h) samples of the training thread are taken until it ends, at the rate of
 * pysample_rate.h. Nothing is recorded: a line of the ledger says in which functions the step stood.
 *
 * Up to ten times a second, for a twentieth of a percent of a core, the line is counted on which the thread
 * that trains stands, and those of other threads that have run since (pysample_picture.h). Not in workers.
 *
 * Drain thread, but for open and forked.
 */
#ifndef TP_PROBE_PYSAMPLE_OUTSIDE_H
#define TP_PROBE_PYSAMPLE_OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/text.h"

/* Of slow steps; of the picture of the run. 0: see pysample_rate.h. */
void tp_pysample_outside_open(uint64_t slow_hz, uint64_t picture_hz);
/* See struct tp_probe. */
uint64_t tp_pysample_outside_look(uint64_t now);
void tp_pysample_outside_note(struct tp_text *facts, bool is_last);
void tp_pysample_outside_forked(void);

#endif

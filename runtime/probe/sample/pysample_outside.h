/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_outside.h - outside windows: what slow steps do, for the ledger
 *
 * Ten times a second it is asked how long the step takes that runs; in one that is slow already
 * (pysample_slow.h) samples of the thread that trains are taken until it ends, at the rate of
 * pysample_rate.h. Nothing is recorded: a line of the ledger says in which functions the step stood. Drain
 * thread, but for open and forked.
 */
#ifndef TP_PROBE_PYSAMPLE_OUTSIDE_H
#define TP_PROBE_PYSAMPLE_OUTSIDE_H

#include <stdint.h>

#include "runtime/base/text.h"

void tp_pysample_outside_open(uint64_t hz);
/* See struct tp_probe. */
uint64_t tp_pysample_outside_look(uint64_t now);
void tp_pysample_outside_note(struct tp_text *facts);
void tp_pysample_outside_forked(void);

#endif

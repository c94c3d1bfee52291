/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open_spans.h - the spans that had not ended when the window did
 *
 * Drain thread only. They are looked at once, then the last records are taken: a span whose
 * own record is among these is known, and not written a second time.
 */
#ifndef TP_ENGINE_OPEN_SPANS_H
#define TP_ENGINE_OPEN_SPANS_H

#include <stdint.h>

#include "runtime/base/arena.h"
#include "runtime/trace/ring_layout.h"

/* 0 or -ENOMEM. */
int tp_open_spans_init(struct tp_arena *arena);

/* What every thread is inside that began before `end`. */
void tp_open_spans_take(uint64_t end);

/* The record of a span came after all. */
void tp_open_spans_mark_known(uint16_t slot, const struct tp_rec *rec);

/* The spans whose record did not come, one after the other: `at` is 0 first. NULL: no more. */
const struct tp_open_span *tp_open_spans_next(uint32_t *at, uint16_t *slot);

#endif

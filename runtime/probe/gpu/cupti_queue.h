/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_queue.h - work that devices were given in a window and have not done, for a report of a hang
 *
 * CUPTI gives back records of unfinished work when it is flushed by force: without times. They are noted
 * here by stream, and counted as work without times as everywhere.
 *
 * Drain thread only.
 */
#ifndef TP_PROBE_CUPTI_QUEUE_H
#define TP_PROBE_CUPTI_QUEUE_H

#include <stdint.h>

#include "runtime/base/text.h"
#include "runtime/probe/gpu/cupti_layout.h"

/* From now on what comes without times is noted; what was is forgotten. */
void tp_cupti_queue_begin(void);
/* Of a kernel, a copy or a set. */
void tp_cupti_queue_note(uint8_t kind, const struct tp_cupti_record *from);
/* "stream 7 of GPU 0 has 101 pieces of work that are not done, the first of them spin_kernel"; nothing
 * where nothing was noted. */
void tp_cupti_queue_tell(struct tp_text *out);
void tp_cupti_queue_forked(void);

#endif

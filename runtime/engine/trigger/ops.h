/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops.h - what the session does for triggers
 */
#ifndef TP_ENGINE_TRIGGER_OPS_H
#define TP_ENGINE_TRIGGER_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/engine/config/schedule.h"
#include "runtime/trace/ring_layout.h"

/* All on the drain thread. */
struct tp_trigger_ops {
	uint64_t (*steps)(void);	/* that have ended */
	/* A step that has ended, in ticks. False: it is too long ago. */
	bool (*step)(uint64_t index, struct tp_ring_step *step);
	enum tp_sched_asked (*ask)(uint64_t from, uint64_t to);
	/* The window that was asked for last is over, or there was none. */
	bool (*is_asked_over)(void);
	/* From this step on no windows but those asked for later. */
	void (*stop)(uint64_t from);
	/* Something happened: the flight recorder's steps are written, where there is one. */
	bool (*fire)(const char *why);
};

#endif

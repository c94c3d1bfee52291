/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.h - when a step is slow, steps have become slower, or memory is nearly full
 *
 * A pure state machine: durations and bytes in, what they mean out; no clock, no file. A step
 * is slow when it takes `slow` times the running median of the last TP_WATCH_STEPS, and also stands out
 * from their usual spread (FENCE in watch.c), so that noise alone does not fire. Steps have drifted
 * when that median is `drift` times the lowest it has been; once, until it has come halfway down
 * again. Memory is high when it reaches its limit; once, until it is a tenth below.
 *
 * Prefix in code: tp_watch. 4 KiB; one thread.
 */
#ifndef TP_ENGINE_WATCH_H
#define TP_ENGINE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

enum {
	TP_WATCH_STEPS = 256,
	TP_WATCH_LEAST = 32,	/* steps before anything is said of one */
	TP_WATCH_RATIO = 1000,	/* `slow` and `drift` are in thousandths */
};

struct tp_watch_spec {
	uint32_t slow, drift;			/* thousandths; 0: not watched */
	uint64_t memory, device_memory;		/* bytes; 0: not watched */
};

enum tp_watch_what {
	TP_WATCH_NOTHING,
	TP_WATCH_SLOW,
	TP_WATCH_DRIFT,
	TP_WATCH_MEMORY,	/* of the process */
	TP_WATCH_DEVICE_MEMORY,
};

struct tp_watch {
	struct tp_watch_spec spec;
	uint64_t recent[TP_WATCH_STEPS];	/* a ring */
	uint64_t sorted[TP_WATCH_STEPS];	/* the same */
	uint32_t n, at;
	uint64_t lowest;			/* median; 0: not known */
	bool has_drifted, is_high, is_device_high;
};

void tp_watch_init(struct tp_watch *watch, const struct tp_watch_spec *spec);

/* A step ended, in any unit of time. `ratio`: to the median it was compared with, in thousandths. */
enum tp_watch_what tp_watch_step(struct tp_watch *watch, uint64_t duration, uint32_t *ratio);

/* Bytes that the process has in memory, and that its tensors have on devices. 0: not known. */
enum tp_watch_what tp_watch_memory(struct tp_watch *watch, uint64_t bytes, uint64_t device_bytes);

#endif

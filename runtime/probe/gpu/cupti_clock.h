/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_clock.h - CUPTI's time (CLOCK_REALTIME ns, or the processor's counter) -> ticks
 *
 * By readings of both clocks, taken at a window's edges and with each look at the buffers; in
 * between by a straight line. Lines are half a second long or more as soon as time allows, so that
 * what a reading is off by (tens of ns) does not bend durations. A step of REALTIME between two
 * readings is found by comparing with CLOCK_MONOTONIC, and counted: times between those two
 * readings are then off by at most the step. Drain thread only.
 */
#ifndef TP_PROBE_CUPTI_CLOCK_H
#define TP_PROBE_CUPTI_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum { TP_CUPTI_CLOCK_KEPT = 256 };	/* ends of lines, hence two minutes or more */

struct tp_cupti_reading {		/* one moment */
	uint64_t ticks, cupti_ns, mono_ns;
	uint64_t bracket_ns;		/* the reading took so long */
	bool is_counter;		/* cupti_ns is the processor's counter, no ns */
};

void tp_cupti_clock_reset(void);
/* One more reading; cheap (about 1 us). */
void tp_cupti_clock_read(void);
/* What tp_cupti_clock_read does with what it read. */
void tp_cupti_clock_add(const struct tp_cupti_reading *reading);
/* 0 stays 0. Before the first reading, and beyond the last one, by the nearest line. */
uint64_t tp_cupti_clock_ticks(uint64_t cupti_ns);
uint64_t tp_cupti_clock_steps(void);	/* steps of REALTIME seen */

#endif

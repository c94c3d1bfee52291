/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_counter.h - a counter of the host, recorded when it changes and once a window
 *
 * Drain thread only.
 */
#ifndef TP_PROBE_HOST_COUNTER_H
#define TP_PROBE_HOST_COUNTER_H

#include <stdint.h>

/* A counter and what was recorded of it last. */
struct tp_host_counter {
	uint32_t name;		/* interned; 0: not yet */
	uint32_t said_in;	/* which stretch of the schedule; see host_counter.c */
	int64_t last;
};

/* "DEVICE NAME"; the device may be "". 0: the table of names is full. */
uint32_t tp_host_counter_name(const char *device, const char *name, const char *unit,
			      const char *group);

/* The value of the next sample is recorded, whether or not it differs. */
static inline void tp_host_counter_want(struct tp_host_counter *counter)
{
	counter->said_in = 0;
}

/* `now`: ticks of this sample. Outside active steps nothing is recorded. */
void tp_host_counter_record(struct tp_host_counter *counter, uint64_t now, uint32_t link,
			    int64_t value);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_flows.h - bytes a second through each disk or each network interface
 *
 * Drain thread only. A device has counters from the first byte on that it moves in the session.
 */
#ifndef TP_PROBE_HOST_FLOWS_H
#define TP_PROBE_HOST_FLOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/probe/host/host_counter.h"

enum { TP_HOST_MOST_DEVICES = 32 };	/* of a kind; the first ones met */

/* A disk or an interface. */
struct tp_host_device {
	char name[32];
	bool is_left_out;	/* part of another one, or not a device */
	bool is_shown;		/* moved a byte since the session began */
	uint64_t in, out;
	struct tp_host_counter in_counter, out_counter;
};

struct tp_host_flows {
	struct tp_host_device device[TP_HOST_MOST_DEVICES];
	uint32_t n;
	uint64_t base_ns;	/* of in and out; 0: none */
};

/* `text`: /proc/diskstats or /proc/self/net/dev, read at `now` (ticks) and `mono_ns`. */
void tp_host_flows_sample(struct tp_host_flows *flows, const char *text, size_t n, bool are_disks,
			  uint64_t now, uint64_t mono_ns);

/* The names belong to another ring. */
void tp_host_flows_forget_names(struct tp_host_flows *flows);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_late.h - the time in which others waited for one rank and for nobody else
 *
 * Collectives overlap: with four buckets under way, one late rank holds up all four. What that
 * costs is the union of those times, not their sum. Time that the rank itself spends in a collective
 * of another group is not counted: whom it waits for there is late.
 *
 * Memory: 16 bytes a collective to which the rank came last.
 */
#ifndef TP_MERGE_COMM_LATE_H
#define TP_MERGE_COMM_LATE_H

#include <stdbool.h>
#include <stdint.h>

#include "merge/facts/time/step_times.h"

enum { TP_COMM_PARTS = 16 };	/* so many collectives that it had a part in are remembered */

struct tp_comm_period {
	int64_t begin_ns, end_ns;
};

/* Of one rank. Begins as zeros. */
struct tp_comm_late {
	struct tp_comm_period *period;
	uint32_t n, cap;
	struct {
		struct tp_comm_period time;
		uint32_t group;
	} part[TP_COMM_PARTS];
	uint32_t n_parts;		/* the oldest is overwritten */
	int64_t wait_ns, wait_end_ns;	/* the union of its waits, and where it ends */
};

/* The rank had a part in a collective of the group: it waited until `last_ns` for others to come. */
void tp_comm_late_wait(struct tp_comm_late *late, uint32_t group, int64_t begin_ns, int64_t last_ns,
		       int64_t end_ns);
/* Others waited for it alone. Returns how long, without what it waited itself; < 0: out of memory. */
int64_t tp_comm_late_add(struct tp_comm_late *late, uint32_t group, int64_t begin_ns, int64_t end_ns);
/* After the last: the union in each of the steps, which are in order, at most the step itself; returns
 * the sum, without steps that of all. */
int64_t tp_comm_late_sum(struct tp_comm_late *late, const struct tp_step_time *step, uint32_t n_steps,
			 int64_t *step_ns);
void tp_comm_late_free(struct tp_comm_late *late);

#endif

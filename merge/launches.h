/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launches.h - which call of which thread, inside of which operator, started a device's work
 *
 * By correlation id within a process, the newest call with that id before the work began (ids
 * wrap). One call may start many (a graph); work without a call is legal (a cut trace). Calls
 * of the runtime API enclose those of the driver that they make: the outermost traced one
 * has the id.
 *
 * Memory: the newest TP_LAUNCHES_KEPT calls of each process.
 */
#ifndef TP_MERGE_LAUNCHES_H
#define TP_MERGE_LAUNCHES_H

#include "merge/model.h"

enum { TP_LAUNCHES_KEPT = 1 << 17 };

struct tp_launch_call {
	int64_t begin_ns, end_ns;
	const struct tp_thread *thread;
	const struct tp_string *name;
	uint32_t correlation;
	uint32_t owner;		/* the caller's own: an operator's row, an External id */
	uint32_t n_work;	/* pieces of device work found so far */
};

struct tp_launches;

struct tp_launches *tp_launches_new(const struct tp_run *run);
void tp_launches_free(struct tp_launches *launches);
/* A CALL event. False: out of memory. */
bool tp_launches_call(struct tp_launches *launches, const struct tp_event *event, uint32_t owner);
/* The call behind an event with a queue; valid until the next call is given. NULL: none. */
struct tp_launch_call *tp_launches_find(struct tp_launches *launches, const struct tp_event *event);

#endif

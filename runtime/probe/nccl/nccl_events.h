/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_events.h - what NCCL tells of its events becomes records COLL and XFER
 *
 * A collective is told when it was enqueued; what came of it only its proxies tell, and only where
 * there are hosts to go between. So it is kept until nothing more was heard of it for a while, and
 * recorded by the drain thread, with the end of its last operation; without proxies it is recorded
 * at once, with TP_F_ENQUEUED. Operations of proxies are recorded by the threads that do them,
 * unless their window is over: then they are kept, and it is the drain's to say where they belong.
 *
 * start, stop and state: any thread, NCCL's; no lock, no allocation. The others: drain thread
 * (nccl_settle.c).
 */
#ifndef TP_PROBE_NCCL_EVENTS_H
#define TP_PROBE_NCCL_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/probe/nccl/nccl_abi.h"

/* What is asked for while a window is open; operations of proxies come with what they are of. */
enum {
	TP_NCCL_WANTED = TP_NCCL_COLL | TP_NCCL_P2P | TP_NCCL_PROXY_OP | TP_NCCL_PROXY_STEP |
			 TP_NCCL_CE_COLL,
	/* Parents that a version wants to be started, or it starts none of the above. */
	TP_NCCL_PARENTS = TP_NCCL_GROUP | TP_NCCL_GROUP_API | TP_NCCL_COLL_API | TP_NCCL_P2P_API,
};

/* A handle for what begins, 0: it is not recorded. */
uint64_t tp_nccl_start(uint32_t version, uint32_t comm, const void *description);
void tp_nccl_stop(uint64_t handle);
void tp_nccl_state(uint64_t handle, uint32_t state, const struct tp_nccl_state_args *args);
/* The communicator is about to go. */
void tp_nccl_events_end_of(uint32_t comm);

/* Whether events are taken. From any thread. */
void tp_nccl_events_arm(bool is_armed);
/* The window is over from `now` on, or a little earlier. */
void tp_nccl_events_over(uint64_t now);
bool tp_nccl_events_is_over(uint64_t end);	/* one that ended then, or later */

/* Records what nothing was heard of for `quiet` ticks. */
void tp_nccl_events_tick(uint64_t now, uint64_t quiet);
struct tp_nccl_settling {
	uint64_t now, end;	/* of the window */
	uint64_t quiet;
	bool is_last;		/* what is under way is recorded up to `end` and given up */
	bool has_next;		/* another window has begun, or its warm-up */
};
/* The same for a window that is over. False: some that belong to it are under way, or may be. */
bool tp_nccl_events_settle(const struct tp_nccl_settling *settling);

struct tp_nccl_counts {	/* of the process */
	uint64_t colls, xfers;	/* recorded */
	uint64_t no_entry;	/* not recorded: the pool was empty */
	uint64_t no_room;	/* nor: the ring was full */
	uint64_t outside;	/* nor: began after the window, or in none */
	uint64_t unfinished;	/* not ended long after their window: recorded up to its end */
	uint64_t late_ops;	/* operations whose collective was over already */
	uint64_t foreign;	/* operations for other processes (PXN) */
	uint64_t captured;	/* calls that were recorded into a CUDA graph, and not run */
	uint64_t unknown;	/* events of types that were not asked for */
};
void tp_nccl_events_counts(struct tp_nccl_counts *counts);

void tp_nccl_events_init(void);	/* also in the child of fork */

#endif
